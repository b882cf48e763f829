/// How to reach PostgreSQL, and how many connections to keep.
public struct PostgresConfiguration: Sendable {
    /// A libpq URI or connection string; every libpq parameter works, `sslmode` and certificates included.
    public var connectionString: String
    /// Connections of the shared pool, on which short statements of all callers are pipelined.
    public var sharedConnections = 4
    /// How many connections are shared out: half as many each for transactions, batches that are transactions, reads that
    /// can be slow, and statements that wait for locks; a quarter each for slow reads that get little time, and for
    /// administration. They are opened on demand, and closed after a minute without use.
    public var exclusiveConnections = 8
    /// The most statements of ``PostgresClient/heavyQuery(_:)`` at once, each on a connection of its own beside the others.
    public var heavyConnections = 1
    /// How long one statement may run before the server stops it (SQLSTATE 57014); zero for as long as it likes. When
    /// nothing of the server is heard for five seconds more, the connection is given up as lost.
    public var statementTimeout: Duration = .seconds(30)
    /// How long a statement on a shared connection waits for a lock. A statement that waits there keeps others waiting.
    public var sharedLockTimeout: Duration = .milliseconds(20)
    /// How long a statement may run on a shared connection, where others wait behind it, before it is stopped and carried out
    /// on a connection of its own. Reads that may take long are stopped sooner. Without ``statementTimeout`` there is no limit.
    public var sharedStatementTimeout: Duration = .milliseconds(200)
    /// How long a statement waits for a lock on a connection of its own (SQLSTATE 55P03).
    public var lockTimeout: Duration = .seconds(5)
    /// How long a transaction of ``PostgresClient/transaction(isolation:retries:purpose:conflictKey:_:)`` may take as a whole.
    public var transactionTimeout: Duration = .seconds(10)
    /// By how many bytes the process may grow while the rows of one result come, before the statement is stopped. It is
    /// looked at now and then, so that a result can take a little more.
    public var resultLimit = 256 * 1024 * 1024
    /// How long a request waits for a connection that others have, before it fails as busy.
    public var connectionWait: Duration = .seconds(3)
    /// How long a request waits for a connection to be made before it fails as unavailable.
    public var connectTimeout: Duration = .seconds(10)
    /// Whether it fails as unavailable as soon as the server refuses a connection, since there is another to turn to.
    public var failsWhenRefused = false
    /// The name that `pg_stat_activity` shows, unless the connection string says another.
    public var applicationName = "roost"
    /// The most prepared statements that a connection keeps; the one used longest ago gives way.
    public var preparedStatementLimit = 512
    /// Whether connections lead to a pooler that lends a session of the server for one transaction at a time. Nothing is
    /// kept in a session then: statements are not prepared, notifications do not arrive, and the time limits of
    /// statements and locks are those of the role.
    public var isBehindTransactionPooler = false
    /// Whether such a pooler knows prepared statements again in whatever session it lends.
    public var poolerKeepsStatements = false
    /// The address of the server itself where ``connectionString`` leads to a pooler: for what needs a session, which are
    /// notifications, and all that is done on connections for administration.
    public var directConnectionString: String?

    /// Whether the server may be a standby, to which nothing is written: there are no notifications then.
    public var onlyReads = false
    /// Whether a server is refused that has not got as far in the history of the database as one that it was connected to before: an
    /// old primary that came back.
    public var checksTimeline = false

    /// Whether changes that are sent together are one only inside of a transaction with a beginning and an end of its own.
    public var changesInBlocks = false

    /// Whether a connection for administration is a session of the server.
    public var hasSessions: Bool { !isBehindTransactionPooler || directConnectionString != nil }

    /// The same settings for the server itself, where its address is known.
    public var direct: PostgresConfiguration {
        guard let directConnectionString else { return self }
        var configuration = self
        configuration.connectionString = directConnectionString
        configuration.directConnectionString = nil
        configuration.isBehindTransactionPooler = false
        return configuration
    }

    /// The same for one session of the server, whose statements may take as long as they like: those that build indexes.
    public var forBuilding: PostgresConfiguration {
        var configuration = direct
        configuration.sharedConnections = 1
        configuration.exclusiveConnections = 1
        configuration.statementTimeout = .zero
        return configuration
    }

    /// The most connections there can be at a time, those that listen included: for caches, and for live queries.
    public var mostConnections: Int { sharedConnections + PoolPurpose.allCases.map(limit).reduce(0, +) + 2 }

    /// Settings for a server, with sensible numbers for everything else.
    public init(connectionString: String) { self.connectionString = connectionString }
}
