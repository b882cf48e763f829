import CLibpq
import Collections
import Foundation
import Logging
import Synchronization

/// The one thread that talks to PostgreSQL: it sends what callers hand in, and wakes them when answers come.
///
/// `@unchecked Sendable`: everything but the mailbox is touched by the thread alone.
final class InputOutputLoop: @unchecked Sendable {
    enum Command: Sendable {
        /// Send on any shared connection.
        case submit(Work)
        /// Give an exclusive connection, named by a number.
        case lease(Lease)
        /// Send on a leased connection.
        case submitOn(Int, Work)
        /// Take a leased connection back.
        case release(Int)
        /// Stop what runs on a leased connection.
        case cancel(Int)
        /// Listen to channels.
        case listen(id: Int, channels: [String], AsyncStream<PostgresEvent>.Continuation)
        case unlisten(id: Int)
        case shutdown
    }

    struct Lease: Sendable {
        let deadline: ContinuousClock.Instant
        let complete: @Sendable (Result<Int, PostgresError>) -> Void
    }

    private struct Mailbox {
        var commands: [Command] = []
        var isAsleep = false
        var isClosed = false
    }

    private struct Listener {
        let connection: Connection
        let channels: [String]
        let continuation: AsyncStream<PostgresEvent>.Continuation
    }

    private let configuration: PostgresConfiguration
    private let logger: Logger
    private let mailbox = Mutex(Mailbox())
    private let figures = Mutex(PostgresStatistics())
    private let pipe = Pipe()
    private let finished = DispatchSemaphore(value: 0)

    private var shared: [Connection] = []
    private var exclusive: [Int: Connection] = [:]
    private var nextExclusive = 0
    private var listeners: [Int: Listener] = [:]
    private var backlog: Deque<Work> = []
    private var leases: Deque<Lease> = []
    private var isStopping = false
    private var stopDeadline: ContinuousClock.Instant?

    init(configuration: PostgresConfiguration, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
    }

    func start() {
        let thread = Thread { self.run() }
        thread.name = "roost.postgres"
        thread.start()
    }

    /// Hands in a command; false when the loop has ended.
    @discardableResult
    func send(_ command: Command) -> Bool {
        let (isOpen, wakes) = mailbox.withLock { box in
            guard !box.isClosed else { return (false, false) }
            box.commands.append(command)
            let wasAsleep = box.isAsleep
            box.isAsleep = false
            return (true, wasAsleep)
        }
        if wakes { wake() }
        return isOpen
    }

    var statistics: PostgresStatistics { figures.withLock { $0 } }

    /// Waits for the thread to end.
    func join() async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                self.finished.wait()
                continuation.resume()
            }
        }
    }

    private func wake() {
        var byte: UInt8 = 1
        _ = write(pipe.fileHandleForWriting.fileDescriptor, &byte, 1)
    }

    // MARK: The thread

    private func run() {
        let wakeUp = pipe.fileHandleForReading.fileDescriptor
        _ = fcntl(wakeUp, F_SETFL, O_NONBLOCK)
        _ = fcntl(pipe.fileHandleForWriting.fileDescriptor, F_SETFL, O_NONBLOCK)
        for _ in 0..<configuration.sharedConnections { shared.append(Connection(.shared, configuration)) }
        var descriptors: [pollfd] = []
        while !isDone {
            let now = ContinuousClock.now
            for connection in connections { connectIfDue(connection, now) }
            takeCommands()
            sendBacklog(now)
            grantLeases(now)
            updateStatistics()
            let polled = connections.filter { $0.socket >= 0 }
            descriptors.removeAll(keepingCapacity: true)
            descriptors.append(pollfd(fd: wakeUp, events: Int16(POLLIN), revents: 0))
            for connection in polled {
                descriptors.append(pollfd(fd: connection.socket, events: Self.interest(connection), revents: 0))
            }
            let mustNotSleep = mailbox.withLock { box in
                box.isAsleep = box.commands.isEmpty
                return !box.isAsleep
            }
            poll(&descriptors, nfds_t(descriptors.count), mustNotSleep ? 0 : timeout)
            mailbox.withLock { $0.isAsleep = false }
            if descriptors[0].revents != 0 {
                var buffer = [UInt8](repeating: 0, count: 64)
                _ = read(wakeUp, &buffer, buffer.count)
            }
            for (connection, descriptor) in zip(polled, descriptors.dropFirst()) where descriptor.revents != 0 {
                serve(connection, descriptor.revents)
            }
        }
        end()
    }

    private var connections: [Connection] {
        shared + exclusive.values + listeners.values.map(\.connection)
    }

    private var isDone: Bool {
        guard isStopping else { return false }
        let isIdle = backlog.isEmpty && connections.allSatisfy { $0.inFlight.isEmpty && !$0.isLeased }
        return isIdle || ContinuousClock.now > (stopDeadline ?? .now)
    }

    /// How long to sleep when nothing happens, in milliseconds.
    private var timeout: Int32 {
        let isHurried = isStopping || !backlog.isEmpty || !leases.isEmpty || connections.contains { !$0.isReady }
        return isHurried ? 20 : 5000
    }

    private static func interest(_ connection: Connection) -> Int16 {
        switch connection.state {
        case .connecting(PGRES_POLLING_READING): Int16(POLLIN)
        case .connecting: Int16(POLLOUT)
        case .ready: Int16(connection.wantsToWrite ? POLLIN | POLLOUT : POLLIN)
        case .waiting: 0
        }
    }

    private func connectIfDue(_ connection: Connection, _ now: ContinuousClock.Instant) {
        // Whoever leased a connection must learn that it broke: a new one would carry on outside of their transaction.
        guard case .waiting(let until) = connection.state, until <= now, !isStopping, !connection.isLeased else {
            return
        }
        connection.connect()
    }

    private func serve(_ connection: Connection, _ events: Int16) {
        switch connection.state {
        case .waiting: break
        case .connecting:
            if connection.proceed() {
                begin(connection)
            } else if case .waiting = connection.state {
                logger.warning("no connection to PostgreSQL", metadata: ["reason": "\(connection.lastError)"])
            }
        case .ready:
            if connection.wantsToWrite, !connection.flush() { return lose(connection) }
            guard events & Int16(POLLIN | POLLHUP | POLLERR) != 0 else { return }
            guard let answered = connection.receive() else { return lose(connection) }
            for work in answered { settle(work, on: connection) }
            deliverNotifications(connection)
            if !connection.flush() { lose(connection) }
        }
    }

    /// What every new connection is told first.
    private func begin(_ connection: Connection) {
        let (seconds, attoseconds) = configuration.statementTimeout.components
        let milliseconds = connection.role == .listener ? 0 : seconds * 1000 + attoseconds / 1_000_000_000_000_000
        var statements = [Statement("SET statement_timeout = \(milliseconds)")]
        if let listener = listeners.values.first(where: { $0.connection === connection }) {
            statements += listener.channels.map { Statement("LISTEN \(SQL.identifier($0))") }
            let continuation = listener.continuation
            let work = Work(statements, isReadOnly: false, isAutocommit: true, deadline: .now) { _ in
                continuation.yield(.connected)
            }
            if !connection.send(work) { lose(connection) }
            return
        }
        let work = Work(statements, isReadOnly: false, isAutocommit: true, deadline: .now) { _ in }
        if !connection.send(work) { lose(connection) }
    }

    private func deliverNotifications(_ connection: Connection) {
        guard !connection.notifications.isEmpty else { return }
        for listener in listeners.values where listener.connection === connection {
            for notification in connection.notifications {
                listener.continuation.yield(
                    .notification(channel: notification.channel, payload: notification.payload))
            }
        }
        connection.notifications.removeAll()
    }

    /// Gives an answer to who waits for it, or sends the request again where that is right.
    private func settle(_ work: Work, on connection: Connection) {
        guard let error = work.error else { return work.finish() }
        if error.isStalePlan {
            // Inside a transaction, which the error has broken off, only the whole of it can be tried again.
            let mayRepeat = work.attempts < 4 && (work.isAutocommit || !connection.isInTransaction)
            connection.forget(work)
            guard mayRepeat else { return work.finish() }
            if !connection.send(work) {
                lose(connection)
                lost(work)
            }
            return
        }
        guard work.isAutocommit else { return work.finish() }
        if ["40001", "40P01"].contains(error.sqlState), work.attempts < 6 { return backlog.append(work) }
        if error.sqlState == "57P01" || error.sqlState == "57P02" {
            // The server is going down: the connection will break in a moment.
            return lost(work)
        }
        work.finish()
    }

    private func lose(_ connection: Connection) {
        let works = connection.fail(.now)
        logger.warning(
            "a connection to PostgreSQL broke",
            metadata: ["reason": "\(connection.lastError)", "underWay": "\(works.count)"])
        for work in works { lost(work) }
        for listener in listeners.values where listener.connection === connection {
            listener.continuation.yield(.disconnected)
        }
    }

    private func lost(_ work: Work) {
        if work.isReadOnly, work.isAutocommit, work.attempts < 4, !isStopping {
            work.restart()
            backlog.append(work)
            return
        }
        work.error = PostgresError(.connectionLost, "the connection was lost", sqlState: "08006")
        work.finish()
    }

    // MARK: Commands

    private func takeCommands() {
        let commands = mailbox.withLock { box in
            defer { box.commands.removeAll(keepingCapacity: true) }
            return box.commands
        }
        for command in commands {
            switch command {
            case .submit(let work): submit(work)
            case .lease(let lease): leases.append(lease)
            case .submitOn(let id, let work): submit(work, on: id)
            case .release(let id): release(id)
            case .cancel(let id): cancel(id)
            case .listen(let id, let channels, let continuation):
                listeners[id] = Listener(
                    connection: Connection(.listener, configuration), channels: channels, continuation: continuation)
            case .unlisten(let id): listeners[id] = nil
            case .shutdown:
                isStopping = true
                stopDeadline = .now + .seconds(10)
                for listener in listeners.values { listener.continuation.finish() }
                listeners.removeAll()
            }
        }
    }

    private func submit(_ work: Work) {
        guard let connection = shared.filter(\.isReady).min(by: { $0.inFlight.count < $1.inFlight.count }) else {
            backlog.append(work)
            return
        }
        if !connection.send(work) {
            lose(connection)
            backlog.append(work)
        }
    }

    private func sendBacklog(_ now: ContinuousClock.Instant) {
        for _ in 0..<backlog.count {
            guard let work = backlog.popFirst() else { return }
            if shared.contains(where: \.isReady) {
                submit(work)
            } else if isStopping || work.deadline < now {
                work.error = PostgresError(.unavailable, shared.first?.lastError ?? "", sqlState: "08001")
                work.finish()
            } else {
                backlog.append(work)
            }
        }
    }

    private func submit(_ work: Work, on id: Int) {
        guard let connection = exclusive[id], connection.isReady else {
            work.error = PostgresError(.connectionLost, "the connection was lost", sqlState: "08006")
            return work.finish()
        }
        if !connection.send(work) {
            lose(connection)
            work.error = PostgresError(.connectionLost, "the connection was lost", sqlState: "08006")
            work.finish()
        }
    }

    private func grantLeases(_ now: ContinuousClock.Instant) {
        while let lease = leases.first {
            if isStopping {
                lease.complete(.failure(PostgresError(.shutdown, "the client is shutting down")))
                leases.removeFirst()
                continue
            }
            if let (id, connection) = exclusive.first(where: { !$0.value.isLeased && $0.value.isReady }) {
                connection.isLeased = true
                leases.removeFirst()
                lease.complete(.success(id))
                continue
            }
            let opening = exclusive.values.filter { !$0.isReady }.count
            if exclusive.count < configuration.exclusiveConnections, opening < leases.count {
                exclusive[nextExclusive] = Connection(.exclusive, configuration)
                nextExclusive += 1
            }
            break
        }
        while let lease = leases.first, lease.deadline < now {
            leases.removeFirst()
            lease.complete(
                .failure(PostgresError(.unavailable, "no connection became free in time", sqlState: "08001")))
        }
        for (id, connection) in exclusive where !connection.isLeased {
            if connection.isReady, connection.inFlight.isEmpty, now - connection.idleSince > .seconds(60) {
                exclusive[id] = nil
            } else if leases.isEmpty, !connection.isReady, case .waiting = connection.state, connection.reconnects > 0 {
                exclusive[id] = nil
            }
        }
    }

    private func release(_ id: Int) {
        guard let connection = exclusive[id] else { return }
        connection.idleSince = .now
        if connection.isReady, connection.isInTransaction {
            // Whoever had it left a transaction open.
            let work = Work([Statement("ROLLBACK")], isReadOnly: false, isAutocommit: false, deadline: .now) { _ in }
            if !connection.send(work) { lose(connection) }
        }
        connection.isLeased = false
    }

    private func cancel(_ id: Int) {
        guard let connection = exclusive[id], connection.isReady, !connection.inFlight.isEmpty,
            let canceller = connection.canceller
        else { return }
        let pointer = UInt(bitPattern: canceller)
        // PQcancel opens a connection of its own and waits for it.
        DispatchQueue.global().async {
            guard let canceller = OpaquePointer(bitPattern: pointer) else { return }
            var buffer = [CChar](repeating: 0, count: 256)
            PQcancel(canceller, &buffer, Int32(buffer.count))
            PQfreeCancel(canceller)
        }
    }

    private func updateStatistics() {
        let all = connections
        figures.withLock {
            $0.connections = all.filter(\.isReady).count
            $0.inFlight = all.reduce(0) { $0 + $1.inFlight.count }
            $0.waiting = backlog.count + leases.count
            $0.preparedStatements = all.reduce(0) { $0 + $1.preparedCount }
            $0.reconnects = all.reduce(0) { $0 + $1.reconnects }
        }
    }

    private func end() {
        let commands = mailbox.withLock { box in
            box.isClosed = true
            return box.commands
        }
        let error = PostgresError(.shutdown, "the client is shutting down")
        for command in commands {
            switch command {
            case .submit(let work), .submitOn(_, let work):
                work.error = error
                work.finish()
            case .lease(let lease): lease.complete(.failure(error))
            default: break
            }
        }
        for work in connections.flatMap(\.inFlight) + backlog {
            work.error = PostgresError(.connectionLost, "the client was shut down", sqlState: "08006")
            work.finish()
        }
        for lease in leases { lease.complete(.failure(error)) }
        shared.removeAll()
        exclusive.removeAll()
        listeners.removeAll()
        finished.signal()
    }
}
