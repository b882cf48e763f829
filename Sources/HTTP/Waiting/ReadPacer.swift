import DequeModule
import NIOCore
import Tasks

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Hands what a client sends to the handlers behind it in small slices, one each time that they ask for more.
///
/// A parser makes all it can of the bytes that it gets. The shortest requests take ten times their bytes once they are
/// parsed: a client that sends thousands of them at once would fill the memory with requests whose turn has not come.
/// Bodies don't grow, so they are passed on as they arrive. If parsing takes long, other connections get a turn.
package final class ReadPacer: ChannelDuplexHandler {
    package typealias InboundIn = ByteBuffer
    package typealias InboundOut = ByteBuffer
    package typealias OutboundIn = ByteBuffer

    /// The events that the handlers behind get besides.
    package enum Event {
        /// The client sends no more than what waits. The end itself is passed on behind the last of that.
        case inputEnds
    }

    /// The bytes of a slice that is not all of a body. Most requests fit into one.
    package static let sliceSize = 4096
    /// The maximum number of request heads in a slice.
    static let mostHeads = 8
    /// The time after which other connections get a turn.
    static let mostTime = Duration.milliseconds(1)

    private let input: HeldInput
    private let network: () -> Sender
    private let later: (@escaping () -> Void) -> Void
    private let bodyToCome: () -> Int
    /// What the client sent and no handler has asked for yet.
    private var waiting = Deque<ByteBuffer>()
    /// Whether the client sends no more, and what waits is to be passed on before the end.
    private var hidesEnd = false
    /// Whether the connection is being closed. What comes then no longer follows what was passed on.
    private var isRefused = false
    /// Whether the handlers behind have asked for more since they got something.
    private var isAsked = false
    private var isDelivering = false
    /// Whether it waits while other connections have their turn.
    private var isPaused = false

    /// - Parameters:
    ///   - input: Counts received bytes. The handlers that consume them subtract them.
    ///   - network: Returns the sender of the input.
    ///   - later: Runs work after other connections have had a turn.
    ///   - bodyToCome: Gives how many bytes of a body follow what was passed on; 0 where that is not known.
    package init(
        _ input: HeldInput, of network: @escaping () -> Sender = { .server },
        later: @escaping (@escaping () -> Void) -> Void = { $0() }, bodyToCome: @escaping () -> Int = { 0 }
    ) {
        self.input = input
        self.network = network
        self.later = later
        self.bodyToCome = bodyToCome
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        forget()
    }

    package func read(context: ChannelHandlerContext) {
        isAsked = true
        deliver(context)
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isRefused else { return }
        let buffer = unwrapInboundIn(data)
        input.add(buffer.readableBytes)
        if isAsked, waiting.isEmpty, sliceLength(of: buffer) == buffer.readableBytes {
            isAsked = false
            input.pass(buffer.readableBytes)
            context.fireChannelRead(data)
        } else {
            waiting.append(buffer)
            deliver(context)
        }
        guard !input.hold(on: context.channel, of: network()) else { return }
        isRefused = true
        forget()
        context.channel.abort()
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .inputClosed? = event as? ChannelEvent, !waiting.isEmpty {
            hidesEnd = true
            context.fireUserInboundEventTriggered(Event.inputEnds)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    /// Passes on slices while they are requested, and then reads more, or passes on the end.
    private func deliver(_ context: ChannelHandlerContext) {
        guard isAsked, !isDelivering, !isPaused else { return }
        isDelivering = true
        let begin = ContinuousClock.now
        var isLong = false
        while !isLong, isAsked, let slice = takeSlice() {
            isAsked = false
            input.pass(slice.readableBytes)
            context.fireChannelRead(wrapInboundOut(slice))
            context.fireChannelReadComplete()
            // Begins behind the last handler, so that each of them decides whether it can take more.
            context.channel.read()
            isLong = !waiting.isEmpty && ContinuousClock.now - begin >= Self.mostTime
        }
        isDelivering = false
        if isLong { return pause(context) }
        guard waiting.isEmpty else { return }
        if hidesEnd {
            hidesEnd = false
            context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        } else if isAsked {
            context.read()
        }
    }

    private func pause(_ context: ChannelHandlerContext) {
        isPaused = true
        later { [self] in
            isPaused = false
            deliver(context)
        }
    }

    private func takeSlice() -> ByteBuffer? {
        guard var buffer = waiting.popFirst() else { return nil }
        let slice = buffer.readSlice(length: sliceLength(of: buffer))
        if buffer.readableBytes > 0 { waiting.prepend(buffer) }
        return slice
    }

    /// The number of bytes to pass on at once: the rest of a body, and after it a slice with a few heads.
    private func sliceLength(of buffer: ByteBuffer) -> Int {
        let body = bodyToCome()
        let most = min(buffer.readableBytes, max(Self.sliceSize, body))
        guard body < most else { return most }
        return buffer.withUnsafeReadableBytes { Self.end(ofHeads: Self.mostHeads, in: $0, from: body, to: most) }
    }

    /// The position after a number of heads, or the end of the range. A head ends with an empty line.
    private static func end(ofHeads most: Int, in bytes: UnsafeRawBufferPointer, from start: Int, to end: Int) -> Int {
        guard let base = bytes.baseAddress else { return end }
        var (heads, place) = (0, start)
        while let line = memchr(base + place, 0x0A, end - place) {
            place = UnsafeRawPointer(line) - base + 1
            guard end - place >= 2, bytes[place] == 0x0D, bytes[place + 1] == 0x0A else { continue }
            place += 2
            heads += 1
            if heads == most { return place }
        }
        return end
    }

    private func forget() {
        waiting.removeAll()
        input.removeAll()
    }
}
