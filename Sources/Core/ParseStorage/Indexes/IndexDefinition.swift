import JSON
import ParseModel
import Postgres

/// The PostgreSQL indexes that implement one index of the schemas API.
///
/// Fields of several kinds become one index per table and access method, and the planner combines them.
struct IndexDefinition {
    struct Part {
        let table: String
        let method: String
        var keys: [String]
        /// Whether the index serves prefix searches in a database with a language-specific collation.
        var isForPrefixes = false
        var isUnique = false
        /// The SQL condition on the indexed rows, or nil for all rows.
        var condition: String?

        func statement(name: String, concurrently: Bool = false) -> String {
            "CREATE \(isUnique ? "UNIQUE " : "")INDEX \(concurrently ? "CONCURRENTLY " : "")\(SQL.identifier(name)) "
                + "ON \(SQL.identifier(table)) USING \(method) (\(keys.joined(separator: ", ")))"
                + (condition.map { " WHERE \($0)" } ?? "")
        }
    }

    /// The indexes, or an empty list if no field of the definition can be indexed.
    private(set) var parts: [Part] = []

    /// Parses options and fields with their directions or kinds, as in `{"a": 1, "b": -1}` and `{"text": "text"}`.
    ///
    /// - Throws: An error of ``IndexOptions``.
    init(_ fields: JSONObject, of schema: ClassSchema) throws(ParseError) {
        let options = try IndexOptions(fields, of: schema)
        var leadingText: String?
        for (key, kind) in IndexOptions.columns(of: fields) {
            let field = Self.field(key.text, of: schema)
            guard let type = schema.type(of: field) else { continue }
            if type == .string, kind != "text", !parts.contains(where: { $0.method == "btree" }) { leadingText = field }
            add(field, type, kind, schema.name)
        }
        if let leadingText {
            let key = "\(SQL.identifier(leadingText)) text_pattern_ops"
            parts.append(Part(table: schema.name, method: "btree", keys: [key], isForPrefixes: true))
        }
        for part in parts.indices {
            parts[part].isUnique = options.isUnique && !parts[part].isForPrefixes
            parts[part].condition = options.condition
        }
    }

    /// Returns the indexes that the session's database needs. Prefix indexes are needed only if its collation isn't the
    /// C library's C or POSIX.
    func parts(in session: PostgresSession) async throws -> [Part] {
        guard parts.contains(where: \.isForPrefixes) else { return parts }
        let rows = try await session.query(
            "SELECT 1 FROM pg_database AS d WHERE datname = current_database() AND (datcollate NOT IN ('C', 'POSIX') "
                + "OR COALESCE(to_jsonb(d) ->> 'datlocprovider', 'c') <> 'c')")
        return rows.rowCount > 0 ? parts : parts.filter { !$0.isForPrefixes }
    }

    /// Returns the field that a key refers to. MongoDB's pointer columns begin with `_p_`.
    static func field(_ key: String, of schema: ClassSchema) -> String {
        schema.fields[key] == nil ? key.dropping(prefix: "_p_") ?? key : key
    }

    private mutating func add(_ field: String, _ type: FieldType, _ kind: JSONValue, _ className: String) {
        let column = SQL.identifier(field)
        switch type {
        case .acl:
            guard !TableLayout.classesWithoutACL.contains(className) else { return }
            add(className, "gin", ["\"_rperm\""])
        case .relation:
            // This index is for lookups by owner. The primary key serves lookups by related object.
            let table = TableLayout.joinTable(field: field, className: className)
            add(table, "btree", ["\"owningId\"", "\"relatedId\""])
        case _ where !TableLayout.hasColumn(field, of: className, type: type): return
        case .geoPoint, .polygon: add(className, "gist", [column])
        case .array, .object, .bytes: add(className, "gin", ["\(column) jsonb_path_ops"])
        case .string where kind == "text":
            add(className, "gin", [TextCondition.vector(column, language: nil)])
        case .string, .number, .boolean, .date, .pointer, .file:
            let isDescending = (kind.numberValue ?? 1) < 0
            add(className, "btree", ["\(column) \(isDescending ? "DESC" : "ASC")"])
        }
    }

    private mutating func add(_ table: String, _ method: String, _ keys: [String]) {
        if let known = parts.firstIndex(where: { $0.table == table && $0.method == method }) {
            parts[known].keys += keys.filter { !parts[known].keys.contains($0) }
        } else {
            parts.append(Part(table: table, method: method, keys: keys))
        }
    }
}
