import Logging
import NIOCore
import NIOPosix
import Platform
import Telemetry

/// Accepts connections up to a limit. Pauses at the limit, or if the system lacks descriptors or memory. Belongs to one
/// listening socket and runs on its event loop.
///
/// If accepting fails, SwiftNIO keeps polling the socket, which is ready again immediately, so the loop would spin.
/// The gate stops polling for a moment instead, while idle connections are closed.
final class ConnectionGate: ChannelInboundHandler {
    typealias InboundIn = any Channel
    typealias InboundOut = any Channel

    private let connections: OpenConnections
    private let limit: Int
    private let meters: RequestMeters?
    private let logger: Logger
    private var isWaiting = false
    /// The number of accepted connections that have not reached their event loops yet.
    private var underWay = 0
    private var lastWarning: NIODeadline?

    private static let pause: TimeAmount = .milliseconds(20)
    private static let warningInterval: TimeAmount = .minutes(1)

    init(connections: OpenConnections, limit: Int, meters: RequestMeters?, logger: Logger) {
        self.meters = meters
        self.connections = connections
        self.limit = limit
        self.logger = logger
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let count = connections.admit()
        let accepted = unwrapInboundIn(data)
        accepted.closeFuture.whenComplete { [connections] _ in connections.dismiss() }
        context.fireChannelRead(data)
        underWay += 1
        let gate = NIOLoopBound(self, eventLoop: context.eventLoop)
        // Runs after the connection has been set up.
        accepted.eventLoop.submit {}.hop(to: context.eventLoop).whenComplete { _ in gate.value.underWay -= 1 }
        if count >= limit { wait(context, because: "connection limit reached") }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // A lack of system resources is temporary. Other errors concern a connection that broke before it was accepted.
        guard let code = (error as? IOError)?.errnoCode else { return context.fireErrorCaught(error) }
        if [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(code) { wait(context, because: "\(error)") }
    }

    /// Stops listening once all accepted connections have reached their event loops. SwiftNIO would close the others.
    ///
    /// - Parameter deadline: The time at which it stops listening in any case.
    static func end(_ channel: any Channel, before deadline: NIODeadline = .now() + .seconds(1)) {
        // Not in this turn of the loop, so that connections already queued by the system are accepted first.
        channel.eventLoop.scheduleTask(in: .microseconds(100)) {
            let gate = try? channel.pipeline.syncOperations.handler(type: ConnectionGate.self)
            guard let gate, gate.underWay > 0, NIODeadline.now() < deadline else { return channel.close(promise: nil) }
            end(channel, before: deadline)
        }
    }

    private func wait(_ context: ChannelHandlerContext, because reason: String) {
        guard !isWaiting, context.channel.isActive else { return }
        isWaiting = true
        meters?.refused.add(.connections)
        try? context.channel.syncOptions?.setOption(.autoRead, value: false)
        let now = NIODeadline.now()
        if lastWarning.map({ now - $0 >= Self.warningInterval }) ?? true {
            lastWarning = now
            logger.warning(
                "connection limit reached, new connections wait",
                metadata: ["reason": "\(reason)", "limit": "\(limit)"])
        }
        makeRoom(context)
    }

    private func makeRoom(_ context: ChannelHandlerContext) {
        let count = max(16, limit / 32)
        let gate = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        // Going through all connections takes too long for an event loop.
        NIOThreadPool.singleton.runIfActive(eventLoop: context.eventLoop) { [connections] in
            connections.closeUnused(count)
        }
        .whenComplete { _ in
            let (gate, context) = gate.value
            gate.recheck(context)
        }
    }

    private func recheck(_ context: ChannelHandlerContext) {
        let gate = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: Self.pause) {
            let (gate, context) = gate.value
            guard context.channel.isActive else { return }
            guard gate.connections.count < gate.limit else { return gate.makeRoom(context) }
            gate.isWaiting = false
            try? context.channel.syncOptions?.setOption(.autoRead, value: true)
        }
    }
}

/// The limit on open file descriptors of the process, shared by client connections, database connections and files.
public enum DescriptorLimit {
    #if canImport(Glibc)
        private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        /// More than any server needs. Systems without a limit report far larger numbers.
        private static let maxDescriptors: rlim_t = 1_048_576
    #else
        private static let resource = RLIMIT_NOFILE
        /// The maximum that macOS accepts.
        private static let maxDescriptors = rlim_t(OPEN_MAX)
    #endif

    /// Raises the soft limit, at most to the hard limit. Its default, 1,024 on Linux, suits programs that use `select`.
    public static func raise() {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return }
        let wanted = min(limit.rlim_max, maxDescriptors)
        guard limit.rlim_cur < wanted else { return }
        limit.rlim_cur = wanted
        _ = setrlimit(resource, &limit)
    }

    package static var current: Int {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return 1024 }
        return Int(min(limit.rlim_cur, maxDescriptors))
    }

    /// Returns the number of client connections for which descriptors are left, at least 16. Each may also read a file.
    ///
    /// - Parameters:
    ///   - wanted: The configured maximum.
    ///   - database: The maximum number of database connections.
    package static func connections(wanted: Int, database: Int) -> Int {
        max(16, min(wanted, (current - database - reserve) / 2))
    }

    /// The number of descriptors for the process itself: event loops, log, pipes, files being written.
    private static let reserve = 128
}
