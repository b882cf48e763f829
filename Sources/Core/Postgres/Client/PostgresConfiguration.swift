/// The address, pool sizes and time limits of a PostgreSQL client.
public struct PostgresConfiguration: Sendable {
    /// A libpq URI or connection string. Supports all libpq parameters, including `sslmode` and certificates.
    public var connectionString: String
    /// The number of connections shared by the short statements of all callers.
    public var sharedConnections = 4
    /// The base and maximum size of the other pools: half of it each for transactions, batches, slow reads, slow writes
    /// and lock waits, a quarter for time-limited reads, a quarter but at least two for administration, and two for
    /// exports. Connections are opened on demand and closed after a minute without use.
    public var exclusiveConnections = 8
    /// The maximum number of concurrent calls of ``PostgresClient/heavyQuery(_:)``, each on an additional connection.
    public var heavyConnections = 1
    /// The time after which the server stops a statement (SQLSTATE 57014), or zero for no limit. If the server stays
    /// silent for 5 more seconds, the connection counts as lost.
    public var statementTimeout: Duration = .seconds(30)
    /// The time that a statement on a shared connection may wait for a lock, while others wait behind it.
    public var sharedLockTimeout: Duration = .milliseconds(20)
    /// The time after which a statement on a shared connection is stopped and run again on a separate one. Reads of
    /// unknown cost are stopped sooner. Doesn't apply if ``statementTimeout`` is zero.
    public var sharedStatementTimeout: Duration = .milliseconds(200)
    /// The time that a statement on a separate connection may wait for a lock before it fails (SQLSTATE 55P03). Doesn't
    /// apply to administration and exports.
    public var lockTimeout: Duration = .seconds(5)
    /// The total time limit of ``PostgresClient/transaction(isolation:retries:purpose:conflictKey:_:)``, with all
    /// attempts. Doesn't apply to administration and exports.
    public var transactionTimeout: Duration = .seconds(10)
    /// The number of bytes by which the process may grow while a result arrives, before its statement is stopped.
    /// Checked at intervals, so a result can take slightly more.
    public var resultLimit = 256 * 1024 * 1024
    /// The time that a request waits for connections in use before it fails as `busy`. Administration, heavy reads and
    /// exports wait longer.
    public var connectionWait: Duration = .seconds(3)
    /// The time limit for opening a connection, and for waiting for one before a request fails as `unavailable`.
    public var connectTimeout: Duration = .seconds(10)
    /// Whether requests fail as `unavailable` as soon as the server refuses a connection, because the caller has
    /// another server to try.
    public var failsWhenRefused = false
    /// The name shown in `pg_stat_activity`, unless the connection string or `PGAPPNAME` sets another.
    public var applicationName = "roost"
    /// The maximum number of prepared statements per connection. The least recently used one is evicted.
    public var preparedStatementLimit = 512
    /// Whether the connections lead to a transaction pooler. If so, the role's statement and lock timeouts apply,
    /// statements are prepared only with ``poolerKeepsStatements``, and notifications need ``directConnectionString``.
    public var isBehindTransactionPooler = false
    /// Whether the transaction pooler supports prepared statements across sessions.
    public var poolerKeepsStatements = false
    /// The server's own address if ``connectionString`` leads to a pooler. Used for notifications, administration and
    /// exports, which need a session.
    public var directConnectionString: String?

    /// Whether the server may be a read-only standby. Standbys send no notifications.
    public var onlyReads = false
    /// Whether to reject servers on an older timeline than one seen before, which are former primaries that came back.
    public var checksTimeline = false

    /// Whether statements take effect together only in an explicit transaction, as with Citus.
    public var changesInBlocks = false

    /// Whether administration connections keep their server session.
    public var hasSessions: Bool { !isBehindTransactionPooler || directConnectionString != nil }

    /// The same settings with the server's own address, or unchanged if that is unknown.
    public var direct: PostgresConfiguration {
        guard let directConnectionString else { return self }
        var configuration = self
        configuration.connectionString = directConnectionString
        configuration.directConnectionString = nil
        configuration.isBehindTransactionPooler = false
        return configuration
    }

    /// The same settings for building indexes: direct connections, a minimal number of them, and no statement timeout.
    public var forBuilding: PostgresConfiguration {
        var configuration = direct
        configuration.sharedConnections = 1
        configuration.exclusiveConnections = 1
        configuration.statementTimeout = .zero
        return configuration
    }

    /// The maximum number of connections, including two that listen: for caches and for live queries.
    public var maxConnections: Int { sharedConnections + PoolPurpose.allCases.map(limit).reduce(0, +) + 2 }

    public init(connectionString: String) { self.connectionString = connectionString }
}
