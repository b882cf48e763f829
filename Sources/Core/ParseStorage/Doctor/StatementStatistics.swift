public import Postgres

/// The statements of which PostgreSQL keeps count (`pg_stat_statements`), those that took longest in all first.
public struct StatementStatistics: Sendable {
    /// What is known of a statement. Times are in milliseconds.
    public struct Row: Sendable {
        /// The number by which PostgreSQL knows it.
        public let id: String
        /// The statement, without values.
        public let text: String
        /// How often it ran, and how many rows that gave.
        public let calls: Int, rows: Int
        /// How long it took.
        public let mean: Double, longest: Double, total: Double
    }

    let client: PostgresClient

    /// Makes a reader for a database.
    public init(client: PostgresClient) { self.client = client }

    /// The statements that took as long on average; nil where PostgreSQL keeps no count.
    ///
    /// - Parameter mean: From how many milliseconds on.
    /// - Throws: `PostgresError`, also where the extension is there and not loaded.
    public func rows(from mean: Double, limit: Int) async throws -> [Row]? {
        guard let source = try await source() else { return nil }
        let statement = Statement(
            "\(source) AND s.mean_exec_time >= $1 ORDER BY s.total_exec_time DESC LIMIT $2",
            [.double(mean), .int(Int64(limit))])
        return Self.rows(try await client.slowQuery(statement, timeLimit: .seconds(10)))
    }

    /// The statement of a number; nil for one that there is not (any more).
    ///
    /// - Throws: `PostgresError`.
    public func row(_ id: String) async throws -> Row? {
        guard let number = Int64(id), let source = try await source() else { return nil }
        let statement = Statement(
            "\(source) AND s.queryid = $1 ORDER BY s.total_exec_time DESC LIMIT 1", [.int(number)])
        return Self.rows(try await client.slowQuery(statement, timeLimit: .seconds(10))).first
    }

    /// The view to read, or nil if PostgreSQL keeps no statistics. An app in its own schema sees its role's statements,
    /// because PostgreSQL does not report their tables.
    private func source() async throws -> String? {
        // The session's path may not lead to the schema of the extension.
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
