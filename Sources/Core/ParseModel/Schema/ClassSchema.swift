import JSON
import OrderedCollections

/// A field of a class.
public struct Field: Hashable, Sendable {
    public var type: FieldType
    /// The option `required` of the definition, or nil if it isn't set.
    public var required: Bool?
    /// Whether objects must have a value for the field.
    public var isRequired: Bool { required ?? false }
    /// The value of new objects without one, or nil for no default.
    public var defaultValue: JSONValue?
    /// Whether writes without a value for the field are rejected or completed.
    public var concernsAbsence: Bool { defaultValue != nil || isRequired }

    /// Creates a field. Without options it is optional and has no default.
    public init(_ type: FieldType, required: Bool? = nil, defaultValue: JSONValue? = nil) {
        self.type = type
        self.required = required
        self.defaultValue = defaultValue
    }

    /// The field in the format of `_SCHEMA` rows and the schemas API.
    public var json: JSONObject {
        var object: JSONObject = ["type": .string(type.name)]
        if let target = type.targetClass { object["targetClass"] = .string(target.text) }
        if let required { object["required"] = .bool(required) }
        if let defaultValue { object["defaultValue"] = defaultValue }
        return object
    }

    /// Parses the format of ``json``. Returns nil if the type is unknown or lacks its target class.
    public init?(json: JSONValue) {
        guard let name = json["type"]?.stringValue,
            let type = FieldType(name: name, targetClass: json["targetClass"]?.nameValue)
        else { return nil }
        self.init(type, required: json["required"]?.boolValue, defaultValue: json["defaultValue"])
    }
}

/// The distribution of a class's objects over servers.
public enum ClassPlacement: Hashable, Sendable {
    /// All on the server that Roost connects to.
    case local
    /// A copy on every server.
    case reference
    /// Each on a server chosen by the hash of a field's value.
    case rows(by: Name)
}

/// The schema of a class: its fields, permissions and indexes.
public struct ClassSchema: Sendable {
    /// The class name, which is also the table name.
    public let name: String
    /// The fields by name, default fields first.
    public var fields: OrderedDictionary<Name, Field>
    /// The class-level permissions, or nil if none were ever set, which allows every operation.
    public var permissions: ClassLevelPermissions?
    /// Indexes by name, in the format of the schemas API.
    public var indexes: JSONObject
    public var placement = ClassPlacement.local

    /// Creates a schema. Missing default fields are added.
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

    /// The effective permissions: those that were set, or everything allowed.
    public var effectivePermissions: ClassLevelPermissions { permissions ?? .open }

    /// Whether a unique index may reject an object. Always true for system classes.
    public var hasUniqueFields: Bool {
        name.hasPrefix("_") || indexes.values.contains { $0["$unique"]?.boolValue ?? false }
    }

    /// Returns the type of a field, or nil if the class doesn't have it.
    public func type(of field: String) -> FieldType? {
        // Called often, so it avoids copying the whole field.
        fields.index(forKey: Name(field)).map { fields.values[$0].type }
    }

    /// Whether the class doesn't have a field yet.
    ///
    /// - Throws: 111 if the class has a field of that name with a different type.
    public func lacks(_ field: String, of type: FieldType) throws(ParseError) -> Bool {
        guard let known = self.type(of: field) else { return true }
        guard known == type else {
            throw ParseError(
                ParseError.incorrectType, "schema mismatch for \(name).\(field); expected \(known) but got \(type)")
        }
        return false
    }

    /// Returns the fields that the class doesn't have yet.
    ///
    /// - Throws: 111 if the class has one of the fields with a different type.
    public func missing(_ fields: OrderedDictionary<Name, Field>) throws(ParseError) -> OrderedDictionary<Name, Field> {
        var missing: OrderedDictionary<Name, Field> = [:]
        for (name, field) in fields where try lacks(name.text, of: field.type) { missing[name] = field }
        return missing
    }
}
