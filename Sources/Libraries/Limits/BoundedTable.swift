/// A cache with a maximum total weight that evicts the least recently used values.
///
/// Look-ups and changes take constant time on average. The methods used by requests are inlinable, so they are
/// specialized for the key and value types: each request reads several tables.
public struct BoundedTable<Key: Hashable, Value> {
    @usableFromInline struct Node {
        @usableFromInline let key: Key
        @usableFromInline var value: Value
        @usableFromInline var weight: Int
        /// The index of the node used just before this one, or nil at the end.
        @usableFromInline var older: Int?
        @usableFromInline var newer: Int?
    }

    @usableFromInline let capacity: Int
    /// The nodes, with nil in free slots.
    @usableFromInline var nodes: [Node?] = []
    @usableFromInline var emptySlots: [Int] = []
    @usableFromInline var slots: [Key: Int] = [:]
    @usableFromInline var oldest: Int?
    @usableFromInline var newest: Int?

    /// The total weight of all values.
    public internal(set) var weight = 0
    public var count: Int { slots.count }

    /// Creates an empty table.
    ///
    /// - Parameter capacity: Maximum total weight: the number of values if each weighs 1.
    public init(capacity: Int) { self.capacity = capacity }

    /// Returns the value of a key and marks it as used.
    @inlinable public mutating func value(of key: Key) -> Value? {
        guard let place = slots[key] else { return nil }
        use(place)
        return nodes[place]?.value
    }

    /// Returns the value of a key without marking it as used.
    @inlinable public func peek(_ key: Key) -> Value? { slots[key].flatMap { nodes[$0]?.value } }

    /// Stores a value and evicts the least recently used ones until it fits. A value heavier than the capacity isn't
    /// stored, but still removes the key's earlier value.
    ///
    /// - Returns: The evicted values.
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

    /// Removes the value of a key.
    ///
    /// - Returns: The value, or nil if the key didn't exist.
    @discardableResult
    public mutating func remove(_ key: Key) -> Value? {
        guard let place = slots[key] else { return nil }
        return drop(place)
    }

    /// Removes the values that `isStale` selects. Takes linear time.
    public mutating func removeAll(where isStale: (Key, Value) -> Bool) {
        for case (let place, let node?) in nodes.enumerated() where isStale(node.key, node.value) { drop(place) }
    }

    public mutating func removeAll() { self = Self(capacity: capacity) }

    /// All keys and values, in no particular order.
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
        // Copies only the links, because copying the node would retain its key and value.
        let (older, newer) = (nodes[place]?.older, nodes[place]?.newer)
        if let older { nodes[older]?.newer = newer } else { oldest = newer }
        if let newer { nodes[newer]?.older = older } else { newest = older }
    }

    /// Appends an unlinked node at the newest end.
    @inlinable mutating func link(_ place: Int) {
        nodes[place]?.older = newest
        nodes[place]?.newer = nil
        if let newest { nodes[newest]?.newer = place } else { oldest = place }
        newest = place
    }
}
