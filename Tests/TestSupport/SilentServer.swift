import NIOCore
import NIOPosix
import Synchronization

/// A server that accepts connections and never responds.
public final class SilentServer: Sendable {
    public let port: Int
    private let visitors: Visitors

    private final class Visitors: Sendable {
        struct State {
            var count = 0
            var action: @Sendable () -> Void = {}
        }

        let state = Mutex(State())

        func admit() {
            let action = state.withLock { state in
                state.count += 1
                return state.action
            }
            action()
        }
    }

    private init(port: Int, visitors: Visitors) {
        self.port = port
        self.visitors = visitors
    }

    public var connections: Int { visitors.state.withLock { $0.count } }

    /// Runs an action on each connection, independent of the test's own progress.
    public func onConnection(_ action: @escaping @Sendable () -> Void) {
        visitors.state.withLock { $0.action = action }
    }

    public static func run<R: Sendable>(_ body: @Sendable (SilentServer) async throws -> R) async throws -> R {
        let visitors = Visitors()
        let channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                visitors.admit()
                return channel.eventLoop.makeSucceededVoidFuture()
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return try await channel.closing {
            try await body(SilentServer(port: channel.localAddress?.port ?? 0, visitors: visitors))
        }
    }
}
