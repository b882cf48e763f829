import CLibpq

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
        /// Others had all connections for this kind of work for as long as it may wait; it was never sent.
        case busy
        /// The result took more memory than one may; the statement was stopped.
        case tooLarge
        /// The task that asked was cancelled.
        case cancelled
        /// The client is being shut down.
        case shutdown
    }

    /// What kind of failure it was.
    public var kind: Kind
    /// The five characters of SQLSTATE; empty when the server did not speak.
    public var sqlState: String
    /// The server's words, or the driver's.
    public var message: String
    /// More of the server's words.
    public var detail: String?
    /// The violated constraint or unique index.
    public var constraint: String?
    /// The table that the error is about.
    public var table: String?
    /// The column that the error is about.
    public var column: String?
    /// Whether the error says that a prepared statement no longer fits, so that preparing it again helps.
    package var isStaleStatement = false
    /// Whether a read was stopped, or not sent, because it has no place where it was sent: it is asked for in another
    /// way.
    package var isDetour = false

    /// Makes an error.
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
        column = field("c")
        // The message may be in any language; the function that raised it is not.
        let function = field("R")
        isStaleStatement =
            sqlState == "26000" || (sqlState == "0A000" && function == "RevalidateCachedQuery")
            // Rows of a table that was dropped and made again: PostgreSQL calls that an internal error.
            || (sqlState == "XX000" && function == "expandRTE")
    }

    /// The error for a caller that went away.
    package static let cancelled = PostgresError(.cancelled, "the task was cancelled")
    /// The error for a request that changes a row which others wait for already.
    static let rowIsLocked = PostgresError(.server, "another request is already waiting for the row", sqlState: "55P03")
    /// What a caller gets whose transaction is broken off because of its time limit.
    static let tookTooLong = PostgresError(.server, "the transaction took too long", sqlState: "57014")
    /// What a caller gets whose result takes more memory than one may.
    static let tooLarge = PostgresError(.tooLarge, "the result takes too much memory")
    /// The error for a read that has no place on its connection.
    package static let detour: PostgresError = {
        var error = PostgresError(.server, "the statement is not allowed on this connection", sqlState: "57014")
        error.isDetour = true
        return error
    }()
    static let noResult = PostgresError(.server, "the statement returned no result")
    /// The error for a request after the end of the client.
    static let shutDown = PostgresError(.shutdown, "the PostgreSQL client was shut down")

    /// Whether a pooler refused a parameter of the connection, as the server's options.
    var isRefusedParameter: Bool { sqlState == "08P01" && message.contains("startup parameter") }

    /// Whether it waited for a lock in vain; nothing of the statement was kept.
    package var isLockTimeout: Bool { kind == .server && sqlState == "55P03" }

    /// Whether the server stopped it because of its time limit, or was asked to; nothing of the statement was kept.
    var isOverdue: Bool { kind == .server && sqlState == "57014" && !isDetour }

    /// Whether the server takes no writes, as one that became a standby; nothing of the statement was kept.
    var isFromReadOnlyServer: Bool { sqlState == "25006" }

    /// Whether the server undid the transaction for the sake of another one, so that doing it again can help.
    var isConflict: Bool { kind == .server && (sqlState == "40001" || sqlState == "40P01") }
}

extension PostgresError: CustomStringConvertible {
    /// The error in one line, without values of rows.
    public var description: String {
        sqlState.isEmpty ? "PostgreSQL, \(kind): \(message)" : "PostgreSQL, \(kind), \(sqlState): \(message)"
    }
}

extension String {
    /// The text without white space at its end, as libpq's messages end with a new line.
    var trimmed: String {
        var view = self[...]
        while let last = view.last, last.isWhitespace { view.removeLast() }
        return String(view)
    }
}

extension PostgresError {
    /// Why a connection could not be made, from libpq's words.
    ///
    /// libpq gives no fields of the error here, but asked for verbose messages it writes
    /// `FATAL:  3D000: database "x" does not exist`, followed by a line that says where in the server's source.
    static func unavailable(_ verbose: String) -> PostgresError {
        var message = ""
        var state = ""
        for line in verbose.split(separator: "\n") where !line.hasPrefix("LOCATION:") {
            var line = line
            if let found = stateRange(in: line) {
                state = String(line[found])
                // The code goes, with the colon and the space after it.
                line = line[..<found.lowerBound] + line[found.upperBound...].dropFirst(2)
            }
            message += (message.isEmpty ? "" : "\n") + line
        }
        return PostgresError(
            .unavailable, message.isEmpty ? "no connection to PostgreSQL" : message, sqlState: state)
    }

    /// The SQLSTATE in `:  XXXXX: `, recognized by two spaces, which follow no other colon.
    private static func stateRange(in line: Substring) -> Range<Substring.Index>? {
        guard let match = line.firstMatch(of: #/:  ([0-9A-Z]{5}): /#) else { return nil }
        return match.output.1.startIndex..<match.output.1.endIndex
    }
}
