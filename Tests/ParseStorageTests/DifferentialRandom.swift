import TestTools

/// Random choices of the differential tests. The same seed produces the same cases, so failures can be reproduced.
struct DifferentialRandom: RandomNumberGenerator, Sendable {
    private var generator: SplitMix64

    init(seed: UInt64) { generator = SplitMix64(seed: seed) }

    mutating func next() -> UInt64 { generator.next() }

    mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &self) }

    mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

    mutating func pick<T>(_ values: [T]) -> T { values[below(values.count)] }

    mutating func list<T>(_ counts: ClosedRange<Int>, _ make: (inout DifferentialRandom) -> T) -> [T] {
        let count = Int.random(in: counts, using: &self)
        return (0..<count).map { _ in make(&self) }
    }
}
