import Logging
import ParseStorage
import Synchronization

/// Detects class changes that were not announced: parse-server doesn't announce them by default, and some poolers don't
/// pass notifications.
///
/// Compares a fingerprint of all classes periodically, more often while notifications can't arrive. During that time it
/// also keeps invalidating the session cache. Requests never wait for it.
final class SchemaWatch: Sendable {
    private let catalog: SchemaCatalog
    private let sessions: SessionCache
    private let logger: Logger
    private let period: Duration
    private let state = Mutex(State())

    private struct State {
        var isListening = false
        /// Whether the classes must be reloaded because a comparison or a reload failed.
        var isBehind = false
    }

    /// Polling interval while announcements can't arrive. Changes must be known within a second.
    private static let urgentPeriod = Duration.milliseconds(500)

    /// - Parameter period: The milliseconds between comparisons while announcements arrive.
    init(catalog: SchemaCatalog, sessions: SessionCache, period: Int, logger: Logger) {
        self.catalog = catalog
        self.sessions = sessions
        self.period = .milliseconds(period)
        self.logger = logger
    }

    func announcements(arrive: Bool) { state.withLock { $0.isListening = arrive } }

    /// Schedules a reload of the classes after a comparison or a reload failed.
    func missedChange() { state.withLock { $0.isBehind = true } }

    /// Compares periodically until the task is cancelled.
    func run() async {
        var last: String?
        var compared: ContinuousClock.Instant?
        while !Task.isCancelled {
            let (isListening, isBehind) = state.withLock { state in
                defer { state.isBehind = false }
                return (state.isListening, state.isBehind)
            }
            let now = ContinuousClock.now
            if !isListening { sessions.invalidateAll() }
            if !isListening || isBehind || compared.map({ now - $0 >= period }) ?? true {
                compared = now
                do {
                    // Read before the classes, so that a change in between shows up in the next comparison.
                    let fingerprint = try await catalog.fingerprint()
                    if isBehind || last != fingerprint { try await catalog.reload() }
                    last = fingerprint
                } catch {
                    missedChange()
                    logger.debug("could not check for class changes", metadata: ["error": "\(error)"])
                }
            }
            try? await Task.sleep(for: min(period, Self.urgentPeriod))
        }
    }
}
