import Postgres

/// The queries, updates and deletions of app data in `pg_stat_statements`, those with the most total time first.
struct StatementStatistics: Sendable {
    /// The statistics of a statement. Times are in milliseconds.
    struct Row: Sendable {
        /// PostgreSQL's `queryid`.
        let id: String
        /// The statement, without values.
        let text: String
        /// The number of calls, and the total number of rows that they returned or changed.
        let calls: Int, rows: Int
        let mean: Double, longest: Double, total: Double
    }

    let client: PostgresClient

    /// Returns the statements that are slow on average, or nil if `pg_stat_statements` isn't installed.
    ///
    /// - Parameter mean: The minimum mean time in milliseconds.
    /// - Throws: `PostgresError`, also if the extension is created but not preloaded.
    func rows(from mean: Double, limit: Int) async throws -> [Row]? {
        guard let source = try await source() else { return nil }
        let statement = Statement(
            "\(source) AND s.mean_exec_time >= $1 ORDER BY s.total_exec_time DESC LIMIT $2",
            [.double(mean), .int(Int64(limit))])
        return Self.rows(try await client.slowQuery(statement, timeLimit: .seconds(10)))
    }

    /// Returns one of these statements by its `queryid`, or nil if it isn't found or the extension isn't installed.
    ///
    /// - Throws: `PostgresError`.
    func row(_ id: String) async throws -> Row? {
        guard let number = Int64(id), let source = try await source() else { return nil }
        let statement = Statement(
            "\(source) AND s.queryid = $1 ORDER BY s.total_exec_time DESC LIMIT 1", [.int(number)])
        return Self.rows(try await client.slowQuery(statement, timeLimit: .seconds(10))).first
    }

    /// Returns the beginning of a query for the recorded statements, or nil if the extension isn't installed. For an
    /// app in a separate schema it includes all statements of its role, because PostgreSQL doesn't record their tables.
    private func source() async throws -> String? {
        // The extension's schema may not be on the search path.
        let place = try await client.query(
            "SELECT extnamespace::regnamespace::text FROM pg_extension WHERE extname = 'pg_stat_statements'", [],
            readOnly: true)
        guard place.rowCount > 0, let view = place.string(0, 0).map({ $0 + ".pg_stat_statements" }) else { return nil }
        let isOwn = "AND s.userid = (SELECT oid FROM pg_roles WHERE rolname = current_user) "
        let roles = client.schema == nil ? "" : isOwn
        return """
            SELECT s.query, s.mean_exec_time, s.calls, s.queryid::text, s.rows, s.max_exec_time, s.total_exec_time \
            FROM \(view) s \
            WHERE s.dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) \(roles)\
            AND s.query ~ '^[[:space:]]*(SELECT|WITH|UPDATE|DELETE)' \
            AND s.query !~ 'pg_(stat|catalog|class)|array_agg.x ORDER BY x'
            """
    }

    private static func rows(_ rows: PostgresResult) -> [Row] {
        (0..<rows.rowCount).compactMap { row in
            guard let text = rows.string(row, 0), let mean = rows.double(row, 1), let calls = rows.int(row, 2),
                let id = rows.string(row, 3)
            else { return nil }
            return Row(
                id: id, text: text, calls: Int(calls), rows: Int(rows.int(row, 4) ?? 0), mean: mean,
                longest: rows.double(row, 5) ?? mean, total: rows.double(row, 6) ?? mean)
        }
    }
}
