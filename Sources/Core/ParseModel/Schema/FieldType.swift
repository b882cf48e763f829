import JSON

/// The type of a field, as named in `_SCHEMA` and the schemas API.
public enum FieldType: Hashable, Sendable, CustomStringConvertible {
    case string, number, boolean, date, object, array, bytes, file, geoPoint, polygon, acl
    /// A reference to an object of a class.
    case pointer(Name)
    /// A set of references to objects of a class, stored in a join table.
    case relation(Name)

    /// Parses a type name, with the target class if the type has one.
    ///
    /// Very old versions of parse-server wrote `map` for `Object`.
    public init?(name: String, targetClass: Name?) {
        switch name {
        case "String": self = .string
        case "Number": self = .number
        case "Boolean": self = .boolean
        case "Date": self = .date
        case "Object", "map": self = .object
        case "Array": self = .array
        case "Bytes": self = .bytes
        case "File": self = .file
        case "GeoPoint": self = .geoPoint
        case "Polygon": self = .polygon
        case "ACL": self = .acl
        case "Pointer":
            guard let targetClass else { return nil }
            self = .pointer(targetClass)
        case "Relation":
            guard let targetClass else { return nil }
            self = .relation(targetClass)
        default: return nil
        }
    }

    /// The type name without the target class: `Pointer`, `Number`.
    public var name: String {
        switch self {
        case .string: "String"
        case .number: "Number"
        case .boolean: "Boolean"
        case .date: "Date"
        case .object: "Object"
        case .array: "Array"
        case .bytes: "Bytes"
        case .file: "File"
        case .geoPoint: "GeoPoint"
        case .polygon: "Polygon"
        case .acl: "ACL"
        case .pointer: "Pointer"
        case .relation: "Relation"
        }
    }

    /// The target class of a pointer or relation, or nil for other types.
    public var targetClass: Name? {
        switch self {
        case .pointer(let target), .relation(let target): target
        default: nil
        }
    }

    /// Whether the field is stored in a join table and has no column.
    public var isRelation: Bool {
        if case .relation = self { true } else { false }
    }

    /// The format in error messages: `Pointer<_User>`, `String`.
    public var description: String {
        targetClass.map { "\(name)<\($0)>" } ?? name
    }
}
