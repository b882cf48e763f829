import NIOCore
import Synchronization

/// The connections that are open, so that the last of them can be closed when a shutdown takes too long.
final class OpenConnections: Sendable {
    private let channels = Mutex<[ObjectIdentifier: any Channel]>([:])

    /// Something for a connection's pipeline that keeps it in the list while it is open.
    func makeHandler() -> any RemovableChannelHandler {
        Registration(connections: self)
    }

    /// Closes every connection, whatever it is doing.
    func closeAll() {
        for channel in channels.withLock({ Array($0.values) }) { channel.close(promise: nil) }
    }

    fileprivate func insert(_ channel: any Channel) {
        channels.withLock { $0[ObjectIdentifier(channel)] = channel }
    }

    fileprivate func remove(_ channel: any Channel) {
        channels.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(channel)) }
    }

    private final class Registration: ChannelInboundHandler, RemovableChannelHandler, Sendable {
        typealias InboundIn = NIOAny

        let connections: OpenConnections

        init(connections: OpenConnections) {
            self.connections = connections
        }

        func handlerAdded(context: ChannelHandlerContext) {
            connections.insert(context.channel)
        }

        func handlerRemoved(context: ChannelHandlerContext) {
            connections.remove(context.channel)
        }
    }
}
