import Platform

/// The thread that communicates with PostgreSQL. It sends the requests of all callers and resumes them when results
/// arrive.
///
/// The loop is created and used only on its thread, so it needs no locks. It blocks only in `poll` and name lookups.
final class InputOutputLoop {
    private let context: LoopContext
    private let shared: SharedPool
    /// Indexed by `PoolPurpose.rawValue`.
    private let exclusivePools: [ExclusivePool]
    private let listeners: ListenerPool
    private let pools: [any ConnectionPool]
    private var commands: [CommandQueue.Command] = []
    private var descriptors: [pollfd] = []
    private var polled: [Connection] = []
    private var statistics = PostgresStatistics()
    private var stopDeadline: MonotonicInstant?

    private static let grace: Duration = .seconds(10)

    /// Runs until the client is shut down.
    static func run(_ context: LoopContext) {
        InputOutputLoop(context).run()
        context.commandQueue.end.set(())
    }

    private init(_ context: LoopContext) {
        self.context = context
        shared = SharedPool(context)
        exclusivePools = PoolPurpose.allCases.map { ExclusivePool(context, purpose: $0) }
        listeners = ListenerPool(context)
        pools = [shared] + exclusivePools + [listeners]
    }

    private func run() {
        while true {
            runCommands()
            for pool in pools where !pool.isUnused { pool.tick() }
            clearAwayBroken()
            flush()
            if isDone { break }
            wait()
            context.now = .now
            serve()
            clearAwayBroken()
        }
        end()
    }

    private var isDone: Bool {
        guard let stopDeadline else { return false }
        return (shared.isIdle && exclusivePools.allSatisfy(\.isIdle)) || stopDeadline <= context.now
    }

    // MARK: Commands

    private func runCommands() {
        context.commandQueue.drain(&commands)
        for command in commands { run(command) }
    }

    private func run(_ command: CommandQueue.Command) {
        switch command {
        case .submit(let request):
            if context.isStopping { request.fail(.shutDown) } else { shared.submit(request) }
        case .submitLeased(let request, let lease): lease.pool.submit(request, on: lease)
        case .start(let request): shared.start(request)
        case .lease(let request): exclusivePools[request.purpose.rawValue].lease(request)
        case .abandon(let request): exclusivePools[request.purpose.rawValue].abandon(request)
        case .cancel(let request, let lease): lease.pool.cancel(request, on: lease)
        case .cancelSent(let target, let lease):
            context.cancellations.didSend(to: target)
            if let lease { lease.pool.didSendCancel(for: lease) }
        case .release(let lease, let request): lease.pool.release(lease, request)
        case .listen(let id, let channels, let events): listeners.listen(id: id, channels: channels, events)
        case .unlisten(let id): listeners.unlisten(id: id)
        case .shutDown:
            guard stopDeadline == nil else { break }
            context.isStopping = true
            stopDeadline = context.now.after(Self.grace)
            listeners.end()
        }
    }

    // MARK: Connections

    private func serve() {
        for (connection, descriptor) in zip(polled, descriptors.dropFirst()) where descriptor.revents != 0 {
            let events = Int32(descriptor.revents)
            connection.proceed(reading: events & ~Int32(POLLOUT) != 0, writing: events & Int32(POLLOUT) != 0)
        }
    }

    private func flush() {
        for pool in pools {
            for connection in pool.connections where connection.needsFlush && connection.failure == nil {
                connection.flush()
            }
        }
        clearAwayBroken()
    }

    /// Closes broken connections. Resending their requests may break more, hence the loop.
    private func clearAwayBroken() {
        while context.hasBroken {
            context.hasBroken = false
            for pool in pools {
                for connection in pool.connections {
                    if let reason = connection.failure { connection.clearAway(because: reason) }
                }
            }
        }
    }

    // MARK: Waiting

    private func wait() {
        descriptors.removeAll(keepingCapacity: true)
        polled.removeAll(keepingCapacity: true)
        descriptors.append(pollfd(fd: context.commandQueue.descriptor, events: Int16(POLLIN), revents: 0))
        var deadline = EarliestInstant()
        deadline.consider(stopDeadline)
        for index in pools.indices {
            let pool = pools[index]
            var counts = PostgresStatistics.Pool(name: statistics.pools[index].name)
            counts.timeouts = pool.timeouts
            if !pool.isUnused {
                deadline.consider(pool.nextDeadline)
                counts.idle = pool.idleConnections
                counts.waiting = pool.waiting
                for connection in pool.connections { watch(connection, &counts) }
            }
            statistics.pools[index] = counts
        }
        statistics.reconnects = context.breaks
        let mustFlush = polled.contains { $0.needsFlush }
        let isAsleep = context.commandQueue.fallAsleep(&statistics, shared.wakeCondition)
        var longest = deadline.instant.map { Int32(clamping: $0.milliseconds(from: context.now)) } ?? -1
        // Without a pipe, commands can't wake the thread, so it checks every 10 ms.
        if context.commandQueue.descriptor < 0 { longest = 10 }
        _ = poll(&descriptors, nfds_t(descriptors.count), isAsleep && !mustFlush ? longest : 0)
        context.commandQueue.awake(wasSignalled: descriptors[0].revents != 0)
    }

    private func watch(_ connection: Connection, _ counts: inout PostgresStatistics.Pool) {
        let socket = connection.socket
        guard socket >= 0 else { return }
        polled.append(connection)
        let (reading, writing) = connection.interest
        let events = Int16((reading ? POLLIN : 0) | (writing ? POLLOUT : 0))
        descriptors.append(pollfd(fd: socket, events: events, revents: 0))
        counts.connections += connection.isReady ? 1 : 0
        counts.inFlight += connection.inFlight.count
        counts.preparedStatements += connection.cache.count
    }

    // MARK: Shutdown

    private func end() {
        for command in context.commandQueue.close() {
            switch command {
            case .submit(let request), .submitLeased(let request, _): request.fail(.shutDown)
            case .start(let request): request.promise.fulfill(.failure(.shutDown))
            case .lease(let request): request.promise.fulfill(.failure(.shutDown))
            case .release(_, let request): request?.promise.fulfill(.success(()))
            case .listen(_, _, let events): events.finish()
            case .cancel, .cancelSent, .abandon, .unlisten, .shutDown: break
            }
        }
        let lost = PostgresError(.connectionLost, "the PostgreSQL client was shut down")
        for pool in pools {
            for connection in pool.connections {
                for request in connection.inFlight.requests { request.fail(lost) }
                connection.close()
            }
        }
        shared.end()
        for pool in exclusivePools { pool.end() }
        listeners.end()
    }
}
