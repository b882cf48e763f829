import JSON
import ParseModel

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// An object of a class: what is stored, and what is to change.
///
/// Changes are kept as operations, so that an increment stays one, whatever others write meanwhile.
public struct ParseObject: Sendable {
    /// The class.
    public let className: String
    /// The id; nil for one that is not stored yet.
    public internal(set) var objectId: String?
    /// When it was made.
    public internal(set) var createdAt: Date?
    /// When it was changed last.
    public internal(set) var updatedAt: Date?
    var stored: JSONObject = [:]
    /// What is to change, by field, as a client sends it.
    package var operations: JSONObject = [:]
    /// Fields that a dotted key of a client changes inside, as they become.
    var changedInside: JSONObject = [:]

    /// Makes a new object, or one that stands for a stored one whose fields are not known.
    public init(_ className: String, objectId: String? = nil) {
        self.className = className
        self.objectId = objectId
    }

    /// An object from a response.
    package init(_ className: String, json: JSONObject) {
        self.init(className)
        take(json)
    }

    /// An object inside another value: one with `__type` and `className`.
    init?(embedded value: JSONValue) {
        guard let object = value.objectValue, let className = object["className"]?.stringValue else { return nil }
        self.init(className, json: object)
    }

    /// Takes over what an answer has.
    mutating func take(_ json: JSONObject) {
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

    /// Whether it is not stored yet.
    public var isNew: Bool { objectId == nil }

    /// The names of the fields that are to change, in the order in which they were changed.
    public var dirtyKeys: [String] { operations.keys.texts }

    /// Whether a field is to change.
    public func isDirty(_ key: String) -> Bool { operations[key] != nil }

    /// The names of all fields that it has, but for id and dates.
    public var keys: [String] { fields.keys.texts }

    /// The value of a field as it becomes; nil for none. To set nil removes the field.
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

    /// The value of a field as a Swift type; nil where there is none.
    ///
    /// - Throws: `DecodingError` for a value of another type.
    public func value<T: Decodable>(_ key: String, as type: T.Type = T.self) throws -> T? {
        guard let value = self[key], !value.isNull else { return nil }
        return try ValueDecoder.decode(type, from: value)
    }

    /// Sets a field.
    ///
    /// - Throws: `EncodingError` for what JSON cannot say.
    public mutating func set(_ key: String, to value: some Encodable) throws {
        change(key, try ValueEncoder.encode(value))
    }

    /// Removes a field.
    public mutating func unset(_ key: String) { change(key, ["__op": "Delete"]) }

    /// Adds to a number, at once with what others add.
    public mutating func increment(_ key: String, by amount: Double = 1) {
        if let operation = operations[key], operation["__op"] == "Increment",
            let before = operation["amount"]?.numberValue
        {
            operations[key] = ["__op": "Increment", "amount": .number(before + amount)]
            return
        }
        combine(key, ["__op": "Increment", "amount": .number(amount)])
    }

    /// Appends to a list.
    public mutating func add(_ values: [JSONValue], to key: String) { combineList(key, "Add", values) }

    /// Appends to a list what it does not have yet.
    public mutating func addUnique(_ values: [JSONValue], to key: String) { combineList(key, "AddUnique", values) }

    /// Takes values out of a list.
    public mutating func remove(_ values: [JSONValue], from key: String) { combineList(key, "Remove", values) }

    /// Puts objects into a relation.
    public mutating func addRelation(_ pointers: [ParsePointer], to key: String) {
        combineList(key, "AddRelation", pointers.map(Self.json))
    }

    /// Takes objects out of a relation.
    public mutating func removeRelation(_ pointers: [ParsePointer], from key: String) {
        combineList(key, "RemoveRelation", pointers.map(Self.json))
    }

    /// Leaves a field as it is stored, whatever was to become of it.
    public mutating func revert(_ key: String) {
        operations[key] = nil
        dropChangesInside(key)
    }

    /// Who may read and write it; nil where everybody may, or it was not set.
    public var acl: ParseACL? {
        get { try? value("ACL") }
        set { self["ACL"] = newValue.flatMap { try? ValueEncoder.encode($0) } }
    }

    /// A pointer to it; nil for one that is not stored yet.
    public var pointer: ParsePointer? { objectId.map { ParsePointer(className, $0) } }

    private static func json(_ pointer: ParsePointer) -> JSONValue {
        [
            "__type": "Pointer", "className": .string(pointer.className), "objectId": .string(pointer.objectId),
        ]
    }

    private mutating func change(_ key: String, _ value: JSONValue) {
        guard !["objectId", "createdAt", "updatedAt", "className"].contains(key) else { return }
        dropChangesInside(key)
        operations[key] = value
    }

    /// Drops a client's changes inside a field: the code's value already includes them.
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

    /// Sets the value that results from two operations on the same field.
    private mutating func combine(_ key: String, _ operation: JSONValue) {
        if operations[key] == nil, changedInside[key] == nil { return change(key, operation) }
        guard let value = Self.applied(operation, to: self[key]) else { return change(key, operation) }
        change(key, value)
    }

    private static func applied(_ operation: JSONValue, to value: JSONValue?) -> JSONValue? {
        guard let operation = try? FieldOperation(json: operation, isCreating: false) else { return value }
        return operation.applied(to: value)
    }

    /// All fields as they become, but for id and dates.
    var fields: JSONObject {
        var fields = stored
        for (key, value) in changedInside { fields[key] = value }
        for key in operations.keys where !key.utf8.contains(UInt8(ascii: ".")) { fields[key] = self[key.text] }
        return fields
    }

    /// The object as clients get it.
    var json: JSONObject {
        var json: JSONObject = [:]
        json["objectId"] = objectId.map { .string($0) }
        json["createdAt"] = createdAt.map { .string($0.parseDate.iso) }
        json["updatedAt"] = updatedAt.map { .string($0.parseDate.iso) }
        json.merge(fields) { $1 }
        return json
    }

    /// The object as a part of another value. One with unsaved changes, or without fields, is its pointer, as with
    /// Parse's SDKs.
    var embedded: JSONObject {
        if let objectId, !operations.isEmpty || stored.isEmpty && createdAt == nil {
            return ["__type": "Pointer", "className": .string(className), "objectId": .string(objectId)]
        }
        var json: JSONObject = ["__type": "Object", "className": .string(className)]
        json.merge(self.json) { $1 }
        return json
    }
}

/// An object can be a part of values that are coded.
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

/// A class of the app as a Swift type: its properties are fields.
///
/// ```swift
/// struct Review: ParseRecord {
///     static let className = "Review"
///     var objectId: String?
///     var stars: Int?
/// }
/// ```
///
/// Fields may be missing in stored objects, and in those that clients send: properties are optional unless clients must
/// send them. Fields that the type does not have stay as they are.
public protocol ParseRecord: Codable, Sendable {
    /// The name of the class.
    static var className: String { get }
    /// The id; nil for one that is not stored yet.
    var objectId: String? { get set }
}

extension ParseRecord {
    /// The record of an object; throws `DecodingError` for fields of other types.
    init(_ object: ParseObject) throws { self = try ValueDecoder.decode(from: .object(object.json)) }

    func fields() throws -> JSONObject {
        var fields = try ValueEncoder.encodeObject(self)
        for key in ["objectId", "createdAt", "updatedAt", "className", "__type"] as [Name] { fields[key] = nil }
        return fields
    }
}
