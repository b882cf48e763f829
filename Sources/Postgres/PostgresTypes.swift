/// How to reach PostgreSQL, and how many connections to keep.
public struct PostgresConfiguration: Sendable {
    /// A libpq URI or connection string; every libpq parameter works, `sslmode` and certificates included.
    public var connectionString: String
    /// Connections of the shared lane, on which short statements of everybody are pipelined.
    public var sharedConnections = 4
    /// The most connections of the exclusive lane: transactions, and statements that can be slow.
    public var exclusiveConnections = 8
    /// How long one statement may run before the server stops it (SQLSTATE 57014).
    public var statementTimeout: Duration = .seconds(30)
    /// How long a request waits for a connection before it fails as unavailable.
    public var connectTimeout: Duration = .seconds(10)
    /// The name that `pg_stat_activity` shows.
    public var applicationName = "roost"
    /// The most prepared statements that a connection keeps; the one used longest ago gives way.
    public var preparedStatementLimit = 512

    /// Settings for a server, with sensible numbers for everything else.
    public init(connectionString: String) { self.connectionString = connectionString }
}

/// One statement with its parameters.
public struct Statement: Sendable {
    /// The SQL, with `$1`, `$2`… for the parameters.
    public var sql: String
    /// The parameters, in the order of their numbers.
    public var parameters: [PostgresParameter]

    /// Makes a statement.
    public init(_ sql: String, _ parameters: [PostgresParameter] = []) {
        self.sql = sql
        self.parameters = parameters
    }
}

/// Why a request to PostgreSQL failed.
public struct PostgresError: Error, Sendable {
    /// What kind of failure it was.
    public enum Kind: Sendable {
        /// The server refused the statement; nothing of it was kept.
        case server
        /// The connection broke after the statement was sent: whether it was carried out is not known.
        case connectionLost
        /// No connection could be had in time; the statement was never sent.
        case unavailable
        /// The caller went away.
        case cancelled
        /// The client is being shut down.
        case shutdown
    }

    /// What kind of failure it was.
    public var kind: Kind
    /// The five characters of SQLSTATE; empty when the server did not speak.
    public var sqlState: String
    /// The server's words.
    public var message: String
    /// More of the server's words.
    public var detail: String?
    /// The violated constraint or unique index.
    public var constraint: String?
    /// The table that the error is about.
    public var table: String?
    /// The column that the error is about.
    public var column: String?

    /// Whether a prepared statement no longer fits its tables, or is not there any more; making it anew helps.
    var isStalePlan: Bool { sqlState == "0A000" && message.contains("cached plan") || sqlState == "26000" }

    /// Whether the server undid the transaction for a reason that is gone when it is tried again.
    var isTransient: Bool { ["40001", "40P01"].contains(sqlState) || isStalePlan }

    init(_ kind: Kind, _ message: String, sqlState: String = "") {
        self.kind = kind
        self.message = message
        self.sqlState = sqlState
    }
}

/// What a listening connection tells.
public enum PostgresEvent: Sendable {
    /// The connection stands (again). What was announced in between is lost.
    case connected
    /// Somebody announced something.
    case notification(channel: String, payload: String)
    /// The connection broke; it is being made anew.
    case disconnected
}

/// How the client stands at one moment.
public struct PostgresStatistics: Sendable {
    /// Connections that are open.
    public var connections = 0
    /// Requests that were sent and not answered yet.
    public var inFlight = 0
    /// Requests that wait for a connection.
    public var waiting = 0
    /// Prepared statements on all connections.
    public var preparedStatements = 0
    /// Connections that were made anew after a failure.
    public var reconnects = 0
}

/// How much a transaction sees of others.
public enum Isolation: String, Sendable {
    case readCommitted = "READ COMMITTED"
    case repeatableRead = "REPEATABLE READ"
    case serializable = "SERIALIZABLE"
}

/// Text that becomes part of SQL.
public enum SQL {
    /// A name in double quotes: the one way in which names of classes and fields enter a statement.
    ///
    /// A NUL, which no name can have, becomes U+FFFD.
    public static func identifier(_ name: String) -> String {
        "\"" + name.replacing("\"", with: "\"\"").replacing("\0", with: "\u{FFFD}") + "\""
    }

    /// Text in single quotes, for statements that take no parameters.
    public static func literal(_ text: String) -> String {
        let quoted = "'" + text.replacing("'", with: "''").replacing("\0", with: "\u{FFFD}") + "'"
        return text.contains("\\") ? "E" + quoted.replacing("\\", with: "\\\\") : quoted
    }
}
