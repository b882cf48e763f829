import NIOCore
import NIOPosix

/// A port for a server whose address must be known before it starts.
public enum FreePort {
    /// A port of loopback that is free, outside of those that the system gives to connections.
    ///
    /// - Throws: When a hundred are taken.
    public static func find() async throws -> Int {
        for _ in 0..<100 {
            let port = Int.random(in: 20_000..<32_000)
            let bootstrap = ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            guard let channel = try? await bootstrap.bind(host: "127.0.0.1", port: port).get() else { continue }
            try await channel.close()
            return port
        }
        throw CancellationError()
    }
}
