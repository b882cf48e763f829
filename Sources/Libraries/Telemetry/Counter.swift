import Synchronization

/// A number that only grows. Threads add to it without waiting.
public final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    /// A counter at zero.
    public init() {}

    /// Adds to it.
    public func add(_ number: Int = 1) { count.wrappingAdd(number, ordering: .relaxed) }

    /// The current count.
    public var value: Int { count.load(ordering: .relaxed) }
}

/// A number that goes up and down.
public final class Gauge: Sendable {
    private let number = Atomic<Int>(0)

    /// A gauge at zero.
    public init() {}

    /// Raises or lowers it.
    public func add(_ change: Int) { number.wrappingAdd(change, ordering: .relaxed) }

    /// Sets it.
    public func set(_ value: Int) { number.store(value, ordering: .relaxed) }

    /// Raises it to a higher number.
    public func raise(to value: Int) { number.max(value, ordering: .relaxed) }

    /// The value.
    public var value: Int { number.load(ordering: .relaxed) }

    /// What it is; from then on it is zero.
    public func take() -> Int { number.exchange(0, ordering: .relaxed) }
}

/// A label whose values are known: its series are there from the start, so that an alert sees the first increase.
public protocol Label: RawRepresentable<Int>, CaseIterable, Sendable {}

extension Label {
    /// The value as metrics have it.
    var text: String { "\(self)" }
}

/// Counters of one family, one per label value.
public final class Counters<Value: Label>: Sendable {
    private let counters: [Counter]

    /// Counters at zero.
    public init() { counters = Value.allCases.map { _ in Counter() } }

    /// Adds to a value's counter.
    public func add(_ value: Value, _ number: Int = 1) { counters[value.rawValue].add(number) }

    /// The count of a label value.
    public subscript(value: Value) -> Int { counters[value.rawValue].value }
}
