import BSON
import JSON
import OrderedCollections
import ParseModel

/// The class schemas of a source, in MongoDB's format or in that of the schemas API.
struct SourceSchema: Sendable {
    struct Class: Sendable {
        var fields: OrderedDictionary<Name, Field> = [:]
        var permissions: JSONObject?
        var indexes: JSONObject = [:]
    }

    private(set) var classes: [Name: Class] = [:]

    init() {}

    /// Reads `_SCHEMA`. Throws ``SourceDamage`` if an entry is unreadable, because its types would have to be guessed.
    init(_ collection: SourceCatalog.Collection) throws {
        let reader = try collection.open()
        while let record = try reader.next() {
            switch record {
            case .mongo(let document): read(document)
            case .rest(let object): read(object)
            case .unreadable(let reason): throw SourceDamage(place: collection.entry.path, reason: reason)
            }
        }
    }

    private mutating func read(_ object: JSONObject) {
        guard let name = object["className"]?.nameValue else { return }
        var found = Class()
        for (field, json) in object["fields"]?.objectValue ?? [:] where !field.hasPrefix("_") {
            found.fields[field] = Field(json: json)
        }
        found.permissions = object["classLevelPermissions"]?.objectValue
        found.indexes = object["indexes"]?.objectValue ?? [:]
        classes[name] = found
    }

    private mutating func read(_ document: BSONDocument) {
        guard let name = document["_id"]?.stringValue.map({ Name($0) }) else { return }
        let metadata = document["_metadata"]?.documentValue
        let options = metadata?["fields_options"]?.documentValue
        var found = Class()
        for member in document.members where !member.key.hasPrefix("_") {
            guard let text = member.value.stringValue, let type = Self.type(text) else { continue }
            let option = options?[member.key]?.documentValue
            var required: Bool?
            if case .bool(let flag)? = option?["required"] { required = flag }
            var losses = Losses()
            let preset = option?["defaultValue"].map { MongoValues.json($0, "", &losses) }
            found.fields[member.key] = Field(type, required: required, defaultValue: preset)
        }
        var losses = Losses()
        found.permissions = metadata?["class_permissions"].flatMap {
            MongoValues.json($0, "", &losses).objectValue
        }
        for member in metadata?["indexes"]?.documentValue?.members ?? [] {
            // The primary-key index keeps MongoDB's field name `_id`, as in Roost's own schemas. Other indexes use
            // Parse's field names.
            if member.key == "_id_" {
                found.indexes["_id_"] = ["_id": 1]
                continue
            }
            guard let keys = member.value.documentValue else { continue }
            let fields = keys.members.map { ($0.key, MongoValues.json($0.value, "", &losses)) }
            found.indexes[member.key] = .object(Self.index(fields, of: name))
        }
        classes[name] = found
    }

    private static func type(_ text: String) -> FieldType? {
        if let target = text.dropping(prefix: "*") { return .pointer(Name(target)) }
        if let rest = text.dropping(prefix: "relation<"), rest.utf8.last == UInt8(ascii: ">") {
            return .relation(Name(rest.dropLast()))
        }
        switch text {
        case "string": return .string
        case "number": return .number
        case "boolean": return .boolean
        case "date": return .date
        case "map", "object": return .object
        case "array": return .array
        case "geopoint": return .geoPoint
        case "file": return .file
        case "bytes": return .bytes
        case "polygon": return .polygon
        default: return nil
        }
    }

    private static func index(_ keys: [(Name, JSONValue)], of className: Name) -> JSONObject {
        var fields: JSONObject = [:]
        for (key, kind) in keys { fields[MongoNames.field(key, of: className)] = kind == "hashed" ? 1 : kind }
        return fields
    }

    /// Adds the indexes that mongodump's metadata lists but `_SCHEMA` doesn't.
    ///
    /// - Returns: Notes on indexes that Roost can't create.
    mutating func addIndexes(_ metadata: JSONValue, of className: Name) -> [String] {
        guard var found = classes[className] else { return [] }
        var notes: [String] = []
        for index in metadata["indexes"]?.arrayValue ?? [] {
            guard let name = index["name"]?.nameValue, found.indexes[name] == nil, name != "_id_",
                let document = index["key"]?.objectValue
            else { continue }
            // Every server creates the indexes of system classes itself.
            if className.hasPrefix("_") { continue }
            var losses = Losses()
            var keys = document.map { ($0.key, MongoValues.json(ExtendedJSON.value($0.value), "", &losses)) }
            if let weights = index["weights"]?.objectValue { keys = weights.keys.map { ($0, "text") } }
            var fields = Self.index(keys, of: className)
            let isKnown = fields.keys.allSatisfy { found.fields[$0] != nil || SystemClass.commonFields[$0] != nil }
            guard isKnown, index["partialFilterExpression"] == nil, index["expireAfterSeconds"] == nil else {
                notes.append("\(className): the index \(name) is skipped: PostgreSQL has no equivalent")
                continue
            }
            if index["unique"]?.boolValue == true { fields["$unique"] = true }
            found.indexes[name] = .object(fields)
        }
        classes[className] = found
        return notes
    }
}
