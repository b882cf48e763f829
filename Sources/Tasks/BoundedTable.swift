/// A table that holds so much at most: what was used longest ago makes room for what is new.
///
/// Each call takes constant time on average.
public struct BoundedTable<Key: Hashable, Value> {
    private struct Node {
        let key: Key
        var value: Value
        var weight: Int
        /// The nodes used just before and after; nil at the ends.
        var older: Int?
        var newer: Int?
    }

    private let capacity: Int
    private var nodes: [Int: Node] = [:]
    private var numbers: [Key: Int] = [:]
    private var lastNumber = 0
    private var oldest: Int?
    private var newest: Int?

    /// The weight of all that it holds.
    public private(set) var weight = 0
    /// How many values it holds.
    public var count: Int { nodes.count }

    /// Makes an empty table.
    ///
    /// - Parameter capacity: The weight of what it holds at most: of values, where each weighs 1.
    public init(capacity: Int) { self.capacity = capacity }

    /// The value of a key, which counts as used now.
    public mutating func value(of key: Key) -> Value? {
        guard let number = numbers[key] else { return nil }
        use(number)
        return nodes[number]?.value
    }

    /// The value of a key, without counting as a use.
    public func peek(_ key: Key) -> Value? { numbers[key].flatMap { nodes[$0]?.value } }

    /// Keeps a value, and drops those used longest ago until there is room. One that weighs more than all is not kept.
    public mutating func set(_ value: Value, for key: Key, weight: Int = 1) {
        remove(key)
        guard weight <= capacity else { return }
        while self.weight > capacity - weight, let oldest { drop(oldest) }
        lastNumber += 1
        nodes[lastNumber] = Node(key: key, value: value, weight: weight, older: nil, newer: nil)
        numbers[key] = lastNumber
        self.weight += weight
        link(lastNumber)
    }

    /// Drops the value of a key.
    ///
    /// - Returns: The value; nil where there was none.
    @discardableResult
    public mutating func remove(_ key: Key) -> Value? {
        guard let number = numbers[key] else { return nil }
        return drop(number)
    }

    /// Drops the values of which something is true. Takes time for each value.
    public mutating func removeAll(where isStale: (Key, Value) -> Bool) {
        for (number, node) in nodes where isStale(node.key, node.value) { drop(number) }
    }

    /// Drops all.
    public mutating func removeAll() { self = Self(capacity: capacity) }

    /// All keys and values, in no order.
    public var all: [(key: Key, value: Value)] { nodes.values.map { ($0.key, $0.value) } }

    @discardableResult
    private mutating func drop(_ number: Int) -> Value? {
        unlink(number)
        guard let node = nodes.removeValue(forKey: number) else { return nil }
        numbers[node.key] = nil
        weight -= node.weight
        return node.value
    }

    private mutating func use(_ number: Int) {
        guard newest != number else { return }
        unlink(number)
        link(number)
    }

    private mutating func unlink(_ number: Int) {
        guard let node = nodes[number] else { return }
        if let older = node.older { nodes[older]?.newer = node.newer } else { oldest = node.newer }
        if let newer = node.newer { nodes[newer]?.older = node.older } else { newest = node.older }
    }

    /// Puts a node that is linked to none at the newer end.
    private mutating func link(_ number: Int) {
        nodes[number]?.older = newest
        nodes[number]?.newer = nil
        if let newest { nodes[newest]?.newer = number } else { oldest = number }
        newest = number
    }
}
