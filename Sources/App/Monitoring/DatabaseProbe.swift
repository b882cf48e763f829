import Logging
import Postgres
import Synchronization
import Telemetry

/// Checks whether a PostgreSQL server responds. It has a separate connection, so it doesn't compete with requests.
final class DatabaseProbe: ReadinessProbe {
    let probeName: String
    let isNeeded: Bool
    let client: PostgresClient
    /// The maximum replication lag in seconds.
    private let maxLag: Double
    /// The last time at which the replica had applied everything that it received.
    private let caughtUp = Mutex<ContinuousClock.Instant?>(nil)

    /// Creates a probe with its own client.
    ///
    /// - Parameters:
    ///   - name: The name of the check in readiness responses.
    ///   - isNeeded: Whether the server can't serve any request without this database. If false, the database is a
    ///     replica.
    ///   - maxLag: The maximum replication lag in milliseconds, or nil for 30 seconds.
    init(
        _ name: String, isNeeded: Bool, maxLag: Int? = nil, _ settings: PostgresConfiguration, logger: Logger
    ) {
        probeName = name
        self.isNeeded = isNeeded
        self.maxLag = Double(maxLag ?? 30_000) / 1000
        var settings = settings
        settings.sharedConnections = 1
        settings.connectTimeout = .seconds(1)
        settings.statementTimeout = .seconds(1)
        // The probe's response reports failures, and the server's own client logs them.
        var logger = logger
        logger.logLevel = .critical
        client = PostgresClient(configuration: settings, logger: logger)
    }

    func probe() async throws -> [(name: String, value: Double)] {
        guard !isNeeded else {
            try await client.ping()
            return []
        }
        let lag = bounded(try await client.replayLag())
        let figures = [(name: "lagSeconds", value: lag)]
        guard lag <= maxLag else { throw Readiness.Shortfall("the replica lags by \(lag) s", figures: figures) }
        return figures
    }

    /// Limits the measured lag to the time since the replica last caught up. Without writes, the age of the last
    /// applied transaction overstates the lag.
    private func bounded(_ lag: Double) -> Double {
        let now = ContinuousClock.now
        return caughtUp.withLock { caughtUp in
            if lag == 0 { caughtUp = now }
            guard let since = caughtUp else { return lag }
            return min(lag, Double((now - since).wholeNanoseconds / 1_000_000) / 1000)
        }
    }
}
