import NIOCore
import NIOTLS

/// Ends a connection whose client does not finish the handshake of TLS in time; goes away when it has.
final class HandshakeTimeout: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let limit: TimeAmount
    private var timer: Scheduled<Void>?

    init(_ limit: Duration) {
        self.limit = TimeAmount(limit)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        timer = context.eventLoop.scheduleTask(in: limit) { channel.abort() }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        context.fireUserInboundEventTriggered(event)
        guard case TLSUserEvent.handshakeCompleted? = event as? TLSUserEvent else { return }
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }
}
