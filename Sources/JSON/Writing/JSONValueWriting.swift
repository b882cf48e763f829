import OrderedCollections

extension JSONValue {
    /// The value as compact JSON in UTF-8.
    public func serialized() -> [UInt8] {
        var writer = JSONWriter()
        writer.value(self)
        return writer.bytes
    }

    /// The value as compact JSON.
    public var text: String { String(decoding: serialized(), as: UTF8.self) }
}

extension OrderedDictionary where Key == Name, Value == JSONValue {
    /// The object as compact JSON in UTF-8.
    public func serialized() -> [UInt8] {
        var writer = JSONWriter()
        writer.object(self)
        return writer.bytes
    }

    /// The object as compact JSON.
    public var text: String { String(decoding: serialized(), as: UTF8.self) }
}
