import Synchronization
import Tasks

/// In which manner searches for the nearest objects are best done, by the text of their statements.
///
/// It is bounded: what was used longest ago is forgotten, and found out anew.
final class NearestHistory: Sendable {
    /// How a search is done.
    enum Manner {
        /// By the distance of every row.
        case plain
        /// By circles that grow.
        case circles
    }

    private struct Entry {
        let manner: Manner
        let notedAt: ContinuousClock.Instant
    }

    /// How many bytes of statements are remembered.
    private static let capacity = 256 * 1024
    /// How long a class counts as small: it may grow.
    private static let memoryOfPlain = Duration.seconds(60)

    private let entries = Mutex(BoundedTable<String, Entry>(capacity: capacity))

    /// The manner that suits searches with a statement; nil where that is not known.
    func manner(of statement: String) -> Manner? {
        guard let entry = entries.withLock({ $0.value(of: statement) }) else { return nil }
        if entry.manner == .plain, entry.notedAt.duration(to: .now) > Self.memoryOfPlain { return nil }
        return entry.manner
    }

    /// Remembers the manner that suits searches with a statement.
    func note(_ manner: Manner, of statement: String) {
        let entry = Entry(manner: manner, notedAt: .now)
        entries.withLock { _ = $0.set(entry, for: statement, weight: statement.utf8.count + 64) }
    }
}
