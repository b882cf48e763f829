import Logging
import Postgres
import Synchronization
import Telemetry

/// Looks whether a PostgreSQL answers, on a connection of its own: no request waits for it, and it waits for none.
final class DatabaseProbe: ReadinessProbe {
    let probeName: String
    let isNeeded: Bool
    let client: PostgresClient
    /// By how many seconds a replica may be behind.
    private let mostLag: Double
    /// When a replica had last applied all that it had received.
    private let caughtUp = Mutex<ContinuousClock.Instant?>(nil)

    /// The probe of a database, over a client that is the probe's alone.
    ///
    /// - Parameters:
    ///   - name: Its name in the answer.
    ///   - isNeeded: Whether no request can be served without it.
    ///   - mostLag: By how many milliseconds a replica may be behind; nil for half a minute.
    ///   - settings: How the server reaches it.
    init(
        _ name: String, isNeeded: Bool, mostLag: Int? = nil, _ settings: PostgresConfiguration, logger: Logger
    ) {
        probeName = name
        self.isNeeded = isNeeded
        self.mostLag = Double(mostLag ?? 30_000) / 1000
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
        let lag = bounded(try await client.replayLag())
        let figures = [(name: "lagSeconds", value: lag)]
        guard lag <= mostLag else { throw Readiness.Shortfall("the replica lags by \(lag) s", figures: figures) }
        return figures
    }

    /// What the replica applied last may be long ago where nothing was written: it has been behind for no longer than since it
    /// was last found not to be.
    private func bounded(_ lag: Double) -> Double {
        let now = ContinuousClock.now
        return caughtUp.withLock { caughtUp in
            if lag == 0 { caughtUp = now }
            guard let since = caughtUp else { return lag }
            return min(lag, Double((now - since).wholeNanoseconds / 1_000_000) / 1000)
        }
    }
}
