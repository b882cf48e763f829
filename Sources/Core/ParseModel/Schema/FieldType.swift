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
        case "map": self = .object
        case "Pointer", "Relation":
            guard let targetClass else { return nil }
            self = name == "Pointer" ? .pointer(targetClass) : .relation(targetClass)
        default:
            guard let type = Self.withoutTarget.first(where: { $0.name == name }) else { return nil }
            self = type
        }
    }

    private static let withoutTarget: [FieldType] = [
        .string, .number, .boolean, .date, .object, .array, .bytes, .file, .geoPoint, .polygon, .acl,
    ]

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
