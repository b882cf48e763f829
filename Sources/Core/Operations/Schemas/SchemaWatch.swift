import Logging
import ParseStorage
import Synchronization

/// Notices changes of classes that were not announced: parse-server is silent unless it is configured to announce, and
/// notifications do not pass through every pooler.
///
/// It compares a fingerprint of all classes from time to time, more often while announcements cannot arrive; nothing is
/// remembered of users for longer than that meanwhile. No request waits for it.
final class SchemaWatch: Sendable {
    private let catalog: SchemaCatalog
    private let sessions: SessionCache
    private let logger: Logger
    private let period: Duration
    private let state = Mutex(State())

    private struct State {
        var isListening = false
        /// Whether classes could not be read when they should have been.
        var isBehind = false
    }

    /// Polling interval while announcements can't arrive. Changes must be known within a second.
    private static let urgentPeriod = Duration.milliseconds(500)

    /// - Parameter period: How often classes are compared while announcements arrive, in milliseconds.
    init(catalog: SchemaCatalog, sessions: SessionCache, period: Int, logger: Logger) {
        self.catalog = catalog
        self.sessions = sessions
        self.period = .milliseconds(period)
        self.logger = logger
    }

    func announcements(arrive: Bool) { state.withLock { $0.isListening = arrive } }

    /// Takes note that classes have changed and could not be read: they are as soon as that is possible.
    func missedChange() { state.withLock { $0.isBehind = true } }

    /// Compares until the task is cancelled.
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
                    // Asked before the classes are read: what changes in between differs the next time.
                    let fingerprint = try await catalog.fingerprint()
                    if isBehind || last != fingerprint { try await catalog.reload() }
                    last = fingerprint
                } catch {
                    missedChange()
                    logger.debug("could not compare classes", metadata: ["error": "\(error)"])
                }
            }
            try? await Task.sleep(for: min(period, Self.urgentPeriod))
        }
    }
}
