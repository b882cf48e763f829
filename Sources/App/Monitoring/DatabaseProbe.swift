import Logging
import Postgres
import Telemetry

/// Looks whether a PostgreSQL answers, on a connection of its own: no request waits for it, and it waits for none.
struct DatabaseProbe: ReadinessProbe {
    let probeName: String
    let isNeeded: Bool
    let client: PostgresClient

    /// The probe of a database, over a client that is the probe's alone.
    ///
    /// - Parameters:
    ///   - name: Its name in the answer.
    ///   - isNeeded: Whether no request can be served without it.
    ///   - settings: How the server reaches it.
    init(_ name: String, isNeeded: Bool, _ settings: PostgresConfiguration, logger: Logger) {
        probeName = name
        self.isNeeded = isNeeded
        var settings = settings
        settings.sharedConnections = 1
        settings.connectTimeout = .seconds(1)
        settings.statementTimeout = .seconds(1)
        // What cannot be reached is in the answer of the probe, and the server's own client logs it.
        var logger = logger
        logger.logLevel = .critical
        client = PostgresClient(configuration: settings, logger: logger)
    }

    func probe() async throws -> [(name: String, value: Double)] {
        guard !isNeeded else {
            try await client.ping()
            return []
        }
        return [("lagSeconds", try await client.replayLag())]
    }
}
