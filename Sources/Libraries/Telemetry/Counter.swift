import Synchronization

/// A number that only increases. Adding doesn't block.
public final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    public func add(_ number: Int = 1) { count.wrappingAdd(number, ordering: .relaxed) }

    public var value: Int { count.load(ordering: .relaxed) }
}

/// A number that can increase and decrease. Updating doesn't block.
public final class Gauge: Sendable {
    private let number = Atomic<Int>(0)

    public init() {}

    public func add(_ change: Int) { number.wrappingAdd(change, ordering: .relaxed) }

    public func set(_ value: Int) { number.store(value, ordering: .relaxed) }

    /// Sets the gauge to a value if that is higher.
    public func raise(to value: Int) { number.max(value, ordering: .relaxed) }

    public var value: Int { number.load(ordering: .relaxed) }

    /// Returns the value and resets it to zero.
    public func drain() -> Int { number.exchange(0, ordering: .relaxed) }
}

/// A label with a fixed set of values. ``Counters`` export all from the start, so alerts notice the first increase.
public protocol Label: RawRepresentable<Int>, CaseIterable, Sendable {}

extension Label {
    /// The label value in metrics.
    var text: String { "\(self)" }
}

/// Counters of a metric family, one per label value.
public final class Counters<Value: Label>: Sendable {
    private let counters: [Counter]

    public init() { counters = Value.allCases.map { _ in Counter() } }

    public func add(_ value: Value, _ number: Int = 1) { counters[value.rawValue].add(number) }

    public subscript(value: Value) -> Int { counters[value.rawValue].value }
}
