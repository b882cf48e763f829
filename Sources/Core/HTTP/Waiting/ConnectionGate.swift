import Logging
import NIOCore
import NIOPosix
import Telemetry

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Lets connections in, up to a limit, and waits where the system has no descriptor for one more. It belongs to one
/// listening socket, on whose event loop it is used.
///
/// SwiftNIO leaves a socket that failed to accept in the poll, which reports it again at once: it would spin. Here the
/// socket is taken out of the poll for a moment, while idle connections are closed.
final class ConnectionGate: ChannelInboundHandler {
    typealias InboundIn = any Channel
    typealias InboundOut = any Channel

    private let connections: OpenConnections
    private let limit: Int
    private let meters: RequestMeters?
    private let logger: Logger
    private var isWaiting = false
    /// Accepted connections on the way to their event loops.
    private var underWay = 0
    private var lastWarning: NIODeadline?

    /// Pause before the gate tries to accept again.
    private static let pause: TimeAmount = .milliseconds(20)
    private static let warningInterval: TimeAmount = .minutes(1)

    /// - Parameter limit: The most connections that are open at a time.
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
        // This comes back behind what sets up the connection.
        accepted.eventLoop.submit {}.hop(to: context.eventLoop).whenComplete { _ in gate.value.underWay -= 1 }
        if count >= limit { wait(context, because: "connection limit reached") }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // What the system cannot give now it gives later; a connection that broke off before it was accepted is gone.
        guard let code = (error as? IOError)?.errnoCode else { return context.fireErrorCaught(error) }
        if [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(code) { wait(context, because: "\(error)") }
    }

    /// Ends the listening when no connection is on the way to its event loop: SwiftNIO would close it.
    ///
    /// - Parameter deadline: When the listening ends in any case.
    static func end(_ channel: any Channel, before deadline: NIODeadline = .now() + .seconds(1)) {
        // Later, and not in this turn of the loop: before it, all is accepted that the system has by then.
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
        // To look through all connections takes longer than an event loop should.
        NIOThreadPool.singleton.runIfActive(eventLoop: context.eventLoop) { [connections] in
            connections.closeUnused(count)
        }
        .whenComplete { _ in
            let (gate, context) = gate.value
            gate.lookAgain(context)
        }
    }

    private func lookAgain(_ context: ChannelHandlerContext) {
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

/// How many descriptors this process may have: for connections of clients and of the database, and for files.
public enum DescriptorLimit {
    #if canImport(Glibc)
        private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        /// More than any connection table needs. Systems without a limit report far larger numbers.
        private static let most: rlim_t = 1_048_576
    #else
        private static let resource = RLIMIT_NOFILE
        /// macOS takes no more.
        private static let most = rlim_t(OPEN_MAX)
    #endif

    /// Raises the limit in force to what the process may have at most. Shells begin with 1,024, for the sake of
    /// programs that use `select`.
    public static func raise() {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return }
        let wanted = min(limit.rlim_max, most)
        guard limit.rlim_cur < wanted else { return }
        limit.rlim_cur = wanted
        _ = setrlimit(resource, &limit)
    }

    package static var current: Int {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return 1024 }
        return Int(min(limit.rlim_cur, most))
    }

    /// How many connections of clients there may be beside those of the database: each may read a file, too.
    ///
    /// - Parameters:
    ///   - wanted: How many the deployment wants at most.
    ///   - database: How many connections of the database there may be.
    package static func connections(wanted: Int, database: Int) -> Int {
        max(16, min(wanted, (current - database - reserve) / 2))
    }

    /// Descriptors for the process itself: event loops, log, pipes, files being written.
    private static let reserve = 128
}
