import JSON
public import Postgres

/// What the objects of a database say about uploaded files: all of it, whatever their ACLs.
public struct FileReferences: Sendable {
    /// One mention.
    public enum Mention: Sendable {
        /// The name of a file.
        case name(String)
        /// A text that holds the address of one, perhaps.
        case text(String)
    }

    private let client: PostgresClient

    /// Looks at a database.
    public init(client: PostgresClient) { self.client = client }

    private static let columns = """
        SELECT c.table_name::text, c.column_name::text, c.data_type IN ('jsonb', 'json')
        FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
        WHERE c.table_schema = current_schema() AND t.table_type = 'BASE TABLE'
            AND (c.table_name NOT LIKE '\\_roost\\_%' OR (c.table_name, c.column_name) = ('_roost_trash', '_row'))
            AND c.data_type IN ('text', 'character varying', 'jsonb', 'json')
        ORDER BY 1, 2
        """

    /// Asked by itself: a statement that looks at tables of other servers does not see the catalogue of this one.
    private static let fileFieldsQuestion = """
        SELECT "className"::text, key FROM "_SCHEMA", LATERAL jsonb_each("schema" -> 'fields')
        WHERE value ->> 'type' = 'File'
        """

    /// The fields of the type File, by their classes.
    private func fileFields() async throws -> [Name: Set<Name>] {
        let rows = try await client.query(Self.fileFieldsQuestion)
        var fields: [Name: Set<Name>] = [:]
        for row in 0..<rows.rowCount {
            guard let table = rows.string(row, 0), let field = rows.string(row, 1) else { continue }
            fields[Name(table), default: []].insert(Name(field))
        }
        return fields
    }

    /// Gives all mentions: in fields of the type File, in files nested in objects and lists, and addresses in texts.
    ///
    /// - Throws: `PostgresError` when one of the tables cannot be read: no file counts as forgotten then.
    public func visit(_ use: @Sendable (Mention) -> Void) async throws {
        let fields = try await fileFields()
        let columns = try await client.query(Self.columns)
        for row in 0..<columns.rowCount {
            guard let table = columns.string(row, 0), let column = columns.string(row, 1) else { continue }
            let (quotedTable, quoted) = (SQLBuilder.quote(table), SQLBuilder.quote(column))
            if table == "_roost_trash" {
                // Objects that can be restored. Fields of the type File have bare names there.
                try await read(
                    """
                    SELECT mention #>> '{}' FROM \(quotedTable), LATERAL
                        jsonb_path_query(\(quoted), 'lax $.** ? (@.type() == "string")') mention
                    """, atOnce: Self.textsAtOnce
                ) {
                    use(.name($0))
                    use(.text($0))
                }
            } else if columns.bool(row, 2) == true {
                let value = "\(quoted)::jsonb"
                try await read(
                    """
                    SELECT mention #>> '{}' FROM \(quotedTable), LATERAL
                        jsonb_path_query(\(value), 'lax $.** ? (@.__type == "File").name') mention
                    WHERE jsonb_typeof(mention) = 'string'
                    """, atOnce: Self.namesAtOnce
                ) { use(.name($0)) }
                try await read(
                    """
                    SELECT mention #>> '{}' FROM \(quotedTable), LATERAL
                        jsonb_path_query(\(value), 'lax $.** ? (@.type() == "string" && @ like_regex "/files/|://")') mention
                    """, atOnce: Self.textsAtOnce
                ) { use(.text($0)) }
            } else {
                if fields[Name(table)]?.contains(Name(column)) == true {
                    try await read(
                        "SELECT \(quoted) FROM \(quotedTable) WHERE \(quoted) IS NOT NULL", atOnce: Self.namesAtOnce
                    ) { use(.name($0)) }
                }
                try await read(
                    "SELECT \(quoted) FROM \(quotedTable) WHERE \(quoted) ~ '/files/|://'", atOnce: Self.textsAtOnce
                ) { use(.text($0)) }
            }
        }
    }

    /// How many names are read at a time, and how many texts, which may be large.
    private static let (namesAtOnce, textsAtOnce) = (5000, 50)

    /// Reads the texts of a statement, so many at a time.
    private func read(_ sql: String, atOnce: Int, _ use: @Sendable (String) -> Void) async throws {
        try await client.transaction(retries: 0, purpose: .export) { session in
            _ = try await session.query("DECLARE roost_files NO SCROLL CURSOR FOR \(sql)")
            while true {
                let rows = try await session.query("FETCH \(atOnce) FROM roost_files")
                guard rows.rowCount > 0 else { break }
                for row in 0..<rows.rowCount {
                    if let text = rows.string(row, 0) { use(text) }
                }
            }
        }
    }
}
