public import JSON
public import OrderedCollections
public import ParseModel

/// A write of one object, ready for its table.
public struct ObjectWrite: Sendable {
    /// What happens to each key; keys with dots reach inside a value.
    public var operations: OrderedDictionary<Name, FieldOperation> = [:]
    /// The new ACL: nil leaves it as it is.
    public var acl: ACL?
    /// Values of columns that no schema lists (password hash, tokens), by column.
    public var hidden: OrderedDictionary<Name, JSONValue> = [:]
    /// When the object was made; only for new ones.
    public var createdAt: ParseDate?
    /// When the object was last changed.
    public var updatedAt: ParseDate?
    /// The most bytes that the object may have afterwards, as JSON; nil for as many as it likes.
    public var sizeLimit: Int?

    /// A write that changes nothing.
    public init() {}
}
