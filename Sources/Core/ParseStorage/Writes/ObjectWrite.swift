public import JSON
public import OrderedCollections
public import ParseModel

/// A validated write of one object.
public struct ObjectWrite: Sendable {
    /// Operations by key. Keys with dots refer to parts of a value.
    public var operations: OrderedDictionary<Name, FieldOperation> = [:]
    /// The new ACL, or nil to keep the current one.
    public var acl: ACL?
    /// Values of columns that no schema lists (password hash, tokens), by column.
    public var hidden: OrderedDictionary<Name, JSONValue> = [:]
    /// The creation date, or nil to keep the current one.
    public var createdAt: ParseDate?
    /// The new date of the last change, or nil to keep the current one.
    public var updatedAt: ParseDate?
    /// The maximum size of the written object in bytes of JSON, or nil for no limit.
    public var sizeLimit: Int?

    /// Creates a write that changes nothing.
    public init() {}
}
