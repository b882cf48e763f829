import JSON
import OrderedCollections
import ParseModel
import Rules
import ServerConfiguration

/// A class as declared in the option `schema`, and the changes it makes to the existing class.
struct SchemaDefinition {
    /// The declaration, in the format of the schemas API.
    let json: JSONObject
    let name: String
    let options: Configuration.DeclaredSchemas
    let configuration: Configuration

    /// Missing permissions and, with `strict`, the fields that the declaration lacks or defines with another type.
    var warnings: [String] = []

    init(_ json: JSONObject, _ configuration: Configuration, _ options: Configuration.DeclaredSchemas) {
        self.json = json
        self.configuration = configuration
        self.options = options
        name = json["className"]?.stringValue ?? ""
    }

    /// Returns the class with the declaration applied.
    ///
    /// - Parameter current: The existing class, or nil if it doesn't exist.
    /// - Throws: The errors of the schemas API.
    mutating func applied(to current: ClassSchema?) throws(ParseError) -> ClassSchema {
        guard Names.isClassName(name), !Names.isJoinName(name), !SystemClass.volatileNames.contains(name) else {
            throw ParseError(ParseError.invalidClassName, "schema.definitions: invalid or reserved class \(name).")
        }
        warnings = []
        var schema = current ?? ClassSchema(name: name)
        try applyFields(to: &schema)
        try applyIndexes(to: &schema)
        try applyPermissions(to: &schema, isNew: current == nil)
        return schema
    }

    private mutating func applyFields(to schema: inout ClassSchema) throws(ParseError) {
        let declared = (json["fields"]?.objectValue ?? [:]).filter {
            !SystemClass.isDefaultField($0.key.text, of: name)
        }
        let extra = schema.fields.keys.filter { declared[$0] == nil && !SystemClass.isDefaultField($0.text, of: name) }
        if options.deleteExtraFields {
            for field in extra { schema.fields[field] = nil }
        } else if options.strict, !extra.isEmpty {
            warnings.append(
                "The following fields exist in the database for \"\(name)\", but are missing in the schema : "
                    + "\"\(extra.texts.joined(separator: "\" ,\""))\"")
        }
        var added: JSONObject = [:]
        for (field, definition) in declared {
            guard let known = schema.fields[field] else {
                added[field] = definition
                continue
            }
            let wanted = try SchemaRules.field(definition, name: field.text, of: name)
            if wanted.type == known.type {
                schema.fields[field] = wanted
            } else if options.recreateModifiedFields {
                schema.fields[field] = nil
                added[field] = definition
            } else if options.strict {
                warnings.append(
                    "The field \"\(field)\" type differ between the schema and the database for \"\(name)\"; "
                        + "Schema is defined as \"\(Self.described(wanted.type))\" and current database type is "
                        + "\"\(Self.described(known.type))\"")
            }
        }
        for (field, value) in try SchemaRules.newFields(.object(added), of: name, known: schema) {
            schema.fields[field] = value
        }
    }

    private static func described(_ type: FieldType) -> String {
        type.targetClass.map { "\(type.name) (\($0))" } ?? type.name
    }

    /// Indexes that parse-server or Roost creates itself.
    private static let ownIndexes: [Name: Set<Name>] = [
        "_User": ["case_insensitive_username", "case_insensitive_email", "username_1", "email_1"],
        "_Role": ["name_1"],
    ]

    private func applyIndexes(to schema: inout ClassSchema) throws(ParseError) {
        let own = Self.ownIndexes[name] ?? []
        let declared = (json["indexes"]?.objectValue ?? [:]).filter { $0.key != "_id_" && !own.contains($0.key) }
        if !options.keepUnknownIndexes {
            for index in schema.indexes.keys where index != "_id_" && declared[index] == nil {
                schema.indexes[index] = nil
            }
        }
        var made: JSONObject = [:]
        // The database doesn't preserve the order of object members.
        for (index, fields) in declared where schema.indexes[index].map(fields.isSame) != true {
            schema.indexes[index] = nil
            made[index] = fields
        }
        schema.indexes = try SchemaRules.indexes(.object(made), of: schema, configuration)
    }

    private mutating func applyPermissions(to schema: inout ClassSchema, isNew: Bool) throws(ParseError) {
        let declared = json["classLevelPermissions"]?.orNil
        if declared == nil, isNew { warnings.append("classLevelPermissions not provided for \(name).") }
        guard let permissions = try SchemaRules.permissions(declared ?? [:], fields: schema, configuration) else {
            return
        }
        schema.permissions = Self.closed(permissions, unless: schema.permissions)
    }

    /// Returns the permissions with `addField` denied to all clients, because only the declaration may add fields.
    ///
    /// - Parameter known: The existing permissions, returned unchanged if they are equivalent.
    static func closed(_ permissions: ClassLevelPermissions, unless known: ClassLevelPermissions?)
        -> ClassLevelPermissions
    {
        var source = permissions.source
        source["addField"] = [:]
        let closed = ClassLevelPermissions(json: source)
        if let known, JSONValue.object(known.source).isSame(as: .object(source)) { return known }
        return closed
    }
}

extension JSONValue {
    /// Whether two values are equal regardless of the order of members.
    func isSame(as other: JSONValue) -> Bool {
        switch (self, other) {
        case (.object(let left), .object(let right)):
            left.count == right.count
                && left.allSatisfy { key, value in right[key].map { value.isSame(as: $0) } ?? false }
        case (.array(let left), .array(let right)):
            left.count == right.count && zip(left, right).allSatisfy { $0.isSame(as: $1) }
        default: self == other
        }
    }
}
