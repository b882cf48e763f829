import DequeModule
import Limits
import NIOCore
import Platform

/// Passes client input to the later handlers in small slices, one for each read that they request.
///
/// The parser parses everything it gets, and parsed requests can take ten times their size. A client that sends
/// thousands of requests at once would fill the memory with waiting requests, so a slice contains at most one head.
/// Bodies of known length don't grow, so they are passed on as they arrive. If parsing takes long, on this connection
/// or on those before it, other connections get a turn.
package final class ReadPacer: ChannelDuplexHandler {
    package typealias InboundIn = ByteBuffer
    package typealias InboundOut = ByteBuffer
    package typealias OutboundIn = ByteBuffer

    /// Additional events for the later handlers.
    package enum Event {
        /// The client has finished sending, but input is still queued. SwiftNIO's own event follows the last slice.
        case inputEnds
    }

    /// The kind of input that the later handlers expect next.
    package enum Expected {
        case head
        /// A body with this many bytes left.
        case body(Int)
        /// A body of unknown length.
        case chunks
        /// Frames of another protocol, such as WebSocket.
        case frames
    }

    /// The size of a slice in bytes, except for bodies of known length. Most requests fit into one.
    package static let sliceSize = 4096
    /// The maximum number of empty lines in a slice of a chunked body. Each could end the head of a pipelined request
    /// after the body.
    package static let maxBlocks = 8
    /// The time after which other connections get a turn.
    static let maxTime = Duration.milliseconds(1)

    private let input: HeldInput
    private let network: () -> Sender
    private let later: (@escaping () -> Void) -> Void
    private let isLate: () -> Bool
    private let expected: () -> Expected
    /// Received bytes that no handler has requested yet.
    private var waiting = Deque<ByteBuffer>()
    /// Whether the client has finished sending while bytes are still queued.
    private var hidesEnd = false
    /// Whether the connection is closing, so that further input is dropped.
    private var isRefused = false
    /// Whether later handlers have requested more since the last delivery.
    private var isAsked = false
    private var isDelivering = false
    /// Whether delivery is paused to let other connections run.
    private var isPaused = false

    /// - Parameters:
    ///   - input: Counts received bytes. The handlers that consume them subtract them.
    ///   - network: Returns the sender of the input.
    ///   - later: Runs work after other connections have had a turn.
    ///   - isLate: Returns whether received bytes must wait for a later turn, because other connections took too long.
    ///   - expected: Returns the kind of input that follows the bytes passed on so far.
    package init(
        _ input: HeldInput, of network: @escaping () -> Sender = { .server },
        later: @escaping (@escaping () -> Void) -> Void = { $0() }, isLate: @escaping () -> Bool = { false },
        expected: @escaping () -> Expected = { .head }
    ) {
        self.input = input
        self.network = network
        self.later = later
        self.isLate = isLate
        self.expected = expected
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
        let mustWait = isAsked && !isPaused && isLate()
        let slice = isAsked && waiting.isEmpty && !mustWait ? nextSlice(of: buffer) : nil
        if let slice, slice.length == buffer.readableBytes {
            isAsked = false
            input.pass(slice.length, lines: slice.lines)
            context.fireChannelRead(data)
        } else {
            waiting.append(buffer.compacted)
            if mustWait { pause(context) } else { deliver(context) }
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

    private func deliver(_ context: ChannelHandlerContext) {
        guard isAsked, !isDelivering, !isPaused else { return }
        isDelivering = true
        let begin = ContinuousClock.now
        var isLong = false
        while !isLong, isAsked, let slice = dequeueSlice() {
            isAsked = false
            context.fireChannelRead(wrapInboundOut(slice))
            context.fireChannelReadComplete()
            // The read starts at the last handler, so that each handler decides whether it can take more.
            context.channel.read()
            isLong = !waiting.isEmpty && ContinuousClock.now - begin >= Self.maxTime
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

    private func dequeueSlice() -> ByteBuffer? {
        guard var buffer = waiting.popFirst() else { return nil }
        let (length, lines) = nextSlice(of: buffer)
        input.pass(length, lines: lines)
        let slice = buffer.readSlice(length: length)
        if buffer.readableBytes > 0 { waiting.prepend(buffer.compacted) }
        return slice
    }

    private func nextSlice(of buffer: ByteBuffer) -> (length: Int, lines: Int) {
        let few = min(buffer.readableBytes, Self.sliceSize)
        return switch expected() {
        case .head: buffer.withUnsafeReadableBytes { Self.blocks(1, in: $0, upTo: few) }
        case .body(let length): (min(buffer.readableBytes, length), 0)
        case .chunks: buffer.withUnsafeReadableBytes { Self.blocks(Self.maxBlocks, in: $0, upTo: few) }
        case .frames: (few, 0)
        }
    }

    /// Returns the length of the input up to the `maxCount`th empty line or `end`, and its number of lines. An empty
    /// line ends a request head, so this limits the heads in a slice.
    private static func blocks(
        _ maxCount: Int, in bytes: UnsafeRawBufferPointer, upTo end: Int
    ) -> (length: Int, lines: Int) {
        guard let base = bytes.baseAddress else { return (end, 0) }
        var (blocks, lines, position) = (0, 0, 0)
        while let line = memchr(base + position, 0x0A, end - position) {
            position = UnsafeRawPointer(line) - base + 1
            lines += 1
            guard end - position >= 2, bytes[position] == 0x0D, bytes[position + 1] == 0x0A else { continue }
            position += 2
            blocks += 1
            if blocks == maxCount { return (position, lines) }
        }
        return (end, lines)
    }

    private func forget() {
        waiting.removeAll()
        input.removeAll()
    }
}

extension ByteBuffer {
    /// The bytes, copied to memory of their size if they would keep a larger buffer alive.
    fileprivate var compacted: ByteBuffer {
        let isSmall = storageCapacity > ReadPacer.sliceSize && readableBytes <= storageCapacity / 2
        return isSmall ? ByteBuffer(readableBytesView) : self
    }
}
