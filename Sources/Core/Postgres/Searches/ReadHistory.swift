import Encoding
import Synchronization
import Tasks

/// What reads of a shape took lately: how many bytes their rows were, and whether they kept a connection for long.
///
/// It is bounded: the shape that was noted longest ago is forgotten, and learned anew.
package final class ReadHistory: Sendable {
    package struct Expectation {
        /// How many bytes its rows will take in memory.
        package var bytes: Int
        /// Whether it has no place on a connection where others wait behind it.
        var isSlow = false
        /// Whether the last read like it was slow, or there was none.
        var isUnknown = false
    }

    private struct Entry {
        /// Nil where none came to its end.
        var bytes: Int?
        /// Whose read took as many last.
        var sender = Sender.server
        var slowUntil: MonotonicInstant?

        var isSlow: Bool { slowUntil.map { $0 > .now } ?? false }
    }

    private let hasLargeRows = Atomic(false)
    /// The time until which an origin counts as slow.
    private let slowOrigins = Mutex(BoundedTable<ReadOrigin, MonotonicInstant>(capacity: 4096))
    private let entries = Mutex(BoundedTable<ReadShape, Entry>(capacity: 2 * 1024 * 1024))

    package init() {}

    /// How long a slow shape counts as such.
    private static let memory: Duration = .seconds(60)
    /// Assumed bytes per row of an unknown shape.
    private static let usualRow = 1024
    /// Assumed bytes of included objects for unknown shapes.
    private static let unknownIncludes = RowBudget.mostSmall

    /// Expected memory and speed.
    package func expectation(of shape: ReadShape, mostRows: Int, leadsToMore: Bool) -> Expectation {
        let (entry, kind) = entries.withLock { ($0.peek(shape), shape.isRow ? $0.peek(shape.kind) : nil) }
        let ofKind = kind?.bytes.map { min($0, PostgresClient.mostShared) }
        return Expectation(
            bytes: entry?.bytes ?? ofKind ?? Self.bytes(mostRows: mostRows, leadsToMore: leadsToMore),
            isSlow: entry?.isSlow ?? isSlow(shape.origin),
            isUnknown: entry?.bytes == nil || entry?.slowUntil != nil)
    }

    /// Whether unknown reads of the caller and class are expected to be slow, because a recent one was.
    private func isSlow(_ origin: ReadOrigin?) -> Bool {
        guard let origin else { return false }
        return slowOrigins.withLock { $0.peek(origin).map { $0 > .now } ?? false }
    }

    private static func bytes(mostRows: Int, leadsToMore: Bool) -> Int {
        let (bytes, overflows) = mostRows.multipliedReportingOverflow(by: usualRow)
        return max(overflows ? .max : bytes, leadsToMore ? unknownIncludes : 0)
    }

    /// Whether a read has no place on a shared connection.
    ///
    /// - Parameters:
    ///   - isSearch: Whether it may give any number of rows; one row by its key is small unless it is known not to be.
    ///   - memoryIsFull: Whether there is room for small results alone.
    package func isBarred(_ shape: ReadShape, isSearch: Bool, memoryIsFull: Bool) -> Bool {
        let (entry, kind) = entries.withLock { ($0.peek(shape), shape.isRow ? $0.peek(shape.kind) : nil) }
        if entry?.isSlow == true { return true }
        guard let bytes = entry?.bytes else {
            if entry == nil, isSlow(shape.origin) { return true }
            // One large row says nothing of the others of its kind, as long as there is room for another.
            return memoryIsFull && (shape.isRow ? (kind?.bytes ?? 0) > RowBudget.free : isSearch)
        }
        return bytes > (memoryIsFull ? RowBudget.free : PostgresClient.mostShared)
    }

    /// Notes how many bytes the rows of a read took. Fewer than before count little by little: one small result among large
    /// ones says nothing of the next. A row is remembered for itself only where it is large.
    package func note(bytes: Int, of shape: ReadShape) {
        // More than all have is read alone, however much it is.
        let (bytes, sender) = (min(bytes, RowBudget.capacity), Sender.current)
        entries.withLock { entries in
            for shape in shape.isRow ? [shape, shape.kind] : [shape] {
                var entry = entries.peek(shape)
                if let before = entry?.bytes {
                    // Nothing depends on how small a small one is.
                    guard max(before, bytes) > RowBudget.free else { continue }
                    // What one sender got is no measure for others for long.
                    let rest = entry?.sender == sender ? before - before / 8 : before / 4
                    if bytes >= before { entry?.sender = sender }
                    entry?.bytes = max(bytes, rest)
                } else {
                    guard entry != nil || !shape.isRow || bytes > PostgresClient.mostShared else { continue }
                    entry = Entry(bytes: bytes, sender: sender, slowUntil: entry?.slowUntil)
                }
                if let entry { entries.set(entry, for: shape, weight: shape.size) }
            }
        }
    }

    /// Records that a result exceeded its expected size: first it counts as the largest small result, then as a large
    /// one.
    func noteOutgrown(_ shape: ReadShape) {
        let known = entries.withLock { $0.peek(shape)?.bytes } ?? 0
        note(bytes: known < RowBudget.mostSmall ? RowBudget.mostSmall : RowBudget.capacity, of: shape)
    }

    /// Whether a read of one row by its key ever gave many bytes.
    package var knowsLargeRows: Bool { hasLargeRows.load(ordering: .relaxed) }

    func noteLargeRow() { hasLargeRows.store(true, ordering: .relaxed) }

    /// Notes whether a read kept its connection for long.
    func note(isSlow: Bool, _ shape: ReadShape) {
        entries.withLock { entries in
            var entry = entries.peek(shape) ?? Entry()
            guard isSlow || entry.slowUntil != nil else { return }
            entry.slowUntil = isSlow ? .now.after(Self.memory) : nil
            entries.set(entry, for: shape, weight: shape.size)
        }
        guard isSlow, let origin = shape.origin else { return }
        slowOrigins.withLock { _ = $0.set(.now.after(Self.memory), for: origin) }
    }
}

/// The class and the caller of a read, to recognize slow reads whose texts always differ.
package struct ReadOrigin: Hashable, Sendable {
    private let className: UInt64
    private let sender = Sender.current

    package init(_ className: String) { self.className = StableHash.of(className) }
}

/// What reads have in common that cost about the same: the statement, how many rows are asked for, and whether more is read
/// for these rows. Of reads of one row by its key each row is a shape of its own, beside that of its kind.
package struct ReadShape: Hashable, Sendable {
    private let key: StatementKey
    /// Bit width of the maximum row count.
    private let magnitude: Int
    private let leadsToMore: Bool
    /// Key hash of a single-row read, or nil.
    private var row: Int?
    /// The class and the caller, or nil for a read of no class. Not part of the shape's identity.
    let origin: ReadOrigin?

    package init(_ key: StatementKey, mostRows: Int, leadsToMore: Bool, origin: ReadOrigin? = nil) {
        self.key = key
        self.origin = origin
        magnitude = Int.bitWidth - max(0, mostRows).leadingZeroBitCount
        self.leadsToMore = leadsToMore
    }

    /// The shape of a read of one row by its key.
    package init(row statement: EncodedStatement) {
        self.init(statement.key, mostRows: 1, leadsToMore: false)
        row = statement.bytes.hashValue
    }

    var isRow: Bool { row != nil }
    /// What it has in common with reads of other rows.
    var kind: ReadShape {
        var kind = self
        kind.row = nil
        return kind
    }

    package static func == (one: ReadShape, other: ReadShape) -> Bool {
        one.key == other.key && one.magnitude == other.magnitude && one.leadsToMore == other.leadsToMore
            && one.row == other.row
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(key)
        hasher.combine(magnitude)
        hasher.combine(row)
    }

    /// About how many bytes of memory it takes to remember it.
    var size: Int { key.sql.utf8.count + 24 * key.slots.count + 256 }
}
