import DequeModule
import NIOCore

/// Hands what a client sends to the handlers behind it in small slices, one each time that they ask for more.
///
/// A parser makes all it can of the bytes that it gets. The shortest requests take ten times their bytes once they are
/// parsed: a client that sends thousands of them at once would fill the memory with requests whose turn has not come.
/// Bodies stay what they are, and are passed on as they come.
final class ReadPacer: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer

    /// The events that the handlers behind get besides.
    enum Event {
        /// The client sends no more than what waits. The end itself is passed on behind the last of that.
        case inputEnds
    }

    /// The bytes of a slice that is not all of a body. Most requests fit into one.
    static let sliceSize = 4096
    /// The bytes that may wait uncounted. More come only with the end of what a client sends, when SwiftNIO reads all
    /// that the system holds.
    static let mostUncounted = 128 * 1024

    private let transferTimeout: TransferTimeout
    private let bodyToCome: () -> Int
    /// What the client sent and no handler has asked for yet.
    private var waiting = Deque<ByteBuffer>()
    private var waitingBytes = 0
    /// Whether the client sends no more, and what waits is to be passed on before the end.
    private var hidesEnd = false
    /// Whether the connection is being closed. What comes then no longer follows what was passed on.
    private var isRefused = false
    /// Whether the handlers behind have asked for more since they got something.
    private var isAsked = false
    private var isDelivering = false
    /// Counts the bytes that wait while there are more of them than usual.
    private var ticket: TransferTimeout.Ticket?

    /// - Parameters:
    ///   - transferTimeout: Counts what waits beyond the usual.
    ///   - bodyToCome: Gives how many bytes of a body follow what was passed on; 0 where that is not known.
    init(_ transferTimeout: TransferTimeout, bodyToCome: @escaping () -> Int = { 0 }) {
        self.transferTimeout = transferTimeout
        self.bodyToCome = bodyToCome
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        forget()
    }

    func read(context: ChannelHandlerContext) {
        isAsked = true
        if !isDelivering { deliver(context) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isRefused else { return }
        let buffer = unwrapInboundIn(data)
        if isAsked, waiting.isEmpty, buffer.readableBytes <= Self.sliceSize {
            isAsked = false
            return context.fireChannelRead(data)
        }
        waiting.append(buffer)
        waitingBytes += buffer.readableBytes
        guard count(buffer.readableBytes, context.channel) else {
            isRefused = true
            forget()
            return context.channel.abort()
        }
        if isAsked, !isDelivering { deliver(context) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .inputClosed? = event as? ChannelEvent, !waiting.isEmpty {
            hidesEnd = true
            context.fireUserInboundEventTriggered(Event.inputEnds)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    /// Passes on slices for as long as they are asked for, and then asks for more, or passes on the end.
    private func deliver(_ context: ChannelHandlerContext) {
        isDelivering = true
        while isAsked, let slice = takeSlice() {
            isAsked = false
            context.fireChannelRead(wrapInboundOut(slice))
            context.fireChannelReadComplete()
            // Begins behind the last handler, so that each of them decides whether it can take more.
            context.channel.read()
        }
        isDelivering = false
        guard waiting.isEmpty else { return }
        if hidesEnd {
            hidesEnd = false
            context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        } else if isAsked {
            context.read()
        }
    }

    private func takeSlice() -> ByteBuffer? {
        guard var buffer = waiting.popFirst() else { return nil }
        let slice = buffer.readSlice(length: min(buffer.readableBytes, max(Self.sliceSize, bodyToCome())))
        if buffer.readableBytes > 0 { waiting.prepend(buffer) }
        let size = slice?.readableBytes ?? 0
        waitingBytes -= size
        if let ticket {
            transferTimeout.moved(ticket, bytes: size)
            if waitingBytes <= Self.mostUncounted { endCounting() }
        }
        return slice
    }

    /// Counts bytes that were added; returns whether there is memory for them.
    private func count(_ bytes: Int, _ channel: any Channel) -> Bool {
        guard waitingBytes > Self.mostUncounted else { return true }
        let ticket = self.ticket ?? transferTimeout.begin(.body, on: channel)
        self.ticket = ticket
        return transferTimeout.hold(ticket, bytes: bytes)
    }

    private func endCounting() {
        if let ticket = ticket.take() { transferTimeout.end(ticket) }
    }

    private func forget() {
        waiting.removeAll()
        waitingBytes = 0
        endCounting()
    }
}
