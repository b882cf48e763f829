/// A table that holds so much at most: what was used longest ago makes room for what is new.
///
/// Each call takes constant time on average. What requests call is inlinable, to be compiled for the keys and values at
/// hand: each request looks into several tables.
public struct BoundedTable<Key: Hashable, Value> {
    @usableFromInline struct Node {
        @usableFromInline let key: Key
        @usableFromInline var value: Value
        @usableFromInline var weight: Int
        /// The nodes used just before and after; nil at the ends.
        @usableFromInline var older: Int?
        @usableFromInline var newer: Int?
    }

    @usableFromInline let capacity: Int
    /// The values, some slots of them empty.
    @usableFromInline var nodes: [Node?] = []
    @usableFromInline var emptySlots: [Int] = []
    @usableFromInline var slots: [Key: Int] = [:]
    @usableFromInline var oldest: Int?
    @usableFromInline var newest: Int?

    /// Its total weight.
    public internal(set) var weight = 0
    /// How many values it holds.
    public var count: Int { slots.count }

    /// Makes an empty table.
    ///
    /// - Parameter capacity: The weight of what it holds at most: of values, where each weighs 1.
    public init(capacity: Int) { self.capacity = capacity }

    /// The value of a key, which counts as used now.
    @inlinable public mutating func value(of key: Key) -> Value? {
        guard let place = slots[key] else { return nil }
        use(place)
        return nodes[place]?.value
    }

    /// The value of a key, without counting as a use.
    @inlinable public func peek(_ key: Key) -> Value? { slots[key].flatMap { nodes[$0]?.value } }

    /// Keeps a value, and drops those used longest ago until there is room. One that weighs more than all is not kept.
    ///
    /// - Returns: The values that made room.
    @discardableResult
    public mutating func set(_ value: Value, for key: Key, weight: Int = 1) -> [Value] {
        if let place = slots[key], nodes[place]?.weight == weight {
            nodes[place]?.value = value
            use(place)
            return []
        }
        remove(key)
        guard weight <= capacity else { return [] }
        var dropped: [Value] = []
        while self.weight > capacity - weight, let oldest, let value = drop(oldest) { dropped.append(value) }
        let node = Node(key: key, value: value, weight: weight, older: nil, newer: nil)
        let place = emptySlots.popLast() ?? nodes.count
        if place == nodes.count { nodes.append(node) } else { nodes[place] = node }
        slots[key] = place
        self.weight += weight
        link(place)
        return dropped
    }

    /// Drops the value of a key.
    ///
    /// - Returns: The value; nil where there was none.
    @discardableResult
    public mutating func remove(_ key: Key) -> Value? {
        guard let place = slots[key] else { return nil }
        return drop(place)
    }

    /// Drops the values of which something is true. Takes time for each value.
    public mutating func removeAll(where isStale: (Key, Value) -> Bool) {
        for case (let place, let node?) in nodes.enumerated() where isStale(node.key, node.value) { drop(place) }
    }

    /// Drops all.
    public mutating func removeAll() { self = Self(capacity: capacity) }

    /// All keys and values, in no order.
    public var all: [(key: Key, value: Value)] { nodes.compactMap { node in node.map { ($0.key, $0.value) } } }

    @discardableResult
    private mutating func drop(_ place: Int) -> Value? {
        guard let node = nodes[place] else { return nil }
        unlink(place)
        nodes[place] = nil
        emptySlots.append(place)
        slots[node.key] = nil
        weight -= node.weight
        return node.value
    }

    @inlinable mutating func use(_ place: Int) {
        guard newest != place else { return }
        unlink(place)
        link(place)
    }

    @inlinable mutating func unlink(_ place: Int) {
        // The links alone: a copy of the node would retain its key and its value.
        let (older, newer) = (nodes[place]?.older, nodes[place]?.newer)
        if let older { nodes[older]?.newer = newer } else { oldest = newer }
        if let newer { nodes[newer]?.older = older } else { newest = older }
    }

    /// Puts a node that is linked to none at the newer end.
    @inlinable mutating func link(_ place: Int) {
        nodes[place]?.older = newest
        nodes[place]?.newer = nil
        if let newest { nodes[newest]?.newer = place } else { oldest = place }
        newest = place
    }
}
