import Encoding
import Limits
import Synchronization

/// The recent cost of reads by shape: the size of their rows, and whether they were slow.
///
/// The size is limited: the shape recorded longest ago is evicted.
package final class ReadHistory: Sendable {
    package struct Expectation {
        /// The expected size of the rows in memory, in bytes.
        package var bytes: Int
        /// Whether the read is expected to be too slow for a shared connection.
        var isSlow = false
        /// Whether no read of the shape has finished yet, or the last one was slow.
        var isUnknown = false
    }

    private struct Entry {
        /// The expected size in bytes, or nil if no read has finished.
        var bytes: Int?
        /// The sender of the read that set the size or last raised it.
        var sender = Sender.server
        var slowUntil: MonotonicInstant?

        var isSlow: Bool { slowUntil.map { $0 > .now } ?? false }
    }

    private let hasLargeRows = Atomic(false)
    private let slowOrigins = Mutex(BoundedTable<ReadOrigin, MonotonicInstant>(capacity: 4096))
    private let largeRowReads = Mutex(LargeRowReads())
    private let entries = Mutex(BoundedTable<ReadShape, Entry>(capacity: 2 * 1024 * 1024))

    package init() {}

    private static let memory: Duration = .seconds(60)
    /// Assumed bytes per row of an unknown shape.
    private static let usualRow = 1024
    /// The minimum assumed size of an unknown shape's rows with included objects, in bytes.
    private static let unknownIncludes = RowBudget.maxSmallBytes

    /// Returns the expected size and speed of a read.
    package func expectation(of shape: ReadShape, maxRows: Int, leadsToMore: Bool) -> Expectation {
        let (entry, kind) = entries.withLock { ($0.peek(shape), shape.isRow ? $0.peek(shape.kind) : nil) }
        let ofKind = kind?.bytes.map { min($0, PostgresClient.maxSharedBytes) }
        let ofCaller = hasReadLargeRow(shape) ? max(kind?.bytes ?? 0, RowBudget.maxSmallBytes + 1) : nil
        return Expectation(
            bytes: entry?.bytes ?? ofCaller ?? ofKind ?? Self.bytes(maxRows: maxRows, leadsToMore: leadsToMore),
            isSlow: entry?.isSlow ?? isAside(shape),
            isUnknown: entry?.bytes == nil || entry?.slowUntil != nil)
    }

    private func hasReadLargeRow(_ shape: ReadShape) -> Bool {
        guard shape.isRow, let origin = shape.origin else { return false }
        return largeRowReads.withLock { $0.hasReadLarge(origin, at: .now) }
    }

    /// Whether unknown reads of the caller and class are expected to be slow or large, because a recent read was.
    private func isAside(_ shape: ReadShape) -> Bool {
        guard let origin = shape.origin else { return false }
        if shape.isRow { return largeRowReads.withLock { $0.isBarred(origin, at: .now) } }
        return slowOrigins.withLock { $0.peek(origin).map { $0 > .now } ?? false }
    }

    private static func bytes(maxRows: Int, leadsToMore: Bool) -> Int {
        let (bytes, overflows) = maxRows.multipliedReportingOverflow(by: usualRow)
        return max(overflows ? .max : bytes, leadsToMore ? unknownIncludes : 0)
    }

    /// Whether a read must not use a shared connection.
    ///
    /// - Parameters:
    ///   - isSearch: Whether the read can return any number of rows. Reads by key count as small unless known to be
    ///     large.
    ///   - memoryIsFull: Whether memory is left only for results of up to 64 KB.
    package func isBarred(_ shape: ReadShape, isSearch: Bool, memoryIsFull: Bool) -> Bool {
        let (entry, kind) = entries.withLock { ($0.peek(shape), shape.isRow ? $0.peek(shape.kind) : nil) }
        if entry?.isSlow == true { return true }
        guard let bytes = entry?.bytes else {
            if entry == nil, isAside(shape) { return true }
            // If memory is available, one large row doesn't bar the other rows of its kind.
            return memoryIsFull && (shape.isRow ? (kind?.bytes ?? 0) > RowBudget.free : isSearch)
        }
        return bytes > (memoryIsFull ? RowBudget.free : PostgresClient.maxSharedBytes)
    }

    /// Records the size of a read's rows in bytes. Smaller sizes lower the expectation only gradually, because one
    /// small result among large ones doesn't predict the next. A row read by its key gets its own entry only if it is
    /// larger than 1 MB or was slow.
    package func record(bytes: Int, of shape: ReadShape) {
        // Anything beyond the capacity is read alone, so its exact size doesn't matter.
        let (bytes, sender) = (min(bytes, RowBudget.capacity), Sender.current)
        let isLarge = bytes > PostgresClient.maxSharedBytes
        if shape.isRow, isLarge { recordLargeRow() }
        if shape.isRow, let origin = shape.origin {
            largeRowReads.withLock { $0.record(isLarge: isLarge, origin, at: .now) }
        }
        entries.withLock { entries in
            for shape in shape.isRow ? [shape, shape.kind] : [shape] {
                var entry = entries.peek(shape)
                if let before = entry?.bytes {
                    // Differences between small results don't matter.
                    guard max(before, bytes) > RowBudget.free else { continue }
                    // One sender's large results raise the expectation of other senders only briefly.
                    let rest = entry?.sender == sender ? before - before / 8 : before / 4
                    if bytes >= before { entry?.sender = sender }
                    entry?.bytes = max(bytes, rest)
                } else {
                    guard entry != nil || !shape.isRow || isLarge else { continue }
                    entry = Entry(bytes: bytes, sender: sender, slowUntil: entry?.slowUntil)
                }
                if let entry { entries.set(entry, for: shape, weight: shape.size) }
            }
        }
    }

    /// Records that a result exceeded its expected size. From now on 2 MB are expected, or 32 MB if at least 2 MB were
    /// expected before.
    func recordOutgrown(_ shape: ReadShape) {
        let known = entries.withLock { $0.peek(shape)?.bytes } ?? 0
        record(bytes: known < RowBudget.maxSmallBytes ? RowBudget.maxSmallBytes : RowBudget.capacity, of: shape)
    }

    /// Whether any read by key returned a large row, or was stopped or rejected on a shared connection.
    package var knowsLargeRows: Bool { hasLargeRows.load(ordering: .relaxed) }

    func recordLargeRow() { hasLargeRows.store(true, ordering: .relaxed) }

    func record(isSlow: Bool, _ shape: ReadShape) {
        entries.withLock { entries in
            var entry = entries.peek(shape) ?? Entry()
            guard isSlow || entry.slowUntil != nil else { return }
            entry.slowUntil = isSlow ? .now.after(Self.memory) : nil
            entries.set(entry, for: shape, weight: shape.size)
        }
        guard isSlow, !shape.isRow, let origin = shape.origin else { return }
        slowOrigins.withLock { _ = $0.set(.now.after(Self.memory), for: origin) }
    }
}

/// The classes whose large rows were read by key within the last minute, and the callers who read from them.
///
/// In such a class, a caller's reads by key use separate connections until one returns a small row, and for ten seconds
/// after a large one. So a caller who keeps reading new large rows doesn't delay others on the shared connections.
private struct LargeRowReads {
    /// The time until which a class counts as one with large rows.
    private var classes = BoundedTable<UInt64, MonotonicInstant>(capacity: 1024)
    /// The time from which a caller's reads count as small.
    private var callers = BoundedTable<ReadOrigin, MonotonicInstant>(capacity: 16 * 1024)

    private static let (memory, caution) = (Duration.seconds(60), Duration.seconds(10))

    func isBarred(_ origin: ReadOrigin, at now: MonotonicInstant) -> Bool {
        guard let end = classes.peek(origin.className), end > now else { return false }
        return callers.peek(origin) == nil || hasReadLarge(origin, at: now)
    }

    /// Whether the caller recently read a large row of the class.
    func hasReadLarge(_ origin: ReadOrigin, at now: MonotonicInstant) -> Bool {
        callers.peek(origin).map { $0 > now } ?? false
    }

    mutating func record(isLarge: Bool, _ origin: ReadOrigin, at now: MonotonicInstant) {
        if isLarge {
            classes.set(now.after(Self.memory), for: origin.className)
            callers.set(now.after(Self.caution), for: origin)
        } else if callers.peek(origin) == nil, classes.peek(origin.className) != nil {
            callers.set(now, for: origin)
        }
    }
}

/// The class and the caller of a read, to recognize slow reads whose statements always differ, and large ones whose
/// keys do.
package struct ReadOrigin: Hashable, Sendable {
    let className: UInt64
    private let sender = Sender.current

    package init(_ className: String) { self.className = StableHash.of(className) }
}

/// Groups reads of similar cost: by statement, order of magnitude of the row limit, and whether more is read for the
/// rows. Each row read by its key also has its own shape.
package struct ReadShape: Hashable, Sendable {
    private let key: StatementKey
    /// The bit width of the maximum row count.
    private let magnitude: Int
    private let leadsToMore: Bool
    /// The hash of the key values of a single-row read, or nil for other reads.
    private var row: Int?
    /// The class and the caller of a read in a class, or nil for other reads. Not part of the shape's identity.
    let origin: ReadOrigin?

    package init(_ key: StatementKey, maxRows: Int, leadsToMore: Bool, origin: ReadOrigin? = nil) {
        self.key = key
        self.origin = origin
        magnitude = Int.bitWidth - max(0, maxRows).leadingZeroBitCount
        self.leadsToMore = leadsToMore
    }

    package init(row statement: EncodedStatement, origin: ReadOrigin? = nil) {
        self.init(statement.key, maxRows: 1, leadsToMore: false, origin: origin)
        row = statement.bytes.hashValue
    }

    var isRow: Bool { row != nil }
    /// The shape shared by reads of all rows with this statement.
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

    /// The approximate size of a history entry in bytes.
    var size: Int { key.sql.utf8.count + 24 * key.slots.count + 256 }
}
