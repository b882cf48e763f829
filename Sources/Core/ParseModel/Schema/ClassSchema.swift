import JSON
import OrderedCollections

/// One field of a class.
public struct Field: Hashable, Sendable {
    /// The field's type.
    public var type: FieldType
    /// What the definition says of whether a value is demanded; nil when it says nothing.
    public var required: Bool?
    /// Whether an object without a value for it is refused.
    public var isRequired: Bool { required ?? false }
    /// What a new object gets when it brings no value.
    public var defaultValue: JSONValue?
    /// Whether writes that bring no value for it are refused or completed.
    public var concernsAbsence: Bool { defaultValue != nil || isRequired }

    /// Makes a field; without options it is neither required nor has it a default.
    public init(_ type: FieldType, required: Bool? = nil, defaultValue: JSONValue? = nil) {
        self.type = type
        self.required = required
        self.defaultValue = defaultValue
    }

    /// The form that `_SCHEMA` rows and the schemas API hold.
    public var json: JSONObject {
        var object: JSONObject = ["type": .string(type.name)]
        if let target = type.targetClass { object["targetClass"] = .string(target.text) }
        if let required { object["required"] = .bool(required) }
        if let defaultValue { object["defaultValue"] = defaultValue }
        return object
    }

    /// Reads that form; nil when it has no type that Parse knows.
    public init?(json: JSONValue) {
        guard let name = json["type"]?.stringValue,
            let type = FieldType(name: name, targetClass: json["targetClass"]?.nameValue)
        else { return nil }
        self.init(type, required: json["required"]?.boolValue, defaultValue: json["defaultValue"])
    }
}

/// Where the objects of a class lie.
public enum ClassPlacement: Hashable, Sendable {
    /// On the server that is connected to.
    case local
    /// A copy on every server.
    case reference
    /// Each on the server that the hash of a field's value names.
    case rows(by: Name)
}

/// What the server knows about a class: its fields, permissions and indexes.
public struct ClassSchema: Sendable {
    /// The class's name, which is its table's name too.
    public let name: String
    /// The fields by name, the default ones included, in the order of their creation.
    public var fields: OrderedDictionary<Name, Field>
    /// The class-level permissions; nil when none were ever set, which opens every operation.
    public var permissions: ClassLevelPermissions?
    /// Indexes as the schemas API lists them, by name; empty when there are none.
    public var indexes: JSONObject
    /// Where its objects lie.
    public var placement = ClassPlacement.local

    /// Makes a schema from its parts; default columns are added where they are missing.
    public init(
        name: String, fields: OrderedDictionary<Name, Field> = [:], permissions: ClassLevelPermissions? = nil,
        indexes: JSONObject = [:]
    ) {
        self.name = name
        self.fields = SystemClass.defaultFields(of: name)
        for (field, value) in fields { self.fields[field] = value }
        self.permissions = permissions
        self.indexes = indexes
    }

    /// The permissions in force: those that were set, or everything open.
    public var effectivePermissions: ClassLevelPermissions { permissions ?? .open }

    /// Whether an object can be refused because of the values that another has.
    public var hasUniqueFields: Bool {
        name.hasPrefix("_") || indexes.values.contains { $0["$unique"]?.boolValue ?? false }
    }

    /// The field by whose values its objects lie on several servers; nil where they are together.
    public var distributedBy: Name? {
        guard case .rows(let field) = placement else { return nil }
        return field
    }

    /// The type of a field, or nil when the class has no such field.
    public func type(of field: String) -> FieldType? {
        // Without a copy of the whole field, which this is called too often for.
        fields.index(forKey: Name(field)).map { fields.values[$0].type }
    }

    /// Whether the class has no such field yet.
    ///
    /// - Throws: 111 when it has one of another type.
    public func lacks(_ field: String, of type: FieldType) throws(ParseError) -> Bool {
        guard let known = self.type(of: field) else { return true }
        guard known == type else {
            throw ParseError(
                ParseError.incorrectType, "schema mismatch for \(name).\(field); expected \(known) but got \(type)")
        }
        return false
    }

    /// The fields that the class lacks.
    ///
    /// - Throws: 111 when it has one of another type.
    public func missing(_ fields: OrderedDictionary<Name, Field>) throws(ParseError) -> OrderedDictionary<Name, Field> {
        var missing: OrderedDictionary<Name, Field> = [:]
        for (name, field) in fields where try lacks(name.text, of: field.type) { missing[name] = field }
        return missing
    }
}
