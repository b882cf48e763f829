import NIOCore

/// Writes what a process prints to the log, line by line, and keeps the last lines for the message that says why it
/// ended.
///
/// What code writes by `console` comes by the socket, with the id of its request. Here comes the rest: what is written to
/// the standard output itself, and the last words of Node.
final class OutputLines: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let write: @Sendable (String) -> Void
    private let end: @Sendable () -> Void
    private var line: [UInt8] = []
    private static let longest = 16 * 1024

    /// - Parameters:
    ///   - write: Takes a line.
    ///   - end: Is called when no more will come.
    init(write: @escaping @Sendable (String) -> Void, end: @escaping @Sendable () -> Void) {
        self.write = write
        self.end = end
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        for byte in unwrapInboundIn(data).readableBytesView {
            if byte == UInt8(ascii: "\n") {
                finishLine()
            } else if line.count < Self.longest {
                line.append(byte)
            }
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        finishLine()
        end()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func finishLine() {
        if !line.isEmpty { write(String(decoding: line, as: UTF8.self)) }
        line.removeAll(keepingCapacity: true)
    }
}
