import JSON
import Limits
import Logging
import ParseModel
import Postgres

/// Reads and writes the objects of all classes, and Roost's own tables, in PostgreSQL.
///
/// Doesn't check permissions. Callers pass them as conditions with each call.
public struct ObjectStore: Sendable {
    public let client: PostgresClient
    /// The transaction that all calls are part of, or nil if each call runs on its own.
    private(set) var session: PostgresSession?
    /// The read replicas, or nil in a transaction, on a replica, or if none are configured.
    private(set) var replicas: ReplicaSet?
    public let catalog: SchemaCatalog
    /// PostgreSQL's last message about a lack of resources or a failed disk.
    public let trouble = DatabaseTrouble()
    let logger: Logger

    /// - Parameter replicas: Replicas of the database, for reads that request one.
    public init(client: PostgresClient, replicas: ReplicaSet? = nil, catalog: SchemaCatalog, logger: Logger) {
        self.client = client
        self.replicas = replicas
        self.catalog = catalog
        self.logger = logger
    }

    public var mails: MailRows { MailRows(store: self) }
    public var jobs: JobRows { JobRows(store: self) }
    public var requests: RequestRows { RequestRows(store: self) }
    public var accounts: AccountRows { AccountRows(store: self) }
    public var sessions: SessionRows { SessionRows(store: self) }
    public var imports: ImportRows { ImportRows(store: self) }
    public var settings: SettingsRows { SettingsRows(store: self) }
    public var aggregates: Aggregates { Aggregates(store: self) }
    public var audit: AuditRows { AuditRows(store: self) }
    public var indexSizes: IndexSizeRows { IndexSizeRows(store: self) }
    public var trash: TrashRows { TrashRows(store: self) }

    var isInTransaction: Bool { session != nil }

    /// Runs calls in one transaction, or in the current one if there is one. Either all or none of them take effect.
    ///
    /// - Parameters:
    ///   - purpose: The kind of transaction, which decides its connection pool and time limit.
    ///   - conflictKey: A name for the rows that `body` locks first, or nil if unknown. Of the transactions with the
    ///     same name, only one occupies a connection at a time.
    ///   - body: Receives a store whose calls are all part of the transaction. It may run several times. An error that
    ///     it throws rolls back the transaction.
    public func transaction<R: Sendable>(
        _ purpose: PoolPurpose = .transactions, conflictKey: String? = nil,
        _ body: @escaping @Sendable (ObjectStore) async throws -> R
    ) async throws -> R {
        if session != nil { return try await body(self) }
        do {
            do {
                return try await attempt(purpose, conflictKey, body)
            } catch let stale as StaleTransaction {
                if let index = RefusingIndexes.refusing(stale.cause) {
                    try await RefusingIndexes(store: self).drop(index)
                } else {
                    try await catalog.reload()
                }
                return try await attempt(purpose, conflictKey, body)
            }
        } catch let error as StaleTransaction {
            throw failure(error.cause)
        } catch let error as PostgresError {
            throw failure(error)
        }
    }

    private func attempt<R: Sendable>(
        _ purpose: PoolPurpose, _ conflictKey: String?,
        _ body: @escaping @Sendable (ObjectStore) async throws -> R
    ) async throws -> R {
        // Even after an error the commit may have succeeded, if only its response got lost.
        defer { recordWrite() }
        return try await client.transaction(purpose: purpose, conflictKey: conflictKey) { session in
            var store = self
            (store.session, store.replicas) = (session, nil)
            return try await body(store)
        }
    }

    /// Runs one statement, within the current transaction if there is one.
    ///
    /// - Throws: `PostgresError`.
    public func query(_ sql: String, _ parameters: [PostgresParameter] = [], readOnly: Bool = false) async throws
        -> PostgresResult
    {
        try await query(Statement(sql, parameters), readOnly: readOnly)
    }

    /// Runs one statement, within the current transaction if there is one.
    ///
    /// - Throws: `PostgresError`.
    public func query(_ statement: Statement, readOnly: Bool = false) async throws -> PostgresResult {
        try await timed(statement.sql) {
            if let session { return try await session.query(statement) }
            return try await client.query(statement, readOnly: readOnly)
        }
    }

    /// Runs statements in one round trip. Either all or none of them take effect.
    package func group(_ statements: [Statement], readOnly: Bool = false) async throws -> [PostgresResult] {
        try await timed(statements.first?.sql) {
            if let session { return try await session.group(statements) }
            defer { if !readOnly { recordWrite() } }
            return try await client.group(statements, readOnly: readOnly)
        }
    }

    /// Runs the statements that add or change one object, all or none. Outside a transaction they may share one with
    /// other changes, unless `alone` is true, the class has unique fields, or Citus manages its table.
    ///
    /// - Parameter alone: Whether the statements may take long, so that no other change should wait for them.
    func change(_ schema: ClassSchema, _ objectId: String, _ statements: [Statement], alone: Bool = false) async throws
        -> [PostgresResult]
    {
        if session != nil {
            do {
                return try await group(statements)
            } catch let error as PostgresError where RefusingIndexes.refusing(error) != nil {
                throw StaleTransaction(cause: error)
            }
        }
        let clock = StatementClock(statements.first?.sql)
        // Even after an error the commit may have succeeded, if only its response got lost.
        defer { recordWrite() }
        do {
            let results =
                if catalog.changesInBlocks(schema) {
                    try await client.block(conflictKey: objectId, statements)
                } else if alone {
                    try await client.changeAside(conflictKey: objectId, statements)
                } else if schema.hasUniqueFields {
                    try await client.group(statements, conflictKey: objectId)
                } else {
                    try await client.change(conflictKey: objectId, statements)
                }
            clock.stop()
            return results
        } catch {
            clock.stop()
            guard let index = (error as? PostgresError).flatMap(RefusingIndexes.refusing) else { throw error }
            let indexes = RefusingIndexes(store: self)
            try await indexes.drop(index)
            return try await indexes.removing { try await client.group(statements, conflictKey: objectId) }
        }
    }

    /// Runs `body` and records a slow statement for the log and, if it has a query shape, for index advice.
    ///
    /// - Parameters:
    ///   - shape: The query shape, evaluated only for slow statements.
    ///   - isTrial: Whether a failure isn't recorded, because the query is retried in another form.
    func timed<R>(
        _ sql: String?, _ shape: @autoclosure () -> QueryShape? = nil, isTrial: Bool = false,
        _ body: () async throws -> R
    ) async throws -> R {
        let clock = StatementClock(sql)
        func stop(_ error: (any Error)? = nil) {
            guard let duration = clock.stop(), let notes = catalog.findNotes, let shape = shape() else { return }
            notes.record(shape, took: duration, isTimeout: (error as? PostgresError)?.isTimeout == true)
        }
        do {
            let result = try await body()
            stop()
            return result
        } catch {
            if !isTrial { stop(error) }
            throw error
        }
    }

    /// Runs `body` and converts database errors to errors for the client.
    package func convertingErrors<R>(_ body: () async throws -> R) async throws -> R {
        do {
            return try await body()
        } catch let error as PostgresError {
            throw failure(error)
        }
    }

    /// The error for a request that would wait too long for a database connection, memory or other writes.
    public static let tooBusy = ServiceUnavailable(
        "The database is overloaded or doesn't respond. Please try again later.")

    /// Converts a database error to the error for the client. Logs the details if the server or database is at fault.
    public func failure(_ error: PostgresError) -> any Error {
        if error.kind == .busy { return Self.tooBusy }
        if error.kind == .tooLarge { return AnswerSize.tooMuchMemory }
        let answer = DatabaseFailure.parseError(error)
        if case .cancelled = error.kind {
            // The client has disconnected or the server is stopping, so this isn't a failure of the database.
            logger.debug("statement cancelled", metadata: ["message": "\(error.message)"])
        } else if answer.code == ParseError.internalServerError || error.sqlState.hasPrefix("42") {
            // SQLSTATE class 42 is a faulty statement, so the server is at fault even if the error blames the request.
            var fields: Logger.Metadata = ["sqlstate": "\(error.sqlState)", "kind": "\(error.kind)"]
            if case .server = error.kind {
                if DatabaseTrouble.isTrouble(error) {
                    trouble.record(error)
                    fields["reason"] = "\(error.message)"
                }
                // Other messages of PostgreSQL may quote client data, so they are logged at debug level only.
                fields["table"] = "\(error.table ?? "")"
                fields["constraint"] = "\(error.constraint ?? "")"
                logger.debug("PostgreSQL error", metadata: ["message": "\(error.message)"])
            } else {
                fields["reason"] = "\(error.message)"
            }
            logger.error("database query failed", metadata: fields)
        }
        return answer
    }
}

/// Measures a statement and records a slow one for the log.
struct StatementClock {
    private let sql: String?
    private let start = ContinuousClock.now

    /// The duration from which a statement counts as slow.
    private static let notable = Duration.milliseconds(20)

    init(_ sql: String?) { self.sql = sql }

    /// Stops the clock. Returns the duration of a slow statement, or nil if it was fast or has no SQL.
    @discardableResult
    func stop() -> Duration? {
        let duration = ContinuousClock.now - start
        guard let sql, duration >= Self.notable else { return nil }
        CallerPresence.current?.record(slowStatement: sql)
        return duration
    }
}
