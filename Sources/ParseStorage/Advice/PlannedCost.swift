import JSON
import Postgres

/// What PostgreSQL's planner says a question costs, without running it.
struct PlannedCost {
    let session: PostgresSession
    let facts: DatabaseFacts

    /// The schema of what plans with indexes that there are not, the extension `hypopg`; nil where it is not there.
    static func suppositions(_ session: PostgresSession) async throws -> String? {
        let rows = try await session.query(PostgresClient.extensionSchema, [.text("hypopg")])
        return rows.rowCount > 0 ? rows.string(0, 0) : nil
    }

    /// The share of the cost that is left of questions with an index that there is not; nil for what cannot be planned.
    ///
    /// - Parameter extensionSchema: The schema of `hypopg`, as ``suppositions(_:)`` gives it.
    /// - Throws: `PostgresError`.
    func rests(of shapes: [StatementShape], with candidate: IndexCandidate, by extensionSchema: String) async throws
        -> [Double?]
    {
        var before: [Double?] = []
        for shape in shapes { before.append(try await plan(of: shape)?.cost) }
        _ = try await session.query(
            "SELECT \(extensionSchema).hypopg_create_index($1)", [.text("CREATE INDEX \(candidate.definition)")])
        var rests: [Double?] = []
        do {
            for (shape, before) in zip(shapes, before) {
                let after = try await plan(of: shape)?.cost
                rests.append(before.flatMap { before in after.map { min(1, $0 / max(before, 1)) } })
            }
        } catch {
            _ = try? await session.query("SELECT \(extensionSchema).hypopg_reset()")
            throw error
        }
        _ = try await session.query("SELECT \(extensionSchema).hypopg_reset()")
        return rests
    }

    /// The cost of a question as the planner sees it, and the indexes that it would use; nil for what cannot be planned.
    ///
    /// - Throws: `PostgresError` when the connection is lost.
    func plan(of shape: StatementShape) async throws -> (cost: Double, indexes: Set<String>)? {
        guard let sql = try await statement(for: shape) else { return nil }
        let rows = try await session.query("EXPLAIN (FORMAT JSON) \(sql)")
        guard let bytes = rows.jsonb(0, 0), let plan = try? JSONValue(parsing: bytes).arrayValue?.first?["Plan"],
            let cost = plan["Total Cost"]?.numberValue
        else { return nil }
        var indexes: Set<String> = []
        func visit(_ node: JSONValue) {
            if let name = node["Index Name"]?.stringValue { indexes.insert(name) }
            for part in node["Plans"]?.arrayValue ?? [] { visit(part) }
        }
        visit(plan)
        return (cost, indexes)
    }

    /// A statement of the shape, with values that are common in its columns.
    func statement(for shape: StatementShape) async throws -> String? {
        guard let stored = facts.tables[shape.table], shape.distinct == nil else { return nil }
        let values = try await commonValues(of: shape, stored)
        var conditions: [String] = []
        func text(_ column: Name, _ value: String) -> String {
            "\(SQL.literal(value))::\(stored.column(column.text)?.typeName ?? "text")"
        }
        for column in shape.equal + shape.ranges {
            guard let value = values[column] else { return nil }
            let sign = shape.equal.contains(column) ? "=" : ">="
            conditions.append("\(SQL.identifier(column.text)) \(sign) \(text(column, value))")
        }
        for column in shape.prefixes {
            guard let value = values[column] else { return nil }
            let start = value.unicodeScalars.prefix(3).filter { !"\\%_".unicodeScalars.contains($0) }
            conditions.append(
                "\(SQL.identifier(column.text)) LIKE \(SQL.literal(String(String.UnicodeScalarView(start)) + "%"))")
        }
        if stored.column("_rperm") != nil { conditions.append("(\"_rperm\" IS NULL OR \"_rperm\" && ARRAY['*'])") }
        var sql = shape.isCount ? "SELECT count(*)" : "SELECT *"
        sql += " FROM \(SQL.identifier(shape.table.text))"
        if !conditions.isEmpty { sql += " WHERE \(conditions.joined(separator: " AND "))" }
        guard !shape.isCount else { return sql }
        if let order = shape.order, stored.column(order.text) != nil {
            sql += " ORDER BY \(SQL.identifier(order.text)) \(shape.isDescending ? "DESC" : "ASC")"
        }
        return shape.isLimited ? sql + " LIMIT 100" : sql
    }

    /// A value of each column that rows have: the most common one, or one in the middle.
    private func commonValues(of shape: StatementShape, _ stored: StoredTable) async throws -> [Name: String] {
        let columns = shape.equal + shape.ranges + shape.prefixes
        guard !columns.isEmpty else { return [:] }
        let rows = try await session.query(
            """
            SELECT attname::text, coalesce((most_common_vals::text::text[])[1],
                (histogram_bounds::text::text[])[1 + array_length(histogram_bounds::text::text[], 1) / 2])
            FROM pg_stats WHERE tablename = $1 AND attname = ANY($2) AND schemaname = ANY(current_schemas(false))
            """, [.text(stored.name), .textArray(columns.texts)])
        var values: [Name: String] = [:]
        for row in 0..<rows.rowCount {
            if let column = rows.string(row, 0) { values[Name(column)] = rows.string(row, 1) }
        }
        return values
    }
}
