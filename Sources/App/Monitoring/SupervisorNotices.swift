import Logging
import NIOCore
import NIOPosix
import Platform
import ServiceLifecycle

/// Notifies the service manager (systemd) when the server is ready, while it runs and when it stops, through the socket
/// named by `NOTIFY_SOCKET` (`sd_notify(3)`).
struct SupervisorNotices: Service {
    private let path: String
    /// The interval of watchdog messages, or nil if the watchdog is off.
    private let interval: Duration?
    private let server: RoostServer
    private let logger: Logger

    /// Creates the service, or returns nil if no service manager listens.
    init?(_ environment: [String: String], of server: RoostServer, logger: Logger) {
        guard let path = environment["NOTIFY_SOCKET"], !path.isEmpty else { return nil }
        self.path = path
        self.server = server
        self.logger = logger
        let process = environment["WATCHDOG_PID"]
        let isMeant = process == nil || process == "\(ProcessInfo.processInfo.processIdentifier)"
        // Half the time after which the service manager considers the process stuck.
        interval =
            isMeant ? environment["WATCHDOG_USEC"].flatMap { Int64($0) }.map { .microseconds(max(1000, $0 / 2)) } : nil
    }

    func run() async throws {
        guard path.hasPrefix("/") else {
            logger.warning(
                "NOTIFY_SOCKET isn't an absolute path, so it is ignored", metadata: ["path": "\(path)"])
            return try await gracefulShutdown()
        }
        guard (try? await server.boundPort) != nil else { return try await gracefulShutdown() }
        await send("READY=1\nSTATUS=serving")
        if let interval {
            // Continues while the server drains, until the process ends. If an event loop is stuck, the messages stop
            // and the service manager restarts the process.
            Task {
                while true {
                    try? await Task.sleep(for: interval)
                    if server.isLive { await send("WATCHDOG=1") }
                }
            }
        }
        try? await gracefulShutdown()
        await send("STOPPING=1\nSTATUS=draining")
    }

    private func send(_ text: String) async {
        do {
            let channel = try await DatagramBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .connect(unixDomainSocketPath: path).get()
            // A service manager that doesn't read must not delay the shutdown.
            let limit = channel.eventLoop.scheduleTask(in: .seconds(1)) { channel.close(promise: nil) }
            defer { limit.cancel() }
            try await channel.writeAndFlush(ByteBuffer(string: text))
            try await channel.close()
        } catch {
            logger.warning("can't notify the service manager", metadata: ["reason": "\(error)"])
        }
    }
}
