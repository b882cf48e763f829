import JSON
import ParseModel
import Postgres

/// The tables of a class that is distributed, in the session that makes them.
struct DistributedTables {
    let schema: ClassSchema
    let shards: Int
    let session: PostgresSession

    /// Makes the tables what the class's placement says; nothing for one that stays here.
    func place() async throws {
        try await place(name, by: schema.distributedBy, "shard_count => $3::int8::int", .int(Int64(shards)))
    }

    /// Puts a relation's rows where the objects are that have the relation.
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
        // What is made in one transaction is made on one connection to each server, or later statements do not see it.
        _ = try await session.query("SELECT set_config('citus.multi_shard_modify_mode', 'sequential', true)")
        _ = try await session.query(
            "SELECT create_distributed_table($1::text::regclass, $2, \(option))", [table, .text(field.text), value])
    }

    private var name: PostgresParameter { .text(SQL.identifier(schema.name)) }

    /// The columns of a new table. Each part checks its own rows, so that the key has what distinguishes the parts.
    static func columns(of schema: ClassSchema) -> [String] {
        let columns = TableLayout.columnDefinitions(of: schema)
        guard let field = schema.placingField else { return columns }
        let key = " PRIMARY KEY"
        return columns.map { $0.hasSuffix(key) ? String($0.dropLast(key.count)) : $0 }
            + ["PRIMARY KEY (\"objectId\", \(SQL.identifier(field.text)))"]
    }

    /// The type of the ids in a join table: only columns of one type lie together.
    static func idType(of schema: ClassSchema) -> String { schema.distributedBy == nil ? "varchar(120)" : "text" }
}

extension Distribution {
    /// Lists distributed and replicated tables with their distribution columns, sorted by name.
    private static let listing = """
        SELECT c.relname::text, column_to_column_name(p.logicalrelid, p.partkey) FROM pg_dist_partition p \
        JOIN pg_class c ON c.oid = p.logicalrelid \
        WHERE (p.partmethod = 'h' OR p.repmodel = 't') AND pg_table_is_visible(c.oid) ORDER BY 1
        """

    /// Where classes lie that are on other servers.
    static func placements(_ query: (Statement) async throws -> PostgresResult) async throws -> [Name: ClassPlacement] {
        let rows = try await query(Statement(listing))
        var placements: [Name: ClassPlacement] = [:]
        for row in 0..<rows.rowCount {
            guard let table = rows.string(row, 0) else { continue }
            placements[Name(table)] = rows.string(row, 1).map { .rows(by: Name($0)) } ?? .reference
        }
        return placements
    }

    /// Where a class is to lie: where it does, if it has a table.
    func placement(of schema: ClassSchema, _ session: PostgresSession) async throws -> ClassPlacement {
        let known = try await Self.placements { try await session.query($0) }
        if let placement = known[schema.name] { return placement }
        let table = try await session.query(
            "SELECT to_regclass($1) IS NOT NULL", [.text(SQL.identifier(schema.name))])
        return table.bool(0, 0) == true ? .local : placement(of: schema.name)
    }
}
