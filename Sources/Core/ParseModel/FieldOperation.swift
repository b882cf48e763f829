import JSON

/// The change that a write makes to one field.
public enum FieldOperation: Sendable, Hashable {
    /// Replaces the value. `null` removes it.
    case set(JSONValue)
    case delete
    /// Adds to a number. A missing number counts as 0.
    case increment(Double)
    /// Appends to an array. A missing array counts as empty.
    case add([JSONValue])
    /// Appends elements that the array doesn't have yet.
    case addUnique([JSONValue])
    /// Removes every element that equals one of these.
    case remove([JSONValue])
    /// Adds objects to a relation.
    case addRelation([Pointer])
    /// Removes objects from a relation.
    case removeRelation([Pointer])
    /// Several operations on one field, in order. Only those on relations have an effect.
    case batch([FieldOperation])

    /// Parses a value of a write: a plain value, or `{"__op": …}`.
    ///
    /// - Throws: 107 for malformed or too many operands, 108 for an unsupported operation, 111 for an invalid pointer.
    public init(json value: JSONValue, isCreating: Bool) throws(ParseError) {
        guard let name = value["__op"], name.isTruthy else {
            self = .set(value)
            return
        }
        switch name.stringValue {
        case "Delete": self = .delete
        case "Increment":
            guard let amount = value["amount"]?.numberValue else {
                throw ParseError(107, isCreating ? Self.arrayText : "incrementing must provide a number")
            }
            self = .increment(amount)
        case "Add": self = .add(try Self.objects(value))
        case "AddUnique": self = .addUnique(try Self.objects(value))
        case "Remove": self = .remove(try Self.objects(value))
        case "AddRelation": self = .addRelation(try Self.pointers(value))
        case "RemoveRelation": self = .removeRelation(try Self.pointers(value))
        case "SetOnInsert": self = isCreating ? .set(value["amount"] ?? .null) : .batch([])
        case "Batch":
            guard let list = value["ops"]?.arrayValue else {
                throw ParseError(107, "ops of a Batch must be an array")
            }
            try HardLimits.check(
                list.count, atMost: HardLimits.batchedOperations, "operations in a Batch", code: ParseError.invalidJSON)
            var operations: [FieldOperation] = []
            for element in list {
                guard element["__op"]?.stringValue != "Batch" else {
                    throw ParseError(108, "The Batch operator is not supported yet.")
                }
                operations.append(try FieldOperation(json: element, isCreating: isCreating))
            }
            self = .batch(operations)
        default:
            throw ParseError(
                ParseError.commandUnavailable, "The \(name.stringValue ?? name.text) operator is not supported yet.")
        }
    }

    private static let arrayText = "objects to add must be an array"

    private static func objects(_ value: JSONValue) throws(ParseError) -> [JSONValue] {
        guard let list = value["objects"]?.arrayValue else { throw ParseError(107, arrayText) }
        return list
    }

    private static func pointers(_ value: JSONValue) throws(ParseError) -> [Pointer] {
        var pointers: [Pointer] = []
        let objects = try objects(value)
        try HardLimits.check(
            objects.count, atMost: HardLimits.relatedObjects, "objects in a relation operation",
            code: ParseError.invalidJSON)
        for element in objects {
            guard let pointer = Pointer(json: element) else {
                throw ParseError(ParseError.incorrectType, "This is not a valid Pointer")
            }
            pointers.append(pointer)
        }
        return pointers
    }

    /// Returns the type that a field must have for the operation, or nil if any type will do.
    ///
    /// - Throws: 111 for an object whose `__type` is unknown or whose other members don't fit it.
    public func impliedType() throws(ParseError) -> FieldType? {
        switch self {
        case .set(let value): return try FieldType.inferred(from: value)
        case .delete: return nil
        case .increment: return .number
        case .add, .addUnique, .remove: return .array
        case .addRelation(let pointers), .removeRelation(let pointers):
            return pointers.first.map { .relation(Name($0.className)) }
        case .batch(let operations):
            for operation in operations {
                if let type = try operation.impliedType() { return type }
            }
            return nil
        }
    }

    /// Whether the response to a save contains the new value of the field because of this operation.
    public var isEchoed: Bool {
        switch self {
        case .increment, .add, .addUnique, .remove: true
        default: false
        }
    }

    /// Whether the operation can change a relation, which is stored in a separate table.
    public var isOnRelation: Bool {
        switch self {
        case .addRelation, .removeRelation, .batch: true
        case .set, .delete, .increment, .add, .addUnique, .remove: false
        }
    }

    /// Returns the value after the operation, or nil for no value. Relations are stored in separate tables and stay
    /// unchanged.
    public func applied(to value: JSONValue?) -> JSONValue? {
        let list = value?.arrayValue ?? []
        switch self {
        case .set(let new): return new
        case .delete: return nil
        case .increment(let amount): return .number((value?.numberValue ?? 0) + amount)
        case .add(let objects): return .array(list + objects)
        case .addUnique(let objects):
            var known = Set(list)
            return .array(list + objects.filter { known.insert($0).inserted })
        case .remove(let objects):
            let removed = Set(objects)
            return .array(list.filter { !removed.contains($0) })
        case .addRelation, .removeRelation, .batch: return value
        }
    }

    /// The value of a new object's field after the operation, or nil for no value.
    public var valueOnCreate: JSONValue? {
        switch self {
        case .set(let value): value
        case .increment(let amount): .number(amount)
        case .add(let objects), .addUnique(let objects): .array(objects)
        case .remove: .array([])
        case .delete, .addRelation, .removeRelation, .batch: nil
        }
    }
}

extension FieldType {
    /// Returns the type of a written value, or nil for `null`, which fits any type.
    ///
    /// - Throws: 111 for an object whose `__type` is unknown or whose other members don't fit it.
    public static func inferred(from value: JSONValue) throws(ParseError) -> FieldType? {
        switch value {
        case .null: return nil
        case .bool: return .boolean
        case .number: return .number
        case .string: return .string
        case .array: return .array
        case .object(let object):
            guard let tag = object["__type"] else { return .object }
            let type = tag.stringValue ?? tag.text
            if let inferred = tagged(type, object) { return inferred }
            throw ParseError(ParseError.incorrectType, "This is not a valid \(type)")
        }
    }

    private static func tagged(_ tag: String, _ object: JSONObject) -> FieldType? {
        func isPresent(_ key: String) -> Bool { object[key]?.isTruthy ?? false }
        switch tag {
        case "Pointer", "Relation":
            guard isPresent("className"), let target = object["className"]?.nameValue else { return nil }
            return tag == "Pointer" ? .pointer(target) : .relation(target)
        case "File": return isPresent("name") ? .file : nil
        case "Date": return isPresent("iso") ? .date : nil
        case "GeoPoint":
            return object["latitude"]?.isNull ?? true || object["longitude"]?.isNull ?? true ? nil : .geoPoint
        case "Bytes": return isPresent("base64") ? .bytes : nil
        case "Polygon": return isPresent("coordinates") ? .polygon : nil
        case "Object": return .object
        default: return nil
        }
    }
}
