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

    /// Describes an error, or returns nil if it isn't about the connection or the user's privileges.
    init?(_ error: PostgresError) {
        // PostgreSQL's first line has the reason. The others are hints for users of its own tools.
        let line = error.message.split(separator: "\n").first.map(String.init) ?? error.message
        guard error.kind == .unavailable else {
            guard error.sqlState == "42501" else { return nil }
            description =
                "PostgreSQL rejected a statement: \(line). Grant the missing permission to the user in "
                + "databaseURI, or make it the owner of the database (ALTER DATABASE … OWNER TO …)."
            return
        }
        switch error.sqlState {
        case _ where error.message.hasPrefix("invalid URI query parameter"):
            description = "databaseURI has a parameter that libpq doesn't know: \(line)"
        case _ where error.message.firstMatch(of: #/^invalid (\w+) value/#) != nil:
            let name = error.message.split(separator: " ")[1]
            description = "The parameter \(name) of databaseURI has an invalid value. Correct it."
        case _ where error.isMalformed:
            // libpq quotes the part that it can't parse, which may belong to the password.
            description =
                "databaseURI is not a PostgreSQL URI. Percent-encode special characters in the user and the password, "
                + "such as %40 for @ and %2F for /."
        case _ where error.lacksTLS:
            description =
                "Can't connect to PostgreSQL with the TLS settings in databaseURI: \(line). Check its parameters "
                + "sslmode and sslrootcert."
        case _ where error.lacksPassword, "28P01", "28000":
            description = "PostgreSQL rejected the log-in: \(line). Check the user and the password in databaseURI."
        case "3D000":
            description = "\(line). Create the database, or correct databaseURI."
        default:
            description = "Can't reach PostgreSQL: \(line). Start it, or correct databaseURI."
        }
    }

    /// Runs a step, and describes an unusable database for the operator.
    static func reporting<R>(_ step: () async throws -> R) async throws -> R {
        do {
            return try await step()
        } catch let error as PostgresError {
            throw DatabaseFailure(error) ?? error as any Error
        }
    }
}
