import JSON
import ParseModel
import Postgres

extension ObjectStore {
    /// Runs an aggregation pipeline and gives its documents.
    ///
    /// - Parameters:
    ///   - now: Milliseconds since 1970, for relative dates.
    ///   - mergesDateParts: Whether objects whose dates differ, but not in the parts that make a group, are one group.
    ///   - place: Where the objects are read.
    /// - Throws: 102, 105 for pipelines that make no sense.
    public func aggregate(
        _ className: String, _ stages: [(name: String, operand: JSONValue)], now: Int64, mergesDateParts: Bool = true,
        place: ReadPlace = .primary
    ) async throws -> [JSONValue] {
        do {
            return try await fresh(className, otherwise: []) { schema in
                var compiler = AggregateCompiler(
                    schemas: catalog.snapshot, schema: schema, now: now, mergesDateParts: mergesDateParts)
                return try await values(of: try compiler.compile(stages), className, place)
            }
        } catch let error as PostgresError {
            throw aggregateFailure(error)
        }
    }

    /// The different values of a field, elements of arrays one by one.
    ///
    /// - Parameter place: Where the objects are read.
    /// - Throws: 105 for names that no field has.
    public func distinct(_ className: String, _ field: String, _ filter: Filter, place: ReadPlace = .primary)
        async throws -> [JSONValue]
    {
        let field = try AggregateCompiler.checked(field)
        do {
            return try await fresh(className, otherwise: []) { schema in
                guard let statement = try distinct(schema, field, filter) else { return [] }
                return try await values(of: statement, className, place)
            }
        } catch let error as PostgresError {
            throw aggregateFailure(error)
        }
    }

    /// The statement that lists the different values of a field; nil for a field that has none.
    private func distinct(_ schema: ClassSchema, _ field: String, _ filter: Filter) throws(ParseError) -> Statement? {
        var compiler = FilterCompiler(schemas: catalog.snapshot)
        let values: String
        // Values of some types are objects made around a column, which would be there without one.
        var presence = ""
        switch compiler.operand(FieldPath(field == "_id" ? "objectId" : field), schema) {
        case .absent, .relation: return nil
        case .column(let column, .date):
            values = "to_jsonb(to_char(\(column) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'))"
        case .column(let column, let type):
            if type == .polygon || type == .geoPoint { return nil }
            values =
                type == .number ? AggregateCompiler.value(column, type) : FilterCompiler.jsonValue(column, type)
            presence = " AND \(column) IS NOT NULL"
        case .json(let path): values = compiler.value(at: path)
        }
        let condition = try compiler.compile(filter, schema)
        let source = "SELECT \(values) AS v FROM \(SQLBuilder.quote(schema.name)) WHERE (\(condition))\(presence)"
        return Statement(
            "SELECT DISTINCT v FROM (SELECT v FROM (\(source)) AS a WHERE jsonb_typeof(v) <> 'array' "
                + "UNION ALL SELECT jsonb_array_elements(v) FROM (\(source)) AS b WHERE jsonb_typeof(v) = 'array') AS c "
                + "WHERE v IS NOT NULL AND v <> 'null' ORDER BY v", compiler.builder.parameters)
    }

    /// The values of the one column that a statement gives.
    private func values(of statement: Statement, _ className: String, _ place: ReadPlace) async throws -> [JSONValue] {
        let rows = try await reading(className, place) { try await $0.client.heavyQuery(statement) }
        return (0..<rows.rowCount).compactMap { rows.jsonb($0, 0).flatMap { try? JSONValue(parsing: $0) } }
    }

    /// Aggregations are the administrator's own words: what they get wrong is a bad query, not a broken server.
    private func aggregateFailure(_ error: PostgresError) -> any Error {
        guard error.kind == .server, error.sqlState.hasPrefix("22") || error.sqlState.hasPrefix("42") else {
            return failure(error)
        }
        return ParseError(ParseError.invalidQuery, "The aggregation cannot be computed: \(error.message)")
    }
}
