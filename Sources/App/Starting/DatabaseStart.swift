import Logging
import Postgres

extension PostgresClient {
    /// Connects. Retries while the database isn't reachable, is starting or has too many clients.
    ///
    /// - Parameter limit: The time limit of retries.
    /// - Throws: `PostgresError`, or `CancellationError`.
    func start(within limit: Duration, _ logger: Logger) async throws {
        let end = ContinuousClock.now + limit
        var isReported = false
        while true {
            do {
                return try await start()
            } catch let error as PostgresError where error.mayPass && ContinuousClock.now < end {
                if !isReported {
                    logger.warning("waiting for PostgreSQL", metadata: ["retry": "\(limit / .seconds(1)) s"])
                }
                isReported = true
                try await Task.sleep(for: .milliseconds(50))
            }
        }
    }
}

extension PostgresError {
    /// Whether the database may be usable soon: it isn't reachable yet, is starting, or has too many clients.
    fileprivate var mayPass: Bool {
        kind == .unavailable && !isMalformed && !lacksPassword && !lacksTLS
            && (sqlState.isEmpty || ["57", "53"].contains { sqlState.hasPrefix($0) })
    }

    fileprivate var lacksPassword: Bool { sqlState.isEmpty && message.contains("no password supplied") }

    fileprivate var lacksTLS: Bool {
        sqlState.isEmpty
            && ["SSL was required", "root certificate file", "certificate verify failed", "does not match host name"]
                .contains { message.contains($0) }
    }

    /// The parameter of the address with an invalid value, or nil for other errors.
    fileprivate var invalidParameter: String? {
        guard sqlState.isEmpty else { return nil }
        if message.hasPrefix("invalid port number") { return "port" }
        // `invalid integer value "x" for connection option "port"`, and `invalid sslmode value: "x"`
        let name =
            message.firstMatch(of: #/^invalid integer value ".*" for connection option "(\w+)"/#)?.1
            ?? message.firstMatch(of: #/^invalid (\w+) value: /#)?.1
        return name.map(String.init)
    }

    fileprivate var isMalformed: Bool {
        sqlState.isEmpty
            && ["invalid ", "missing ", "unexpected ", "end of string", "extra "].contains {
                message.hasPrefix($0)
            }
    }
}

/// An unusable database, described for the operator.
struct DatabaseFailure: Error, CustomStringConvertible {
    let description: String

    /// Describes an error, or returns nil if it isn't about the connection, a read-only server or the user's privileges.
    ///
    /// - Parameter option: The option that contains the address.
    init?(_ error: PostgresError, option: String = "databaseURI") {
        // PostgreSQL's first line has the reason. The others are hints for users of its own tools.
        let line = error.message.split(separator: "\n").first.map(String.init) ?? error.message
        guard error.kind == .unavailable else {
            switch error.sqlState {
            case "25006":
                description =
                    "PostgreSQL is read-only: it is a standby, or default_transaction_read_only is on. Set the option "
                    + "readOnly to serve reads only, or set \(option) to a server that accepts writes."
            case "42501":
                description =
                    "PostgreSQL rejected a statement: \(line). Grant the missing permission to the user in "
                    + "\(option), or make it the owner of the database (ALTER DATABASE … OWNER TO …)."
            default: return nil
            }
            return
        }
        switch error.sqlState {
        case _ where error.message.hasPrefix("invalid URI query parameter"):
            let name = line.split(separator: "\"").dropFirst().first ?? ""
            description = "\(option) contains the unknown parameter \(name). Correct its name, or remove it."
        case _ where error.invalidParameter != nil:
            let name = error.invalidParameter ?? ""
            description =
                "The parameter \(name) of \(option) has an invalid value. "
                + (Self.allowedValues[name].map { "It must be \($0)." } ?? "Correct it.")
        case _ where error.isMalformed:
            // libpq quotes the part that it can't parse, which may belong to the password.
            description =
                "\(option) is not a PostgreSQL URI. Percent-encode special characters in the user and the password, "
                + "such as %40 for @ and %2F for /."
        case _ where error.lacksTLS:
            description =
                "Can't connect to PostgreSQL with the TLS settings in \(option): \(line). Check its parameters "
                + "sslmode and sslrootcert."
        case _ where error.lacksPassword, "28P01", "28000":
            description = "PostgreSQL rejected the log-in: \(line). Check the user and the password in \(option)."
        case "3D000":
            description = "\(line). Create the database, or correct \(option)."
        default:
            description = "Can't reach PostgreSQL: \(line). Start it, or correct \(option)."
        }
    }

    private static let allowedValues = [
        "port": "a number from 1 to 65535",
        "sslmode": "disable, allow, prefer, require, verify-ca or verify-full",
        "target_session_attrs": "any, read-write, read-only, primary, standby or prefer-standby",
    ]

    /// Runs a step, and describes an unusable database for the operator.
    ///
    /// - Parameter option: The option that contains the address.
    static func reporting<R>(option: String = "databaseURI", _ step: () async throws -> R) async throws -> R {
        do {
            return try await step()
        } catch let error as PostgresError {
            throw DatabaseFailure(error, option: option) ?? error as any Error
        }
    }
}
