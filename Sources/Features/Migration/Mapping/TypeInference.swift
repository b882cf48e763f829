import BSON
import JSON
import OrderedCollections
import ParseModel

/// Infers the field types of a class without a schema from all of its objects.
struct TypeInference: Sendable {
    /// The number of values per field and type.
    private(set) var types: OrderedDictionary<Name, [FieldType: Int]> = [:]

    /// The maximum number of fields, more than any real class has. Later fields are reported as unknown.
    private static let maxFields = 5000

    mutating func add(_ record: SourceRecord, of className: Name) {
        switch record {
        case .mongo(let document):
            for member in document.members { add(member.value, member.key, className) }
        case .rest(let object):
            for (key, value) in object { if let type = Self.type(of: value) { count(key, type) } }
        case .unreadable: break
        }
    }

    private mutating func add(_ value: BSONValue, _ key: Name, _ className: Name) {
        guard key != "_id" else { return }
        if key.hasPrefix("_p_") {
            guard let pointer = MongoFields.pointer(value) else { return }
            return count(MongoNames.field(key, of: className), .pointer(Name(pointer.className)))
        }
        if let type = Self.type(of: value) { count(MongoNames.field(key, of: className), type) }
    }

    private mutating func count(_ field: Name, _ type: FieldType) {
        guard types[field] != nil || types.count < Self.maxFields else { return }
        types[field, default: [:]][type, default: 0] += 1
    }

    /// Returns the type of a MongoDB value, or nil if it is null or Parse has no such type.
    static func type(of value: BSONValue) -> FieldType? {
        switch value {
        case .double, .int32, .int64, .decimal128: .number
        case .string, .objectID, .symbol: .string
        case .bool: .boolean
        case .date: .date
        case .array: .array
        case .binary: .bytes
        case .document(let document):
            if let pointer = MongoFields.pointer(value) {
                .pointer(Name(pointer.className))
            } else if document["type"]?.stringValue == "Polygon", MongoFields.corners(document) != nil {
                .polygon
            } else {
                .object
            }
        default: nil
        }
    }

    /// Returns the type of a REST value, or nil if it is null or Parse has no such type.
    static func type(of value: JSONValue) -> FieldType? {
        switch value {
        case .null: return nil
        case .bool: return .boolean
        case .number: return .number
        case .string: return .string
        case .array: return .array
        case .object:
            switch value["__type"]?.stringValue {
            case "Date": return .date
            case "Bytes": return .bytes
            case "File": return .file
            case "GeoPoint": return .geoPoint
            case "Polygon": return .polygon
            case "Pointer": return value["className"]?.nameValue.map { .pointer($0) }
            case "Relation": return value["className"]?.nameValue.map { .relation($0) }
            default: return .object
            }
        }
    }
}
