import Logging
import ParseStorage
import Synchronization

/// Detects class changes that were not announced: parse-server doesn't announce them by default, and some poolers don't
/// pass notifications.
///
/// Compares a fingerprint of all classes periodically, more often while notifications can't arrive. During that time it
/// also keeps invalidating other caches. Requests never wait for it.
final class SchemaWatch: Sendable {
    private let catalog: SchemaCatalog
    private let logger: Logger
    private let period: Duration
    private let invalidate: @Sendable () -> Void
    private let state = Mutex(State())

    private struct State {
        var isListening = false
        /// Whether the classes must be reloaded because a comparison or a reload failed.
        var isBehind = false
    }

    /// Polling interval while announcements can't arrive. Changes must be known within a second.
    private static let urgentPeriod = Duration.milliseconds(500)

    /// - Parameters:
    ///   - period: The milliseconds between comparisons while announcements arrive.
    ///   - invalidate: Invalidates other caches. Called repeatedly while announcements can't arrive.
    init(catalog: SchemaCatalog, period: Int, logger: Logger, invalidate: @escaping @Sendable () -> Void) {
        self.catalog = catalog
        self.invalidate = invalidate
        self.period = .milliseconds(period)
        self.logger = logger
    }

    func announcements(arrive: Bool) { state.withLock { $0.isListening = arrive } }

    /// Schedules a reload of the classes because a comparison or a reload has failed.
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
            if !isListening { invalidate() }
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
