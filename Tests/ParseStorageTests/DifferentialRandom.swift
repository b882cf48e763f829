import TestTools

/// The random choices of the differential tests: the same seed gives the same cases, so that a failure can be repeated.
struct DifferentialRandom: RandomNumberGenerator, Sendable {
    private var generator: SplitMix64

    init(seed: UInt64) { generator = SplitMix64(seed: seed) }

    mutating func next() -> UInt64 { generator.next() }

    /// A number from 0 up to, but without, `limit`, which is at least 1.
    mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &self) }

    /// True so many times out of a hundred.
    mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

    /// One of the values, of which there is at least one.
    mutating func pick<T>(_ values: [T]) -> T { values[below(values.count)] }

    /// Values made one by one.
    mutating func list<T>(_ counts: ClosedRange<Int>, _ make: (inout DifferentialRandom) -> T) -> [T] {
        let count = Int.random(in: counts, using: &self)
        return (0..<count).map { _ in make(&self) }
    }
}
