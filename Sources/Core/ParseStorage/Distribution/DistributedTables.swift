import JSON
import ParseModel
import Postgres

/// Distributes the tables of a class, in the session that creates them.
struct DistributedTables {
    let schema: ClassSchema
    let shards: Int
    let session: PostgresSession

    /// Distributes or replicates the class's table, or does nothing for a local class.
    func place() async throws {
        try await place(name, by: schema.distributedBy, "shard_count => $3::int8::int", .int(Int64(shards)))
    }

    /// Distributes or replicates a relation's table like that of its class, by the id of the owning object.
    func place(relation table: String) async throws {
        let field = schema.distributedBy.map { _ in Name("owningId") }
        try await place(.text(SQL.identifier(table)), by: field, "colocate_with => $3", name)
    }

    private func place(
        _ table: PostgresParameter, by field: Name?, _ option: String, _ value: PostgresParameter
    ) async throws {
        if schema.placement == .reference {
            _ = try await session.query("SELECT create_reference_table($1::text::regclass)", [table])
        }
        guard let field else { return }
        // In sequential mode Citus uses one connection per server, so that later statements of the transaction see the
        // table.
        _ = try await session.query("SELECT set_config('citus.multi_shard_modify_mode', 'sequential', true)")
        _ = try await session.query(
            "SELECT create_distributed_table($1::text::regclass, $2, \(option))", [table, .text(field.text), value])
    }

    private var name: PostgresParameter { .text(SQL.identifier(schema.name)) }

    /// Returns the column definitions of a new table. The primary key includes the distribution column, since each
    /// shard checks uniqueness only within itself.
    static func columns(of schema: ClassSchema) -> [String] {
        guard let field = schema.placingField else { return TableLayout.columnDefinitions(of: schema) }
        return TableLayout.columns(of: schema).map(\.definition)
            + ["PRIMARY KEY (\"objectId\", \(SQL.identifier(field.text)))"]
    }

    /// Returns the type of ids in a join table. Citus colocates only columns of the same type.
    static func idType(of schema: ClassSchema) -> String { schema.distributedBy == nil ? "varchar(120)" : "text" }
}

extension Distribution {
    /// The query for distributed and replicated tables with their distribution columns, sorted by name.
    private static let listing = """
        SELECT c.relname::text, column_to_column_name(p.logicalrelid, p.partkey) FROM pg_dist_partition p \
        JOIN pg_class c ON c.oid = p.logicalrelid \
        WHERE (p.partmethod = 'h' OR p.repmodel = 't') AND pg_table_is_visible(c.oid) ORDER BY 1
        """

    /// Returns the placements of distributed and replicated tables, by table name.
    static func placements(_ query: (Statement) async throws -> PostgresResult) async throws -> [Name: ClassPlacement] {
        let rows = try await query(Statement(listing))
        var placements: [Name: ClassPlacement] = [:]
        for row in 0..<rows.rowCount {
            guard let table = rows.string(row, 0) else { continue }
            placements[Name(table)] = rows.string(row, 1).map { .rows(by: Name($0)) } ?? .reference
        }
        return placements
    }

    /// Returns a class's current placement or, if it has no table yet, the configured one.
    func placement(of schema: ClassSchema, _ session: PostgresSession) async throws -> ClassPlacement {
        let known = try await Self.placements { try await session.query($0) }
        if let placement = known[schema.name] { return placement }
        let table = try await session.query(
            "SELECT to_regclass($1) IS NOT NULL", [.text(SQL.identifier(schema.name))])
        return table.bool(0, 0) == true ? .local : placement(of: schema.name)
    }
}
