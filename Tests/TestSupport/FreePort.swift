import NIOCore
import NIOPosix
import Synchronization

/// A port for a server whose address must be known before it starts.
public enum FreePort {
    private static let given = Mutex(Set<Int>())

    /// A port of loopback at which nobody listens, outside of those that the system gives to connections. No two callers
    /// get the same.
    ///
    /// A connection finds out, not a socket that listens: processes that other tests start meanwhile would inherit that,
    /// and hold the port until they have become another program.
    ///
    /// - Throws: When a hundred are taken.
    public static func find() async throws -> Int {
        for _ in 0..<100 {
            let port = Int.random(in: 20_000..<32_000)
            guard given.withLock({ $0.insert(port).inserted }) else { continue }
            let bootstrap = ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            guard let channel = try? await bootstrap.connect(host: "127.0.0.1", port: port).get() else { return port }
            try await channel.close()
        }
        throw CancellationError()
    }
}
