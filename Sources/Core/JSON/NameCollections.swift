public import OrderedCollections

/// Overloads that take names as strings.
extension OrderedDictionary where Key == Name {
    @inlinable
    public subscript(name: String) -> Value? {
        get { self[Name(name)] }
        set { self[Name(name)] = newValue }
    }

    @discardableResult
    public mutating func removeValue(forKey name: String) -> Value? { removeValue(forKey: Name(name)) }
}

extension Dictionary where Key == Name {
    @inlinable
    public subscript(name: String) -> Value? {
        get { self[Name(name)] }
        set { self[Name(name)] = newValue }
    }

    @discardableResult
    public mutating func removeValue(forKey name: String) -> Value? { removeValue(forKey: Name(name)) }
}

extension Set where Element == Name {
    public func contains(_ name: String) -> Bool { contains(Name(name)) }
}

extension Array where Element == Name {
    public func contains(_ name: String) -> Bool { contains(Name(name)) }
}

extension Collection where Element == Name {
    /// The names as strings.
    @inlinable
    public var texts: [String] {
        // Allocates once, because requests use this often.
        var texts: [String] = []
        texts.reserveCapacity(count)
        for name in self { texts.append(name.text) }
        return texts
    }
}

extension Sequence where Element == String {
    /// The strings as names.
    public var names: [Name] { map { Name($0) } }
}
