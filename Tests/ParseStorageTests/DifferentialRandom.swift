/// SplitMix64: the same seed gives the same cases on every machine, so that a failure can be repeated.
struct DifferentialRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

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
