public import OrderedCollections

/// Texts find what is kept under names, and are compared as names.
extension OrderedDictionary where Key == Name {
    /// The value for a name, if any.
    @inlinable
    public subscript(name: String) -> Value? {
        get { self[Name(name)] }
        set { self[Name(name)] = newValue }
    }

    /// Takes away the value of a name.
    @discardableResult
    public mutating func removeValue(forKey name: String) -> Value? { removeValue(forKey: Name(name)) }
}

extension Dictionary where Key == Name {
    /// The value for a name, if any.
    @inlinable
    public subscript(name: String) -> Value? {
        get { self[Name(name)] }
        set { self[Name(name)] = newValue }
    }

    /// Takes away the value of a name.
    @discardableResult
    public mutating func removeValue(forKey name: String) -> Value? { removeValue(forKey: Name(name)) }
}

extension Set where Element == Name {
    /// Whether a text is one of the names.
    public func contains(_ name: String) -> Bool { contains(Name(name)) }
}

extension Array where Element == Name {
    /// Whether a text is one of the names.
    public func contains(_ name: String) -> Bool { contains(Name(name)) }
}

extension Collection where Element == Name {
    /// The names as texts.
    @inlinable
    public var texts: [String] {
        // Requests ask for this, so it is one allocation.
        var texts: [String] = []
        texts.reserveCapacity(count)
        for name in self { texts.append(name.text) }
        return texts
    }
}

extension Sequence where Element == String {
    /// The texts as names.
    public var names: [Name] { map { Name($0) } }
}
