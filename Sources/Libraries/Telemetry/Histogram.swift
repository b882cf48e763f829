import Synchronization

/// A histogram of durations. Recording doesn't block.
public final class Histogram: Sendable {
    /// The upper bounds of the buckets. Longer durations are counted in one more bucket.
    public struct Bounds: Sendable {
        let nanoseconds: [UInt64]
        /// The bounds in seconds, as metrics show them.
        let texts: [String]

        /// Creates bounds from up to 14 texts in seconds, in ascending order.
        init(_ texts: [String]) {
            precondition(texts.count <= Histogram.maxBounds)
            self.texts = texts
            nanoseconds = texts.map { UInt64(((Double($0) ?? 0) * 1e9).rounded()) }
        }

        /// The bounds that OpenTelemetry recommends for HTTP requests.
        public static let requests = Bounds([
            "0.005", "0.01", "0.025", "0.05", "0.075", "0.1", "0.25", "0.5", "0.75", "1", "2.5", "5", "7.5", "10",
        ])
        /// The bounds that OpenTelemetry recommends for database operations.
        public static let database = Bounds(["0.001", "0.005", "0.01", "0.05", "0.1", "0.5", "1", "5", "10"])
    }

    package struct Counts {
        package var buckets = [UInt64](repeating: 0, count: Histogram.maxBounds + 1)
        package var nanoseconds: UInt64 = 0
        package var count: UInt64 { buckets.reduce(0, +) }

        static func += (left: inout Counts, right: Counts) {
            for index in left.buckets.indices { left.buckets[index] += right.buckets[index] }
            left.nanoseconds += right.nanoseconds
        }
    }

    static let maxBounds = 14
    private static let sumIndex = 15

    private let bounds: Bounds
    // Stored inline, so that the numbers of a histogram are adjacent in memory.
    private let first = FourNumbers()
    private let second = FourNumbers()
    private let third = FourNumbers()
    private let fourth = FourNumbers()

    public init(_ bounds: Bounds) { self.bounds = bounds }

    public func record(_ nanoseconds: UInt64) {
        let index = bounds.nanoseconds.firstIndex { nanoseconds <= $0 } ?? Self.maxBounds
        add(1, at: index)
        add(nanoseconds, at: Self.sumIndex)
    }

    public func record(_ duration: Duration) { record(duration.wholeNanoseconds) }

    package var counts: Counts {
        var counts = Counts()
        for index in counts.buckets.indices { counts.buckets[index] = number(at: index) }
        counts.nanoseconds = number(at: Self.sumIndex)
        return counts
    }

    private func add(_ number: UInt64, at index: Int) {
        switch index >> 2 {
        case 0: first.add(number, at: index)
        case 1: second.add(number, at: index)
        case 2: third.add(number, at: index)
        default: fourth.add(number, at: index)
        }
    }

    private func number(at index: Int) -> UInt64 {
        switch index >> 2 {
        case 0: first.number(at: index)
        case 1: second.number(at: index)
        case 2: third.number(at: index)
        default: fourth.number(at: index)
        }
    }
}

private struct FourNumbers: ~Copyable, Sendable {
    private let a = Atomic<UInt64>(0)
    private let b = Atomic<UInt64>(0)
    private let c = Atomic<UInt64>(0)
    private let d = Atomic<UInt64>(0)

    borrowing func add(_ number: UInt64, at index: Int) {
        switch index & 3 {
        case 0: a.wrappingAdd(number, ordering: .relaxed)
        case 1: b.wrappingAdd(number, ordering: .relaxed)
        case 2: c.wrappingAdd(number, ordering: .relaxed)
        default: d.wrappingAdd(number, ordering: .relaxed)
        }
    }

    borrowing func number(at index: Int) -> UInt64 {
        switch index & 3 {
        case 0: a.load(ordering: .relaxed)
        case 1: b.load(ordering: .relaxed)
        case 2: c.load(ordering: .relaxed)
        default: d.load(ordering: .relaxed)
        }
    }
}

/// Histograms by a small key, such as a status. The first key, usually the most frequent one, is stored inline. Others
/// are appended to a list that only grows, so that no lock is needed.
final class NumberedHistograms: Sendable {
    /// The key of the inline histogram, or `none` until one is recorded.
    private let number = Atomic<Int>(none)
    private let histogram: Histogram
    private let next = AtomicLazyReference<NumberedHistograms>()
    private let bounds: Histogram.Bounds

    private static let none = -1

    init(_ bounds: Histogram.Bounds) {
        self.bounds = bounds
        histogram = Histogram(bounds)
    }

    /// Records a duration in the histogram of a key. Use few keys, because their histograms are never freed.
    func record(_ duration: Duration, of number: Int) {
        if holds(number) { return histogram.record(duration) }
        (next.load() ?? next.storeIfNil(NumberedHistograms(bounds))).record(duration, of: number)
    }

    private func holds(_ number: Int) -> Bool {
        let own = self.number.load(ordering: .relaxed)
        guard own == Self.none else { return own == number }
        let (isFirst, other) = self.number.compareExchange(expected: own, desired: number, ordering: .relaxed)
        return isFirst || other == number
    }

    /// The counts of all histograms by key.
    var counts: [Int: Histogram.Counts] {
        var counts = next.load()?.counts ?? [:]
        let number = number.load(ordering: .relaxed)
        if number != Self.none { counts[number] = histogram.counts }
        return counts
    }
}

extension Duration {
    /// The duration in nanoseconds, or zero if negative.
    package var wholeNanoseconds: UInt64 {
        // Durations up to nine seconds don't need 128-bit division.
        if let attoseconds = Int64(exactly: attoseconds) { return UInt64(max(0, attoseconds / 1_000_000_000)) }
        let (seconds, attoseconds) = components
        return UInt64(max(0, seconds * 1_000_000_000 + attoseconds / 1_000_000_000))
    }
}
