import NIOCore

/// Splits a process's output into lines.
///
/// A running app's `console` messages arrive over the socket instead, with the id of their request. Only its direct
/// writes to standard output and error and Node's final messages arrive here.
final class OutputLines: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let write: @Sendable (String) -> Void
    private let end: @Sendable () -> Void
    private var line: [UInt8] = []
    private static let longest = 16 * 1024

    /// - Parameters:
    ///   - write: Receives each line.
    ///   - end: Called when the output has ended.
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
