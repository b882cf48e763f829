import CLibpq

/// The failure of a request to PostgreSQL.
public struct PostgresError: Error, Sendable, CustomStringConvertible {
    public enum Kind: Sendable {
        /// The server or the client rejected or stopped the statement, which had no effect.
        case server
        /// The connection broke, or the server became read-only. A statement that was sent may have taken effect.
        case connectionLost
        /// No connection could be opened in time. The statement had no effect.
        case unavailable
        /// Connections for this work stayed in use, or too many reads waited for memory. The statement was not sent.
        case busy
        /// The result exceeded the memory limit. The statement was stopped.
        case tooLarge
        /// The calling task was cancelled, or its caller left. A statement that was already sent may have taken effect.
        case cancelled
        /// The client is shutting down or has ended.
        case shutdown
    }

    public var kind: Kind
    /// The SQLSTATE, or an empty string if neither the server nor the client set one.
    public var sqlState: String
    /// The message of the server or of the driver.
    public var message: String
    /// The server's detail message.
    public var detail: String?
    /// The violated constraint or unique index.
    public var constraint: String?
    /// The table that the error is about.
    public var table: String?
    /// Whether a prepared statement is outdated or missing, so that preparing it again helps.
    package var isStaleStatement = false
    /// Whether a read was stopped or not sent, because it must not use that connection. The caller repeats it on
    /// another kind of connection.
    package var isDetour = false

    public init(_ kind: Kind, _ message: String, sqlState: String = "") {
        self.kind = kind
        self.message = message
        self.sqlState = sqlState
    }

    init(_ result: OpaquePointer) {
        func field(_ code: Unicode.Scalar) -> String? {
            PQresultErrorField(result, Int32(code.value)).map { String(cString: $0) }
        }
        self.init(
            .server, field("M") ?? PQresultErrorMessage(result).map { String(cString: $0).trimmed } ?? "",
            sqlState: field("C") ?? "")
        detail = field("D")
        constraint = field("n")
        table = field("t")
        // The message may be in any language, unlike the name of the function that raised the error.
        let function = field("R")
        isStaleStatement =
            sqlState == "26000" || (sqlState == "0A000" && function == "RevalidateCachedQuery")
            // PostgreSQL reports an internal error for rows of a table that was dropped and created again.
            || (sqlState == "XX000" && function == "expandRTE")
    }

    package static let cancelled = PostgresError(.cancelled, "the task was cancelled")
    /// The error for a change that needs a separate connection, because its row was recently locked or slow to change.
    static let rowIsLocked = PostgresError(.server, "another request is already waiting for the row", sqlState: "55P03")
    static let tookTooLong = PostgresError(.server, "the transaction exceeded its time limit", sqlState: "57014")
    /// The error for a read that was stopped because other reads waited too long for memory.
    static let stoppedForOthers = PostgresError(
        .server, "the read was stopped because other reads waited too long for memory", sqlState: "57014")
    static let tooLarge = PostgresError(.tooLarge, "the result takes too much memory")
    /// The error for a read that must not use its connection.
    package static let detour: PostgresError = {
        var error = PostgresError(.server, "the statement is not allowed on this connection", sqlState: "57014")
        error.isDetour = true
        return error
    }()
    static let noResult = PostgresError(.server, "the statement returned no result")
    static let shutDown = PostgresError(.shutdown, "the PostgreSQL client was shut down")

    /// Returns the error for a failed connection, from libpq's message.
    ///
    /// libpq provides no error fields here, but its verbose message is `FATAL:  3D000: database "x" does not exist`,
    /// followed by a line with the location in the server's source.
    static func unavailable(_ verbose: String) -> PostgresError {
        let lines = verbose.split(separator: "\n").filter { !$0.hasPrefix("LOCATION:") }.joined(separator: "\n")
        // In these messages, a colon and two spaces precede only the code.
        let code = #/:  ([0-9A-Z]{5}): /#
        let message = lines.replacing(code, with: ":  ")
        return PostgresError(
            .unavailable, message.isEmpty ? "no connection to PostgreSQL" : message,
            sqlState: lines.matches(of: code).last.map { String($0.output.1) } ?? "")
    }

    /// Whether a pooler rejected a connection parameter, such as the server options.
    var isRefusedParameter: Bool { sqlState == "08P01" && message.contains("startup parameter") }

    /// Whether the statement timed out waiting for a lock. It had no effect.
    package var isLockTimeout: Bool { kind == .server && sqlState == "55P03" }

    /// Whether the server stopped the statement because of its time limit or a cancel request. It had no effect.
    var isOverdue: Bool { kind == .server && sqlState == "57014" && !isDetour }

    /// Whether the statement exceeded a time limit or was cancelled, but wasn't stopped to free memory for others.
    package var isTimeout: Bool { isOverdue && message != Self.stoppedForOthers.message }

    /// Whether the server is read-only, such as a primary that became a standby. The statement had no effect.
    var isFromReadOnlyServer: Bool { sqlState == "25006" }

    /// Whether the server rolled the transaction back because of another one, so that a retry can help.
    var isConflict: Bool { kind == .server && (sqlState == "40001" || sqlState == "40P01") }

    /// The message and the SQLSTATE. The detail is left out, because it may contain row values.
    public var description: String { sqlState.isEmpty ? message : "\(message) (SQLSTATE \(sqlState))" }
}

extension String {
    /// The text without trailing white space. libpq's messages end with a newline.
    var trimmed: String {
        var view = self[...]
        while let last = view.last, last.isWhitespace { view.removeLast() }
        return String(view)
    }
}
