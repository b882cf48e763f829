import ParseModel
import Postgres

/// Lines of the log of all processes, in a table with a partition for each day, which is not part of the write-ahead log:
/// nothing waits for a disk, and after a crash of the database the log begins anew.
public struct LogRows: Sendable {
    /// A line.
    public struct Line: Sendable {
        /// Its place in the order in which lines were stored; 0 for one that is not yet.
        public var id: Int64 = 0
        /// When it was written, in milliseconds since 1970.
        public let moment: Int64
        public let isError: Bool
        /// Its fields, as JSON.
        public let text: String

        /// Makes a line.
        public init(moment: Int64, isError: Bool, text: String) {
            (self.moment, self.isError, self.text) = (moment, isError, text)
        }
    }

    /// Between which lines others are asked for: by time, or by id where `isByID`.
    public struct Range: Sendable {
        public var from: Int64
        public var until: Int64
        public var isByID = false
        public var onlyErrors: Bool
        public var isAscending: Bool

        /// Names lines.
        public init(from: Int64, until: Int64, isByID: Bool = false, onlyErrors: Bool, isAscending: Bool) {
            (self.from, self.until, self.isByID) = (from, until, isByID)
            (self.onlyErrors, self.isAscending) = (onlyErrors, isAscending)
        }
    }

    let store: ObjectStore

    /// Makes room for the lines of a day and of the next, and drops that of days which are not kept any longer.
    ///
    /// - Parameters:
    ///   - day: As in `2026-01-31`.
    ///   - kept: How many days are kept.
    public func prepare(day: String, kept: Int) async throws {
        let client = store.client
        let date = "date '\(day)'"
        let days = try await Self.names(
            client, "SELECT to_char(\(date) + n, 'YYYY-MM-DD') FROM generate_series(0, 2) n ORDER BY n")
        let parts = zip(days, days.dropFirst()).map { day, next in
            """
            CREATE UNLOGGED TABLE IF NOT EXISTS \(SQL.identifier("_roost_log_" + day.replacing("-", with: "_")))
                PARTITION OF "_roost_log" FOR VALUES FROM ('\(day) 00:00:00+00') TO ('\(next) 00:00:00+00')
            """
        }
        try await ProcessLock.schemaChange.make(
            """
            CREATE SEQUENCE IF NOT EXISTS "_roost_log_id";
            CREATE TABLE IF NOT EXISTS "_roost_log" (
                "at" timestamptz NOT NULL, "id" bigint NOT NULL, "error" boolean NOT NULL, "line" text NOT NULL)
                PARTITION BY RANGE ("at");
            CREATE INDEX IF NOT EXISTS "_roost_log_at" ON "_roost_log" ("at", "id");
            CREATE INDEX IF NOT EXISTS "_roost_log_order" ON "_roost_log" ("id");
            \(parts.joined(separator: ";\n"))
            """, client)
        let old = try await Self.names(
            client,
            """
            SELECT relname::text FROM pg_inherits JOIN pg_class ON oid = inhrelid
            WHERE inhparent = '"_roost_log"'::regclass
                AND relname <= '_roost_log_' || to_char(\(date) - \(kept), 'YYYY_MM_DD')
            """)
        guard !old.isEmpty else { return }
        try await ProcessLock.schemaChange.make(
            old.map { "DROP TABLE IF EXISTS \(SQL.identifier($0))" }.joined(separator: ";\n"), client)
    }

    private static func names(_ client: PostgresClient, _ question: String) async throws -> [String] {
        let rows = try await client.query(question, [])
        return (0..<rows.rowCount).compactMap { rows.string($0, 0) }
    }

    /// Adds lines. Processes do it one after the other: who has read up to an id has missed none before it.
    ///
    /// - Parameter day: The one that there is room for. Lines of days without room, since they are kept no longer or the
    ///   clock was set, get a place within it; else they would keep all that follow from being stored.
    public func add(_ lines: [Line], day: String) async throws {
        do {
            try await add(lines)
        } catch let error as PostgresError where error.sqlState == "23514" {
            guard let start = ParseDate(iso: day)?.milliseconds else { throw error }
            try await add(
                lines.map { line in
                    let moment = min(max(line.moment, start), start + 2 * 86_400_000 - 1)
                    return Line(moment: moment, isError: line.isError, text: line.text)
                })
        }
    }

    private func add(_ lines: [Line]) async throws {
        _ = try await store.client.group([
            Statement("SELECT pg_advisory_xact_lock(\(ProcessLock.logLines.key))"),
            Statement(
                """
                INSERT INTO "_roost_log" ("at", "id", "error", "line")
                SELECT "at", nextval('"_roost_log_id"'), "error", "line"
                FROM unnest($1::timestamptz[], $2::boolean[], $3::text[]) AS given("at", "error", "line")
                """,
                [
                    .timestampArray(milliseconds: lines.map(\.moment)), .boolArray(lines.map(\.isError)),
                    .textArray(lines.map(\.text)),
                ]),
        ])
    }

    /// The id of the latest line; 0 without any.
    public func latest() async throws -> Int64 {
        try await store.client.query("SELECT coalesce(max(\"id\"), 0) FROM \"_roost_log\"").int(0, 0) ?? 0
    }

    /// Some of the lines of a range, in its order.
    ///
    /// - Parameter skip: How many of them are left out at the beginning.
    public func lines(_ range: Range, skip: Int, limit: Int) async throws -> [Line] {
        let order = range.isAscending ? "ASC" : "DESC"
        let column = range.isByID ? "\"id\"" : "\"at\""
        func bound(_ number: Int) -> String {
            !range.isByID ? "timestamptz 'epoch' + $\(number)::int8 * interval '1 millisecond'" : "$\(number)::int8"
        }
        let result = try await store.client.query(
            """
            SELECT "line", "id", "at", "error" FROM "_roost_log"
            WHERE \(column) >= \(bound(1)) AND \(column) <= \(bound(2))\(range.onlyErrors ? " AND \"error\"" : "")
            ORDER BY \(range.isByID ? "" : "\"at\" \(order), ")"id" \(order) LIMIT $3::int8 OFFSET $4::int8
            """, [.int(range.from), .int(range.until), .int(Int64(limit)), .int(Int64(skip))])
        return (0..<result.rowCount).map { row in
            var line = Line(
                moment: result.timestamp(row, 2) ?? 0, isError: result.bool(row, 3) ?? false,
                text: result.string(row, 0) ?? "")
            line.id = result.int(row, 1) ?? 0
            return line
        }
    }
}
