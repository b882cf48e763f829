import JSON
import ParseModel
import Postgres

/// The values of a class of which no two objects may have the same, where its objects lie on several servers, each of which
/// looks at its own.
struct UniqueValues {
    /// The values that one index holds; or the names, addresses and logins of users.
    struct Kind {
        /// The name of the index in the schemas API.
        let name: String
        /// Under which name its rows are kept; nil for the several of users.
        let index: String?
        /// Gives `class`, `index`, `value`, `owner` and `objectId` of each object that has a value.
        let query: String
    }

    private(set) var kinds: [Kind] = []
    /// The fields on which they depend.
    private(set) var fields: Set<Name> = []

    var queries: [String] { kinds.map(\.query) }

    /// Reads a class; nil where PostgreSQL looks after all that must be unique.
    init?(_ schema: ClassSchema) {
        guard schema.distributedBy != nil else { return nil }
        self.init(schema.indexes, of: schema)
        if schema.name == "_User" {
            fields.formUnion(["username", "email", "authData"])
            kinds.append(Self.ofUsers)
        }
        if kinds.isEmpty { return nil }
    }

    /// Reads some indexes of a class.
    init(_ indexes: JSONObject, of schema: ClassSchema) {
        for (name, definition) in indexes {
            let definition = definition.objectValue ?? [:]
            if schema.isUniqueByRows(definition) { add(name.text, definition, schema) }
        }
    }

    /// By the names of the indexes that look after them where all users are on one server.
    static let ofUsers = Kind(
        name: "_User_unique", index: nil,
        query: """
            SELECT '_User' AS "class", n."index", n."value", u."objectId" AS "owner", u."objectId" FROM "_User" AS u \
            CROSS JOIN LATERAL roost_unique_values(u."username", u."email", u."authData") AS n
            """)

    /// What distinguishes objects of a class: those of two rooms, say, may have one id.
    static func owner(_ schema: ClassSchema) -> String {
        schema.placingField.map { "jsonb_build_array(\"objectId\", \(SQL.identifier($0.text)))::text" }
            ?? "\"objectId\""
    }

    /// Under which name the rows of an index are kept.
    static func index(_ name: String, of schema: ClassSchema) -> String {
        IndexName(className: schema.name, name: name).made(part: 0)
    }

    private mutating func add(_ name: String, _ definition: JSONObject, _ schema: ClassSchema) {
        var (values, conditions): ([String], [String]) = ([], [])
        // In one order: PostgreSQL has keys of documents in another than those who send them.
        for key in IndexOptions.columns(of: definition).keys.sorted() {
            let field = IndexDefinition.field(key.text, of: schema)
            guard let type = schema.type(of: field) else { continue }
            let column = SQL.identifier(field)
            values.append(Self.text(column, type))
            // As in an index, what has no value is like nothing else.
            conditions.append("\(column) IS NOT NULL")
        }
        if let condition = (try? IndexOptions(definition, of: schema))?.condition {
            conditions.append("(\(condition))")
        }
        let index = Self.index(name, of: schema)
        let query = """
            SELECT \(SQL.literal(schema.name)) AS "class", \(SQL.literal(index)) AS "index", \
            roost_unique_value(jsonb_build_array(\(values.joined(separator: ", ")))::text) AS "value", \
            \(Self.owner(schema)) AS "owner", "objectId" \
            FROM \(SQL.identifier(schema.name)) WHERE \(conditions.joined(separator: " AND "))
            """
        kinds.append(Kind(name: name, index: index, query: query))
        fields.formUnion(IndexOptions.keys(of: definition).map { Name(IndexDefinition.field($0, of: schema)) })
    }

    /// A column as what is equal exactly when its values are.
    private static func text(_ column: String, _ type: FieldType) -> String {
        switch type {
        case .number, .boolean: column
        // In no session's zone.
        case .date: "\(column) AT TIME ZONE 'UTC'"
        default: "\(column)::text"
        }
    }
}

extension ClassSchema {
    /// Whether the values of an index are unique by rows of their own: objects that have the same ones may lie on
    /// several servers.
    ///
    /// - Parameter definition: The fields of the index, and its options.
    func isUniqueByRows(_ definition: JSONObject) -> Bool {
        guard let distributedBy, definition["$unique"]?.boolValue == true else { return false }
        return !IndexOptions.columns(of: definition).keys.contains {
            Name(IndexDefinition.field($0.text, of: self)) == distributedBy
        }
    }

    /// The indexes of a class that are unique by rows of their own.
    var indexesUniqueByRows: JSONObject {
        distributedBy == nil ? [:] : indexes.filter { isUniqueByRows($0.value.objectValue ?? [:]) }
    }
}
