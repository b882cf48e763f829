import JSON
import ParseModel
import Postgres

/// Columns that a table has though no field of its class is known: left by a deletion of a field that failed half way,
/// or made by hand.
struct ExistingColumns {
    /// The table, quoted.
    let table: String
    let session: PostgresSession

    /// Checks that columns that are to be added can be read as what they are to hold, where they are there already.
    ///
    /// - Parameter columns: Their types as `CREATE TABLE` has them, by their names.
    /// - Throws: 111 for a column that holds something else.
    func check(_ columns: [Name: String], of className: String) async throws {
        let rows = try await session.query(
            """
            SELECT attname::text, format_type(atttypid, NULL) FROM pg_attribute
            WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped AND attname::text = ANY($2)
            """, [.text(table), .textArray(columns.keys.map(\.text))])
        for row in 0..<rows.rowCount {
            guard let name = rows.string(row, 0), let known = rows.string(row, 1),
                let wanted = columns[Name(name)], known != wanted, !Self.alike[wanted, default: []].contains(known)
            else { continue }
            throw ParseError(
                ParseError.incorrectType,
                "schema mismatch for \(className).\(name); the table has a column of this name and of type \(known)")
        }
    }

    /// Types that are read and written like another.
    private static let alike: [String: Set<String>] = [
        "text": ["character varying", "citext"],
        "double precision": ["real", "smallint", "integer", "bigint"],
    ]
}
