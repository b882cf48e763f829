import NIOCore
import NIOWebSocket

/// Reads frames (RFC 6455, 5), answers pings and assembles messages.
///
/// After a few frames, other connections of the event loop get a turn. A client that sends too many frames is
/// disconnected. An incomplete message counts as transfer memory and must be completed in time.
package final class MessageAssembler: ChannelDuplexHandler {
    package typealias InboundIn = ByteBuffer
    package typealias InboundOut = WebSocketFrame
    package typealias OutboundIn = WebSocketFrame
    package typealias OutboundOut = WebSocketFrame

    /// The maximum size of a message in bytes, and of one from an unauthenticated client.
    package static let (largestMessage, largestOfStranger) = (1024 * 1024, 64 * 1024)
    /// The number of frames read before other connections get a turn.
    static let maxFramesAtOnce = 16
    /// The maximum burst of frames, and the sustained rate per second.
    package static let (maxFrames, framesPerSecond) = (2048, 128)
    /// The size in bytes up to which an incomplete message doesn't count as transfer memory.
    private static let uncounted = 4096
    /// The number of consumed bytes above which a receive buffer is compacted.
    private static let maxReadBytes = 64 * 1024
    /// The pace in bytes per second from which the extra time for a large message is calculated.
    private static let slowestPace = 16 * 1024
    private static let maxPieces = 1024

    private struct Partial {
        let opcode: WebSocketOpcode
        var data = ByteBuffer()
        var pieces = 0
    }

    private let client: WebSocketClient
    private let input: HeldInput
    private let transferTimeout: TransferTimeout
    private let later: (@escaping () -> Void) -> Void
    private var received = ByteBuffer()
    private var partial: Partial?
    private var timeout: Scheduled<Void>?
    private var ticket: TransferTimeout.Ticket?
    /// The payload of the pending answer to the latest ping, or nil if none is due.
    private var pong: ByteBuffer?
    private var framesOfTurn = 0
    private var allowance = maxFrames
    private var allowedSince = NIODeadline.now()
    private var isAsked = false
    private var isDelivering = false
    private var isPaused = false
    private var hasEnded = false
    /// Whether the input has ended while frames are still queued.
    private var hidesInputEnd = false

    /// - Parameters:
    ///   - input: Counts received bytes until they are read here.
    ///   - transferTimeout: Counts the memory of incomplete messages, and limits their time.
    ///   - later: Runs work after other connections have had a turn.
    package init(
        _ client: WebSocketClient, _ input: HeldInput, _ transferTimeout: TransferTimeout,
        later: @escaping (@escaping () -> Void) -> Void = { $0() }
    ) {
        self.client = client
        self.input = input
        self.transferTimeout = transferTimeout
        self.later = later
    }

    package func handlerRemoved(context: ChannelHandlerContext) { forget() }

    package func read(context: ChannelHandlerContext) {
        isAsked = true
        deliver(context)
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        input.remove(input.drainPassed())
        guard !hasEnded else { return }
        // A buffer keeps the bytes already read from it, so the rest is copied.
        if received.readerIndex > Self.maxReadBytes { received = ByteBuffer(received.readableBytesView) }
        received.writeBuffer(&bytes)
        deliver(context)
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // Frames that arrived before the end of the input are passed on first.
        if case .inputClosed? = event as? ChannelEvent, !hasEnded, isPaused || !isAsked || isDelivering {
            hidesInputEnd = true
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        sendPong(context)
        context.fireChannelWritabilityChanged()
    }

    private func deliver(_ context: ChannelHandlerContext) {
        guard !isDelivering, !isPaused else { return }
        isDelivering = true
        while isAsked, framesOfTurn < Self.maxFramesAtOnce, !hasEnded {
            guard let frame = dequeueFrame(context) else {
                let before = received.readableBytes
                watch(context)
                if !hasEnded { context.read() }
                guard received.readableBytes > before else {
                    if hidesInputEnd {
                        hidesInputEnd = false
                        context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
                    }
                    break
                }
                continue
            }
            framesOfTurn += 1
            receive(frame, context)
        }
        isDelivering = false
        sendPong(context)
        if framesOfTurn == Self.maxFramesAtOnce { pause(context) }
    }

    private func pause(_ context: ChannelHandlerContext) {
        isPaused = true
        later { [self] in
            (isPaused, framesOfTurn) = (false, 0)
            deliver(context)
        }
    }

    private func dequeueFrame(_ context: ChannelHandlerContext) -> WebSocketFrame? {
        guard let header = FrameHeader(received) else { return nil }
        if let fault = fault(of: header) {
            end(context, fault)
            return nil
        }
        guard received.readableBytes >= header.size + header.length else { return nil }
        guard isAllowed() else {
            end(context, .policyViolation)
            return nil
        }
        received.moveReaderIndex(forwardBy: header.size)
        let data = received.readSlice(length: header.length) ?? ByteBuffer()
        if received.readableBytes == 0 { received = ByteBuffer() }
        return WebSocketFrame(fin: header.isLast, opcode: header.opcode, maskKey: header.maskKey, data: data)
    }

    private func fault(of header: FrameHeader) -> WebSocketErrorCode? {
        // The server negotiates no extension that uses the reserved bits (5.2).
        guard header.maskKey != nil, !header.hasReservedBits else { return .protocolError }
        switch header.opcode {
        case .text, .binary: guard partial == nil else { return .protocolError }
        case .continuation:
            guard let partial else { return .protocolError }
            guard partial.pieces < Self.maxPieces else { return .messageTooLarge }
        case .ping, .pong, .connectionClose:
            return header.isLast && header.length <= 125 ? nil : .protocolError
        default: return .protocolError
        }
        let maximum = client.isKnown ? Self.largestMessage : Self.largestOfStranger
        return header.length <= maximum - (partial?.data.readableBytes ?? 0) ? nil : .messageTooLarge
    }

    private func isAllowed() -> Bool {
        if allowance == 0 {
            let now = NIODeadline.now()
            let earned = (now - allowedSince).nanoseconds / (1_000_000_000 / Int64(Self.framesPerSecond))
            guard earned > 0 else { return false }
            allowance = min(Self.maxFrames, Int(earned))
            allowedSince = now
        }
        allowance -= 1
        return true
    }

    private func receive(_ frame: WebSocketFrame, _ context: ChannelHandlerContext) {
        client.hear()
        switch frame.opcode {
        case .ping: pong = frame.unmaskedData
        case .pong: break
        case .text, .binary, .continuation:
            if partial == nil, frame.fin { return pass(frame, context) }
            var message = partial ?? Partial(opcode: frame.opcode)
            // Releases the other reference, so that the buffer isn't copied.
            partial = nil
            message.pieces += 1
            var bytes = frame.unmaskedData
            message.data.writeBuffer(&bytes)
            guard frame.fin else {
                partial = message
                return
            }
            pass(WebSocketFrame(fin: true, opcode: message.opcode, data: message.data), context)
        default: pass(frame, context)
        }
    }

    private func pass(_ frame: WebSocketFrame, _ context: ChannelHandlerContext) {
        settle()
        isAsked = false
        context.fireChannelRead(wrapInboundOut(frame))
        context.fireChannelReadComplete()
        // The read starts at the last handler, which decides whether it can take more.
        context.channel.read()
    }

    private func sendPong(_ context: ChannelHandlerContext) {
        guard !hasEnded, context.channel.isWritable, let data = pong.take() else { return }
        context.writeAndFlush(wrapOutboundOut(WebSocketFrame(fin: true, opcode: .pong, data: data)), promise: nil)
    }

    /// Bounds the time and memory of an incomplete message.
    private func watch(_ context: ChannelHandlerContext) {
        guard !hasEnded else { return }
        let bytes = received.readableBytes + (partial?.data.readableBytes ?? 0)
        guard bytes > 0 || partial != nil else { return settle() }
        if timeout == nil {
            let place = NIOLoopBound((self, context), eventLoop: context.eventLoop)
            let length = min(FrameHeader(received)?.length ?? 0, Self.largestMessage)
            let limit = transferTimeout.stall + .seconds(length / Self.slowestPace)
            timeout = context.eventLoop.scheduleTask(in: TimeAmount(limit)) {
                let (assembler, context) = place.value
                assembler.end(context, .policyViolation)
            }
        }
        guard bytes > Self.uncounted else { return }
        let ticket = ticket ?? transferTimeout.begin(.message, on: context.channel, of: client.sender)
        self.ticket = ticket
        if !transferTimeout.hold(ticket, atLeast: bytes) { end(context, .tryAgainLater) }
    }

    private func settle() {
        timeout?.cancel()
        timeout = nil
        if let ticket = ticket.take() { transferTimeout.end(ticket) }
    }

    private func end(_ context: ChannelHandlerContext, _ code: WebSocketErrorCode) {
        guard !hasEnded else { return }
        hasEnded = true
        forget()
        var reason = ByteBuffer()
        reason.write(webSocketErrorCode: code)
        let frame = WebSocketFrame(fin: true, opcode: .connectionClose, data: reason)
        context.writeAndFlush(wrapOutboundOut(frame), promise: nil)
        context.close(promise: nil)
    }

    private func forget() {
        settle()
        partial = nil
        received = ByteBuffer()
    }
}

extension WebSocketErrorCode {
    /// Close code 1013, "try again later", for full memory.
    fileprivate static let tryAgainLater = WebSocketErrorCode(codeNumber: 1013)
}
