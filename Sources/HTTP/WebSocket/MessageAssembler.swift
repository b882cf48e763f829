import NIOCore
import NIOWebSocket

/// Makes messages of frames. They have to be masked and without
/// reserved bits (RFC 6455, 5.1 and 5.2), and the pieces of a message have to come one after the
/// other (5.4), and to be done in time: what came of them is kept.
final class MessageAssembler: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    /// The most bytes of a message.
    static let largestMessage = 1024 * 1024
    private static let mostFrames = 1024

    /// What came of a message that is not whole.
    private struct Partial {
        let opcode: WebSocketOpcode
        var data = ByteBuffer()
        var frames = 0
        let timeout: Scheduled<Void>
    }

    private let timeLimit: Duration
    private var partial: Partial?
    private var hasEnded = false

    /// - Parameter timeLimit: How long a message may take from its first frame to its last.
    init(timeLimit: Duration) { self.timeLimit = timeLimit }

    func handlerRemoved(context: ChannelHandlerContext) { forget() }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasEnded else { return }
        let frame = unwrapInboundIn(data)
        // No extension is negotiated that gives the reserved bits a meaning (5.2).
        guard frame.maskKey != nil, !frame.rsv1, !frame.rsv2, !frame.rsv3 else { return end(context, .protocolError) }
        switch frame.opcode {
        case .text, .binary:
            guard partial == nil else { return end(context, .protocolError) }
            if frame.fin { return context.fireChannelRead(data) }
            partial = Partial(opcode: frame.opcode, timeout: startTimeout(context))
            add(frame, context)
        case .continuation:
            guard partial != nil else { return end(context, .protocolError) }
            add(frame, context)
        default: context.fireChannelRead(data)
        }
    }

    private func add(_ frame: WebSocketFrame, _ context: ChannelHandlerContext) {
        guard var message = partial else { return }
        // The buffer is not copied.
        partial = nil
        message.frames += 1
        guard message.frames <= Self.mostFrames, message.data.readableBytes + frame.length <= Self.largestMessage else {
            message.timeout.cancel()
            return end(context, .messageTooLarge)
        }
        var bytes = frame.unmaskedData
        message.data.writeBuffer(&bytes)
        guard frame.fin else {
            partial = message
            return
        }
        message.timeout.cancel()
        context.fireChannelRead(wrapInboundOut(WebSocketFrame(fin: true, opcode: message.opcode, data: message.data)))
    }

    private func startTimeout(_ context: ChannelHandlerContext) -> Scheduled<Void> {
        let place = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        return context.eventLoop.scheduleTask(in: TimeAmount(timeLimit)) {
            let (assembler, context) = place.value
            assembler.end(context, .policyViolation)
        }
    }

    private func end(_ context: ChannelHandlerContext, _ code: WebSocketErrorCode) {
        hasEnded = true
        forget()
        var reason = ByteBuffer()
        reason.write(webSocketErrorCode: code)
        let frame = WebSocketFrame(fin: true, opcode: .connectionClose, data: reason)
        context.writeAndFlush(wrapOutboundOut(frame), promise: nil)
        context.close(promise: nil)
    }

    private func forget() {
        partial?.timeout.cancel()
        partial = nil
    }
}
