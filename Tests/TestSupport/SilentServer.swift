import NIOCore
import NIOPosix
import Synchronization

/// A server that takes connections and says nothing.
public final class SilentServer: Sendable {
    private let count = Mutex(0)

    /// How many connections there were.
    public var connections: Int { count.withLock { $0 } }

    /// Starts a server on a port of loopback, runs `body`, and stops it.
    ///
    /// - Parameter onConnection: What happens as soon as somebody connects, however long `body` has to wait for its turn.
    public static func run<R: Sendable>(
        port: Int, onConnection: @escaping @Sendable () -> Void = {}, _ body: @Sendable (SilentServer) async throws -> R
    ) async throws -> R {
        let server = SilentServer()
        let channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                server.count.withLock { $0 += 1 }
                onConnection()
                return channel.eventLoop.makeSucceededVoidFuture()
            }
            .bind(host: "127.0.0.1", port: port).get()
        do {
            let result = try await body(server)
            try await channel.close()
            return result
        } catch {
            try? await channel.close()
            throw error
        }
    }
}
