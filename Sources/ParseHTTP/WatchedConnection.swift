import HummingbirdCore
import Logging
import NIOCore
import Postgres

/// A connection of HTTP/1.1 that notes when its client goes away, for as long as requests of it are answered.
struct WatchedConnection: ServerChildChannel {
    /// What is known of an open connection.
    struct Value: ServerChildChannelValue {
        fileprivate let connection: HTTP1Channel.Value
        fileprivate let caller: CallerPresence

        var channel: any Channel { connection.channel }
    }

    let http: HTTP1Channel
    let connections: OpenConnections

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        let caller = CallerPresence()
        let handler = ConnectionWatcher(connections: connections, caller: caller)
        return channel.pipeline.addHandler(handler).flatMap {
            http.setup(channel: channel, logger: logger).map { Value(connection: $0, caller: caller) }
        }
    }

    func handle(value: Value, logger: Logger) async {
        await withTaskExecutorPreference(EventLoopTaskExecutor(value.channel.eventLoop)) {
            await CallerPresence.$current.withValue(value.caller) {
                await http.handle(value: value.connection, logger: logger)
            }
        }
    }
}

/// Keeps a connection in the list of open ones, and tells when its client leaves.
///
/// A client that closes its half counts as gone. That stops only slow statements that read; an answer that comes all the
/// same is sent.
private final class ConnectionWatcher: ChannelInboundHandler, Sendable {
    typealias InboundIn = NIOAny

    private let connections: OpenConnections
    private let caller: CallerPresence

    init(connections: OpenConnections, caller: CallerPresence) {
        self.connections = connections
        self.caller = caller
    }

    func handlerAdded(context: ChannelHandlerContext) {
        connections.insert(context.channel)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        connections.remove(context.channel)
        caller.leave()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed? = event as? ChannelEvent { caller.leave() }
        context.fireUserInboundEventTriggered(event)
    }
}
