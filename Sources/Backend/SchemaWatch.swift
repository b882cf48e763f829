import Logging
import ParseStorage
import Synchronization

/// Notices changes of classes that nobody announced: parse-server is silent unless it is told to announce, and
/// notifications do not pass through every pooler.
///
/// It compares a fingerprint of all classes from time to time, more often while announcements cannot arrive. No request
/// waits for it.
final class SchemaWatch: Sendable {
    private let catalog: SchemaCatalog
    private let logger: Logger
    /// In milliseconds.
    private let period: Int
    private let isListening = Mutex(false)

    /// While announcements cannot arrive, in milliseconds.
    private static let urgentPeriod = 500

    /// - Parameter period: How often classes are compared while announcements arrive, in milliseconds.
    init(catalog: SchemaCatalog, period: Int, logger: Logger) {
        self.catalog = catalog
        self.period = period
        self.logger = logger
    }

    /// Tells whether announcements arrive.
    func announcements(arrive: Bool) { isListening.withLock { $0 = arrive } }

    /// Compares until the task is cancelled.
    func run() async {
        var last: String?
        while !Task.isCancelled {
            do {
                // Asked before the classes are read: what changes in between differs the next time.
                let fingerprint = try await catalog.fingerprint()
                if last != fingerprint { try await catalog.reload() }
                last = fingerprint
            } catch {
                logger.debug("classes could not be compared", metadata: ["error": "\(error)"])
            }
            let pause = isListening.withLock { $0 } ? period : min(period, Self.urgentPeriod)
            try? await Task.sleep(for: .milliseconds(pause))
        }
    }
}
