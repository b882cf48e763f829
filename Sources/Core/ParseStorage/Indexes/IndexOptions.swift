public import JSON
public import ParseModel

/// The options of an index definition, as in `{"email": 1, "$unique": true, "$where": {"state": "open"}}`.
///
/// Field names never begin with `$`.
public struct IndexOptions: Sendable {
    private(set) var isUnique = false
    /// The SQL condition on the indexed objects, without parameters, or nil for all objects.
    private(set) var condition: String?

    /// Parses the options of a definition.
    ///
    /// - Parameters:
    ///   - definition: The fields and the options.
    ///   - schema: The class at the time the index is created.
    /// - Throws: 102 for unknown options and fields, and for options that the class or PostgreSQL can't support; 105
    ///   for invalid field names.
    public init(_ definition: JSONObject, of schema: ClassSchema) throws(ParseError) {
        for (option, value) in definition where Self.isOption(option.text) {
            switch option {
            case "$unique":
                guard let flag = value.boolValue else { throw Self.refusal("$unique must be a boolean") }
                isUnique = flag
            case "$where": condition = try IndexCondition(value, of: schema).sql
            default: throw Self.refusal("\(option) does not exist")
            }
        }
        guard isUnique || condition != nil else { return }
        for column in Self.columns(of: definition).keys {
            let field = IndexDefinition.field(column.text, of: schema)
            // If an unknown field were ignored, the remaining ones would wrongly become unique.
            guard let type = schema.type(of: field) else {
                throw ParseError(
                    ParseError.invalidQuery, "Field \(column) does not exist, cannot add index.")
            }
            guard !type.isRelation else {
                throw Self.refusal("\(field) is a Relation, which doesn't support index options")
            }
            guard !isUnique || Self.canBeUnique(type, kind: definition[column]) else {
                throw Self.refusal("$unique can't be used with the \(type) field \(field)")
            }
        }
    }

    /// Returns the indexed fields of a definition, without its options.
    public static func columns(of definition: JSONObject) -> JSONObject {
        definition.filter { !isOption($0.key.text) }
    }

    /// Returns all fields that an index depends on, including those of its `$where`.
    static func keys(of definition: JSONObject) -> [String] {
        columns(of: definition).keys.texts + (definition["$where"]?.objectValue ?? [:]).keys.texts
    }

    static func refusal(_ reason: String) -> ParseError {
        ParseError(ParseError.invalidQuery, "Invalid index option: \(reason).")
    }

    private static func isOption(_ key: String) -> Bool { key.hasPrefix("$") }

    /// Whether a field's index can be unique: the type needs an order, and the index isn't for text search.
    private static func canBeUnique(_ type: FieldType, kind: JSONValue?) -> Bool {
        switch type {
        case .string: kind != "text"
        case .number, .boolean, .date, .pointer, .file: true
        case .object, .array, .bytes, .geoPoint, .polygon, .acl, .relation: false
        }
    }
}
