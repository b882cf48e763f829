import CLibpq
import Dispatch
import Logging
import Synchronization

/// A client of one PostgreSQL database.
///
/// Short statements of all callers share a few pipelined connections; transactions and statements that can be slow have
/// connections of their own, so that a slow one never stands in front of a fast one.
public final class PostgresClient: Sendable {
    private let configuration: PostgresConfiguration
    private let loop: InputOutputLoop
    private let listenerCounter = Atomic<Int>(0)

    /// Makes a client; nothing is connected before ``start()``.
    public init(configuration: PostgresConfiguration, logger: Logger) {
        self.configuration = configuration
        loop = InputOutputLoop(configuration: configuration, logger: logger)
    }

    /// Starts the I/O thread and makes sure that the server answers.
    ///
    /// - Throws: `PostgresError` with the server's own words.
    public func start() async throws {
        try await Self.blocking { [configuration] in
            try BlockingConnection(configuration).run("SELECT 1")
        }
        loop.start()
    }

    /// Finishes what is under way (ten seconds at most), closes all connections and ends the thread.
    public func shutdown() async {
        guard loop.send(.shutdown) else { return }
        await loop.join()
    }

    /// Runs one statement in a transaction of its own; it is committed when the answer comes.
    ///
    /// - Parameter readOnly: Whether it changes nothing, and so may be sent again when its answer was lost.
    /// - Throws: `PostgresError`.
    public func query(_ sql: String, _ parameters: [PostgresParameter] = [], readOnly: Bool = false) async throws
        -> PostgresResult
    {
        try await query(Statement(sql, parameters), readOnly: readOnly)
    }

    /// Runs one statement in a transaction of its own.
    ///
    /// - Throws: `PostgresError`.
    public func query(_ statement: Statement, readOnly: Bool = false) async throws -> PostgresResult {
        try Self.first(await group([statement], readOnly: readOnly))
    }

    /// Runs statements in one transaction and one round trip: all of them, or none.
    ///
    /// - Throws: `PostgresError`, the first one.
    public func group(_ statements: [Statement], readOnly: Bool = false) async throws -> [PostgresResult] {
        try await withCheckedThrowingContinuation { continuation in
            let work = Work(
                statements, isReadOnly: readOnly, isAutocommit: true, deadline: .now + configuration.connectTimeout
            ) { continuation.resume(with: $0.mapError { $0 as any Error }) }
            if !loop.send(.submit(work)) {
                continuation.resume(throwing: PostgresError(.shutdown, "the client was shut down"))
            }
        }
    }

    /// Lends a connection that nobody else uses meanwhile.
    ///
    /// A transaction that is left open is rolled back.
    public func exclusively<R: Sendable>(_ body: @Sendable (PostgresSession) async throws -> R) async throws -> R {
        let id = try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Int, any Error>) in
            let lease = InputOutputLoop.Lease(deadline: .now + configuration.connectTimeout) {
                continuation.resume(with: $0.mapError { $0 as any Error })
            }
            if !loop.send(.lease(lease)) {
                continuation.resume(throwing: PostgresError(.shutdown, "the client was shut down"))
            }
        }
        defer { loop.send(.release(id)) }
        return try await body(PostgresSession(id: id, loop: loop))
    }

    /// Runs `body` in a transaction and commits it; what it throws undoes everything.
    ///
    /// Serialization failures and deadlocks are tried again, up to `retries` times: the server has undone them.
    public func transaction<R: Sendable>(
        isolation: Isolation = .readCommitted, retries: Int = 5, _ body: @Sendable (PostgresSession) async throws -> R
    ) async throws -> R {
        for attempt in 0... {
            do {
                return try await exclusively { session in
                    _ = try await session.query("BEGIN ISOLATION LEVEL \(isolation.rawValue)")
                    do {
                        let result = try await body(session)
                        _ = try await session.query("COMMIT")
                        return result
                    } catch {
                        _ = try? await session.query("ROLLBACK")
                        throw error
                    }
                }
            } catch let error as PostgresError where error.isTransient && attempt < retries {
                try await Task.sleep(for: .milliseconds(Int.random(in: 1...(5 << attempt))))
            }
        }
        throw PostgresError(.unavailable, "the transaction could not be carried out")
    }

    /// Runs a statement that can take long, on a connection of its own. Cancelling the task stops it on the server.
    public func slowQuery(_ statement: Statement) async throws -> PostgresResult {
        try await exclusively { session in try await session.query(statement) }
    }

    /// Runs several statements without parameters, on a connection made for them.
    public func execute(script: String) async throws {
        try await Self.blocking { [configuration] in try BlockingConnection(configuration).run(script) }
    }

    /// Listens to channels, on a connection of its own that is made anew whenever it breaks.
    public func listen(channels: [String]) -> AsyncStream<PostgresEvent> {
        let id = listenerCounter.add(1, ordering: .relaxed).newValue
        let (stream, continuation) = AsyncStream.makeStream(of: PostgresEvent.self)
        continuation.onTermination = { [loop] _ in loop.send(.unlisten(id: id)) }
        if !loop.send(.listen(id: id, channels: channels, continuation)) { continuation.finish() }
        return stream
    }

    /// Announces something to everybody who listens.
    public func notify(channel: String, payload: String) async throws {
        _ = try await query("SELECT pg_notify($1, $2)", [.text(channel), .text(payload)])
    }

    /// How the client stands.
    public var statistics: PostgresStatistics { loop.statistics }

    static func first(_ results: [PostgresResult]) throws -> PostgresResult {
        guard let result = results.first else { throw PostgresError(.server, "no result") }
        return result
    }

    private static func blocking<R: Sendable>(_ work: @escaping @Sendable () throws -> R) async throws -> R {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(with: Result { try work() }) }
        }
    }
}

/// A connection that one caller has alone.
public final class PostgresSession: Sendable {
    private let id: Int
    private let loop: InputOutputLoop

    init(id: Int, loop: InputOutputLoop) {
        self.id = id
        self.loop = loop
    }

    /// Runs one statement.
    ///
    /// - Throws: `PostgresError`.
    public func query(_ sql: String, _ parameters: [PostgresParameter] = []) async throws -> PostgresResult {
        try await query(Statement(sql, parameters))
    }

    /// Runs one statement. Cancelling the task stops it on the server.
    ///
    /// - Throws: `PostgresError`.
    public func query(_ statement: Statement) async throws -> PostgresResult {
        try PostgresClient.first(await group([statement]))
    }

    /// Runs statements in one round trip; outside a transaction all of them or none are kept.
    ///
    /// - Throws: `PostgresError`, the first one.
    public func group(_ statements: [Statement]) async throws -> [PostgresResult] {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let work = Work(statements, isReadOnly: false, isAutocommit: false, deadline: .now) {
                    continuation.resume(with: $0.mapError { $0 as any Error })
                }
                if !loop.send(.submitOn(id, work)) {
                    continuation.resume(throwing: PostgresError(.shutdown, "the client was shut down"))
                }
            }
        } onCancel: {
            loop.send(.cancel(id))
        }
    }
}

/// A connection that waits: for start-up, where there is nothing else to do.
struct BlockingConnection {
    private let configuration: PostgresConfiguration

    init(_ configuration: PostgresConfiguration) { self.configuration = configuration }

    /// Connects, runs a script and closes.
    ///
    /// - Throws: `PostgresError`.
    func run(_ script: String) throws {
        guard let handle = PQconnectdb(configuration.connectionString) else {
            throw PostgresError(.unavailable, "out of memory")
        }
        defer { PQfinish(handle) }
        guard PQstatus(handle) == CONNECTION_OK else {
            throw PostgresError(.unavailable, String(cString: PQerrorMessage(handle)), sqlState: "08001")
        }
        PQsetNoticeProcessor(handle, { _, _ in }, nil)
        let result = PQexec(handle, script)
        defer { PQclear(result) }
        let status = PQresultStatus(result)
        guard status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK else {
            let state = PQresultErrorField(result, Int32(UInt8(ascii: "C"))).map { String(cString: $0) } ?? ""
            throw PostgresError(.server, String(cString: PQerrorMessage(handle)), sqlState: state)
        }
    }
}
