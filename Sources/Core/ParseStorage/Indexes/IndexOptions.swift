public import JSON
public import ParseModel

/// What the definition of an index says besides its fields: `{"email": 1, "$unique": true, "$where": {"state": "open"}}`.
///
/// No field has a name that begins with `$`.
public struct IndexOptions: Sendable {
    /// Whether no two objects may have the same values.
    let isUnique: Bool
    /// The condition on the objects that are in the index, as SQL without parameters; nil when all are.
    let condition: String?

    /// Reads the options of a definition.
    ///
    /// - Parameters:
    ///   - definition: The fields and the options.
    ///   - schema: The class, as it is when the index is made.
    /// - Throws: 102 for options that do not exist, and for those that do not fit the class or PostgreSQL; 105 for names
    ///   that no field has.
    public init(_ definition: JSONObject, of schema: ClassSchema) throws(ParseError) {
        var isUnique = false
        var condition: String?
        for (option, value) in definition where Self.isOption(option.text) {
            switch option {
            case "$unique":
                guard let flag = value.boolValue else { throw Self.refusal("$unique must be a boolean") }
                isUnique = flag
            case "$where": condition = try IndexCondition(value, of: schema).sql
            default: throw Self.refusal("\(option) does not exist")
            }
        }
        self.isUnique = isUnique
        self.condition = condition
        guard isUnique || condition != nil else { return }
        for column in Self.columns(of: definition).keys {
            let field = IndexDefinition.field(column.text, of: schema)
            // Left out, the others would be unique that were not meant to be.
            guard let type = schema.type(of: field) else {
                throw ParseError(
                    ParseError.invalidQuery, "Field \(column) does not exist, cannot add index.")
            }
            guard !type.isRelation else {
                throw Self.refusal("\(field) is a Relation, which can have no options")
            }
            guard !isUnique || Self.canBeUnique(type, kind: definition[column]) else {
                throw Self.refusal("$unique can't be used with the \(type) \(field)")
            }
        }
    }

    /// What an index is over: the members of its definition that are no options.
    public static func columns(of definition: JSONObject) -> JSONObject {
        definition.filter { !isOption($0.key.text) }
    }

    /// The keys of all fields that an index cannot be without.
    static func keys(of definition: JSONObject) -> [String] {
        columns(of: definition).keys.texts + (definition["$where"]?.objectValue ?? [:]).keys.texts
    }

    static func refusal(_ reason: String) -> ParseError {
        ParseError(ParseError.invalidQuery, "Invalid index option: \(reason).")
    }

    private static func isOption(_ key: String) -> Bool { key.hasPrefix("$") }

    /// Only types with an order can be unique.
    private static func canBeUnique(_ type: FieldType, kind: JSONValue?) -> Bool {
        switch type {
        case .string: kind != "text"
        case .number, .boolean, .date, .pointer, .file: true
        case .object, .array, .bytes, .geoPoint, .polygon, .acl, .relation: false
        }
    }
}
