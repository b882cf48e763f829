import JSON
import Logging
import ParseModel
import Postgres
import Tasks

/// Objects of classes, in PostgreSQL: every read and write of the server goes through here.
///
/// It knows what a class is, but not who may do what: conditions of permission arrive as part of each call.
public struct ObjectStore: Sendable {
    /// The connections.
    public let client: PostgresClient
    /// The transaction that everything is part of; nil when each call stands for itself.
    let session: PostgresSession?
    /// The replicas; nil when there is none.
    let replicas: ReplicaSet?
    /// The schemas.
    public let catalog: SchemaCatalog
    /// Why PostgreSQL could not write last.
    public let trouble: DatabaseTrouble
    let logger: Logger

    /// Makes a store on an open client.
    ///
    /// - Parameter replicas: Replicas of the database, for reads that ask for one.
    public init(client: PostgresClient, replicas: ReplicaSet? = nil, catalog: SchemaCatalog, logger: Logger) {
        self.init(
            client: client, replicas: replicas, catalog: catalog, session: nil, trouble: DatabaseTrouble(),
            logger: logger)
    }

    private init(
        client: PostgresClient, replicas: ReplicaSet?, catalog: SchemaCatalog, session: PostgresSession?,
        trouble: DatabaseTrouble, logger: Logger
    ) {
        self.trouble = trouble
        self.client = client
        self.replicas = replicas
        self.catalog = catalog
        self.session = session
        self.logger = logger
    }

    /// Whether this is part of a transaction.
    /// The mails that wait to be sent.
    public var mails: MailRows { MailRows(store: self) }
    /// Jobs and their schedules.
    public var jobs: JobRows { JobRows(store: self) }
    /// Counted and named requests.
    public var requests: RequestRows { RequestRows(store: self) }
    /// What only the server reads and writes of users.
    public var accounts: AccountRows { AccountRows(store: self) }
    /// User sessions.
    public var sessions: SessionRows { SessionRows(store: self) }

    /// Many rows of one class at once.
    public var imports: ImportRows { ImportRows(store: self) }

    /// Settings of the deployment, and webhooks.
    public var settings: SettingsRows { SettingsRows(store: self) }

    /// What is computed of many objects at once.
    public var aggregates: Aggregates { Aggregates(store: self) }

    /// Notifications that wait to be sent.
    public var pushes: PushRows { PushRows(store: self) }

    /// Console operators.
    public var operators: OperatorRows { OperatorRows(store: self) }
    /// Sessions and tickets of the console.
    public var operatorSessions: OperatorSessionRows { OperatorSessionRows(store: self) }
    /// Who changed what by the console.
    public var audit: AuditRows { AuditRows(store: self) }
    /// How many objects classes have.
    public var classCounts: ClassCountRows { ClassCountRows(store: self) }
    /// Index sizes.
    public var indexSizes: IndexSizeRows { IndexSizeRows(store: self) }
    /// How many objects point to one.
    public var references: ReferenceRows { ReferenceRows(store: self) }
    /// What operators removed.
    public var trash: TrashRows { TrashRows(store: self) }

    /// Views of classes that operators saved.
    public var views: ViewRows { ViewRows(store: self) }

    var isInTransaction: Bool { session != nil }

    /// Runs calls in one transaction, all or nothing.
    ///
    /// - Parameters:
    ///   - purpose: What it is for.
    ///   - conflictKey: A name for what it locks first, where that is known: others who do so wait without a
    ///     connection.
    ///   - body: Is given a store whose every call is part of the transaction; what it throws undoes all of them.
    public func transaction<R: Sendable>(
        _ purpose: TransactionPurpose = .request, conflictKey: String? = nil,
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
        _ purpose: TransactionPurpose, _ conflictKey: String?,
        _ body: @escaping @Sendable (ObjectStore) async throws -> R
    ) async throws -> R {
        // Also after an error, which may say no more than that the answer was lost.
        defer { replicas?.ownWrites.note() }
        return try await client.transaction(purpose: purpose, conflictKey: conflictKey) { session in
            try await body(
                ObjectStore(
                    client: client, replicas: nil, catalog: catalog, session: session, trouble: trouble, logger: logger)
            )
        }
    }

    /// Runs one statement.
    ///
    /// - Throws: `PostgresError`.
    public func query(_ sql: String, _ parameters: [PostgresParameter] = [], readOnly: Bool = false) async throws
        -> PostgresResult
    {
        try await noting(sql) {
            if let session { return try await session.query(sql, parameters) }
            return try await client.query(sql, parameters, readOnly: readOnly)
        }
    }

    /// Runs one statement.
    ///
    /// - Throws: `PostgresError`.
    public func query(_ statement: Statement, readOnly: Bool = false) async throws -> PostgresResult {
        try await noting(statement.sql) {
            if let session { return try await session.query(statement) }
            return try await client.query(statement, readOnly: readOnly)
        }
    }

    /// Runs statements as one: all or none, in one round trip.
    func group(_ statements: [Statement], readOnly: Bool = false) async throws -> [PostgresResult] {
        try await noting(statements.first?.sql) {
            if let session { return try await session.group(statements) }
            defer { if !readOnly { replicas?.ownWrites.note() } }
            return try await client.group(statements, readOnly: readOnly)
        }
    }

    /// Runs statements that add or change one object as one. Unless objects of the class must be unique in some
    /// field, or lie on other servers, they may share a transaction with other changes.
    ///
    /// - Parameter alone: Whether they may take long, so that no other change should wait for them.
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
        // Also after an error, which may say no more than that the answer was lost.
        defer { replicas?.ownWrites.note() }
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

    /// Notes a slow statement for the log and, if its shape is known, for advice on indexes.
    ///
    /// - Parameters:
    ///   - shape: Made only for a slow statement.
    ///   - isTrial: Whether it is asked in another way when it takes long.
    func noting<R>(
        _ sql: String?, _ shape: @autoclosure () -> QueryShape? = nil, isTrial: Bool = false,
        _ body: () async throws -> R
    ) async throws -> R {
        let clock = StatementClock(sql)
        func stop(_ error: (any Error)? = nil) {
            guard let duration = clock.stop(), let notes = catalog.findNotes, let shape = shape() else { return }
            notes.note(shape, took: duration, isTimeout: (error as? PostgresError)?.sqlState == "57014")
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

    /// What a caller gets for whom there is no connection.
    public static let tooBusy = ServiceUnavailable("The database is overloaded. Please try again later.")

    /// The error for a failed statement; what the client does not get goes to the log.
    public func failure(_ error: PostgresError) -> any Error {
        if error.kind == .busy { return Self.tooBusy }
        if error.kind == .tooLarge { return AnswerSize.tooMuchMemory }
        let answer = DatabaseFailure.parseError(error)
        if case .cancelled = error.kind {
            // The client has left: nothing is wrong with the database.
            logger.debug("statement timed out", metadata: ["message": "\(error.message)"])
        } else if answer.code == ParseError.internalServerError || error.sqlState.hasPrefix("42") {
            // A statement that PostgreSQL cannot read is a fault of the server also where the request is blamed for it.
            var fields: Logger.Metadata = ["sqlstate": "\(error.sqlState)", "kind": "\(error.kind)"]
            if case .server = error.kind {
                if DatabaseTrouble.isTrouble(error) {
                    trouble.record(error)
                    fields["reason"] = "\(error.message)"
                }
                // Other words of PostgreSQL quote what clients sent.
                fields["table"] = "\(error.table ?? "")"
                fields["constraint"] = "\(error.constraint ?? "")"
                logger.debug("PostgreSQL error", metadata: ["message": "\(error.message)"])
            } else {
                fields["reason"] = "\(error.message)"
            }
            logger.error("database failure", metadata: fields)
        }
        return answer
    }
}

/// Measures a statement, and notes a slow one for the log.
struct StatementClock {
    private let sql: String?
    private let start = ContinuousClock.now

    /// Statements are slow from this duration on.
    private static let notable = Duration.milliseconds(20)

    init(_ sql: String?) { self.sql = sql }

    /// Ends the measurement. Returns the duration of a slow statement.
    @discardableResult
    func stop() -> Duration? {
        let duration = ContinuousClock.now - start
        guard let sql, duration >= Self.notable else { return nil }
        CallerPresence.current?.note(slowStatement: sql)
        return duration
    }
}
