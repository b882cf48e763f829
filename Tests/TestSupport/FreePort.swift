import NIOCore
import NIOPosix
import Synchronization

/// Ports for servers whose address must be known before they start.
public enum FreePort {
    private static let given = Mutex(Set<Int>())

    /// Returns an unused loopback port outside the system's ephemeral range. No two callers get the same.
    ///
    /// It tries to connect instead of listening: processes started by other tests would inherit the listening socket
    /// and hold the port until they execute another program.
    ///
    /// - Throws: An error if 100 randomly chosen ports are in use.
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
