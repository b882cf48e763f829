import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Notifies the service manager that started the process (systemd) when the server serves, that it still does, and that it
/// ends, by the datagram socket that `NOTIFY_SOCKET` names (`sd_notify(3)`).
struct SupervisorNotices: Service {
    private let path: String
    /// How often the manager wants to hear of the process; nil for never.
    private let interval: Duration?
    private let server: RoostServer
    private let logger: Logger

    /// Nil where no manager listens.
    init?(_ environment: [String: String], of server: RoostServer, logger: Logger) {
        guard let path = environment["NOTIFY_SOCKET"], !path.isEmpty else { return nil }
        self.path = path
        self.server = server
        self.logger = logger
        let process = environment["WATCHDOG_PID"]
        let isMeant = process == nil || process == "\(ProcessInfo.processInfo.processIdentifier)"
        // Twice in the time after which the process counts as stuck.
        interval = isMeant ? environment["WATCHDOG_USEC"].flatMap { Int64($0) }.map { .microseconds($0 / 2) } : nil
    }

    func run() async throws {
        guard path.hasPrefix("/") else {
            logger.warning(
                "NOTIFY_SOCKET is not a path. The service manager is not notified", metadata: ["path": "\(path)"])
            return try await gracefulShutdown()
        }
        guard (try? await server.boundPort) != nil else { return try await gracefulShutdown() }
        await send("READY=1\nSTATUS=serving")
        if let interval {
            // Also while the server drains: it ends with the process. One whose event loops do not turn is started anew.
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
            // The end of the server waits for no manager that does not read.
            let limit = channel.eventLoop.scheduleTask(in: .seconds(1)) { channel.close(promise: nil) }
            defer { limit.cancel() }
            try await channel.writeAndFlush(ByteBuffer(string: text))
            try await channel.close()
        } catch {
            logger.warning("can't notify the service manager", metadata: ["reason": "\(error)"])
        }
    }
}
