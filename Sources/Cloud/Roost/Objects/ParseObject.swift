import JSON
import ParseModel
public import Platform

/// An object of a class, with its stored fields and unsaved changes.
///
/// Changes are recorded as operations, so an increment adds to the current value in the database even if others changed
/// it.
public struct ParseObject: Sendable {
    /// The name of the object's class.
    public let className: String
    /// The object's id, or nil if it has none yet.
    public internal(set) var objectId: String?
    /// The time the object was created, or nil if it isn't saved or loaded yet.
    public internal(set) var createdAt: Date?
    /// The time of the last change, or nil if the object isn't saved or loaded yet.
    public internal(set) var updatedAt: Date?
    var stored: JSONObject = [:]
    /// The unsaved changes by field, in the format of the REST interface.
    package var operations: JSONObject = [:]
    /// The resulting values of fields that a client changed by dotted keys such as `address.city`.
    var changedInside: JSONObject = [:]

    /// Creates a new object, or a reference to a stored object whose fields aren't loaded.
    public init(_ className: String, objectId: String? = nil) {
        self.className = className
        self.objectId = objectId
    }

    package init(_ className: String, json: JSONObject) {
        self.init(className)
        merge(json)
    }

    /// Parses an object within another value. Returns nil without a `className`.
    init?(embedded value: JSONValue) {
        guard let object = value.objectValue, let className = object["className"]?.stringValue else { return nil }
        self.init(className, json: object)
    }

    /// Merges fields in the format of server responses.
    mutating func merge(_ json: JSONObject) {
        for (key, value) in json {
            switch key {
            case "objectId": objectId = value.stringValue
            case "createdAt": createdAt = Date(parseJSON: value)
            case "updatedAt": updatedAt = Date(parseJSON: value)
            case "className", "__type": break
            case _ where value["__op"] == "Delete": stored[key] = nil
            default: stored[key] = value
            }
        }
    }

    /// Whether the object has no id yet.
    public var isNew: Bool { objectId == nil }

    /// The names of the changed fields, in the order of their first change.
    public var dirtyKeys: [String] { operations.keys.texts }

    /// Returns whether a field has an unsaved change.
    public func isDirty(_ key: String) -> Bool { operations[key] != nil }

    /// The names of all fields except `objectId`, `createdAt` and `updatedAt`.
    public var keys: [String] { fields.keys.texts }

    /// The value of a field including unsaved changes, or nil if it isn't set. Setting nil removes the field.
    public subscript(key: String) -> JSONValue? {
        get {
            switch key {
            case "objectId": return objectId.map { .string($0) }
            case "createdAt": return createdAt?.parseJSON
            case "updatedAt": return updatedAt?.parseJSON
            default: break
            }
            guard let operation = operations[key] else { return changedInside[key] ?? stored[key] }
            return Self.applied(operation, to: stored[key])
        }
        set { change(key, newValue ?? ["__op": "Delete"]) }
    }

    /// Decodes the value of a field, or returns nil if it isn't set.
    ///
    /// - Throws: `DecodingError` if the value has another type.
    public func value<T: Decodable>(_ key: String, as type: T.Type = T.self) throws -> T? {
        guard let value = self[key], !value.isNull else { return nil }
        return try ValueDecoder.decode(type, from: value)
    }

    /// Sets a field.
    ///
    /// - Throws: `EncodingError` if JSON can't represent the value.
    public mutating func set(_ key: String, to value: some Encodable) throws {
        change(key, try ValueEncoder.encode(value))
    }

    /// Removes a field.
    public mutating func unset(_ key: String) { change(key, ["__op": "Delete"]) }

    /// Adds to a number. The server adds to the current value, so concurrent increments all count.
    public mutating func increment(_ key: String, by amount: Double = 1) {
        if let operation = operations[key], operation["__op"] == "Increment",
            let before = operation["amount"]?.numberValue
        {
            operations[key] = ["__op": "Increment", "amount": .number(before + amount)]
            return
        }
        combine(key, ["__op": "Increment", "amount": .number(amount)])
    }

    /// Appends values to an array.
    public mutating func add(_ values: [JSONValue], to key: String) { combineList(key, "Add", values) }

    /// Appends the values that an array doesn't contain yet.
    public mutating func addUnique(_ values: [JSONValue], to key: String) { combineList(key, "AddUnique", values) }

    /// Removes values from an array.
    public mutating func remove(_ values: [JSONValue], from key: String) { combineList(key, "Remove", values) }

    /// Adds objects to a relation.
    public mutating func addRelation(_ pointers: [ParsePointer], to key: String) {
        combineRelation(key, "AddRelation", pointers)
    }

    /// Removes objects from a relation.
    public mutating func removeRelation(_ pointers: [ParsePointer], from key: String) {
        combineRelation(key, "RemoveRelation", pointers)
    }

    /// Discards the unsaved change of a field, so that its stored value is kept.
    public mutating func revert(_ key: String) {
        operations[key] = nil
        dropChangesInside(key)
    }

    /// The object's ACL, or nil if it isn't set. Without an ACL, access depends on the class-level permissions alone.
    public var acl: ParseACL? {
        get { try? value("ACL") }
        set { self["ACL"] = newValue.flatMap { try? ValueEncoder.encode($0) } }
    }

    /// A pointer to the object, or nil if it has no id yet.
    public var pointer: ParsePointer? { objectId.map { ParsePointer(className, $0) } }

    private mutating func change(_ key: String, _ value: JSONValue) {
        guard !["objectId", "createdAt", "updatedAt", "className"].contains(key) else { return }
        dropChangesInside(key)
        operations[key] = value
    }

    /// Discards the client's changes of parts of a field (dotted keys), because cloud code sets or reverts all of it.
    private mutating func dropChangesInside(_ key: String) {
        guard changedInside.removeValue(forKey: key) != nil else { return }
        let beginning = Name(key + ".")
        operations.removeAll { $0.key.hasPrefix(beginning) }
    }

    private mutating func combineList(_ key: String, _ name: String, _ values: [JSONValue]) {
        var values = values
        if let operation = operations[key], operation["__op"] == .string(name) {
            values = (operation["objects"]?.arrayValue ?? []) + values
            operations[key] = ["__op": .string(name), "objects": .array(values)]
            return
        }
        combine(key, ["__op": .string(name), "objects": .array(values)])
    }

    private mutating func combineRelation(_ key: String, _ name: String, _ pointers: [ParsePointer]) {
        let objects = pointers.map { JSONValue($0) }
        guard let earlier = operations[key], let kind = earlier["__op"]?.stringValue, kind != name,
            ["AddRelation", "RemoveRelation", "Batch"].contains(kind)
        else { return combineList(key, name, objects) }
        let operation: JSONValue = ["__op": .string(name), "objects": .array(objects)]
        operations[key] = ["__op": "Batch", "ops": .array((earlier["ops"]?.arrayValue ?? [earlier]) + [operation])]
    }

    /// Records an operation on a field. If the field has a change already, records the resulting value instead.
    private mutating func combine(_ key: String, _ operation: JSONValue) {
        if operations[key] == nil, changedInside[key] == nil { return change(key, operation) }
        change(key, Self.applied(operation, to: self[key]) ?? operation)
    }

    private static func applied(_ operation: JSONValue, to value: JSONValue?) -> JSONValue? {
        guard let operation = try? FieldOperation(json: operation, isCreating: false) else { return value }
        return operation.applied(to: value)
    }

    /// All fields including unsaved changes, except `objectId`, `createdAt` and `updatedAt`.
    var fields: JSONObject {
        var fields = stored.merging(changedInside) { $1 }
        for key in operations.keys where !key.utf8.contains(UInt8(ascii: ".")) { fields[key] = self[key.text] }
        return fields
    }

    /// The object in the format of the REST interface.
    var json: JSONObject {
        var json: JSONObject = [:]
        json["objectId"] = objectId.map { .string($0) }
        json["createdAt"] = createdAt.map { .string($0.parseDate.iso) }
        json["updatedAt"] = updatedAt.map { .string($0.parseDate.iso) }
        json.merge(fields) { $1 }
        return json
    }

    /// The object as part of another value: a pointer if it is stored but changed or not loaded, as in Parse's SDKs.
    var embedded: JSONObject {
        if let objectId, !operations.isEmpty || stored.isEmpty && createdAt == nil {
            return ["__type": "Pointer", "className": .string(className), "objectId": .string(objectId)]
        }
        var json: JSONObject = ["__type": "Object", "className": .string(className)]
        json.merge(self.json) { $1 }
        return json
    }
}

extension ParseObject: Codable {
    public init(from decoder: any Decoder) throws {
        guard let decoder = decoder as? ValueDecoder, let object = ParseObject(embedded: decoder.value) else {
            throw CodingOfOthers()
        }
        self = object
    }

    public func encode(to encoder: any Encoder) throws {
        guard let encoder = encoder as? ValueEncoder else { throw CodingOfOthers() }
        encoder.node.content = .value(.object(embedded))
    }
}

/// A Swift type whose properties are the fields of a class.
///
/// ```swift
/// struct Review: ParseRecord {
///     static let className = "Review"
///     var objectId: String?
///     var stars: Int?
/// }
/// ```
///
/// Stored objects and client requests may lack fields, so make properties optional unless clients must send them.
/// Fields without a property are left unchanged.
public protocol ParseRecord: Codable, Sendable {
    /// The name of the class in the database.
    static var className: String { get }
    /// The object's id, or nil if it isn't saved yet.
    var objectId: String? { get set }
}

extension ParseRecord {
    /// Decodes the record of an object. Throws `DecodingError` if a field is missing or has another type.
    init(_ object: ParseObject) throws { self = try ValueDecoder.decode(from: .object(object.json)) }

    func fields() throws -> JSONObject {
        var fields = try ValueEncoder.encodeObject(self)
        for key in ["objectId", "createdAt", "updatedAt", "className", "__type"] as [Name] { fields[key] = nil }
        return fields
    }
}
