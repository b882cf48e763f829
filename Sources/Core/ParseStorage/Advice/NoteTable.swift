import JSON
import Postgres

/// Slow queries of all processes of an app, by day. A row without calls marks an index that must not be built.
/// Functions throw `PostgresError`.
package struct NoteTable: Sendable {
    /// A query shape with its figures since midnight UTC and for the last 30 days.
    package typealias Note = (shape: QueryShape, today: FindNotes.Figures, month: FindNotes.Figures)

    let client: PostgresClient

    package init(client: PostgresClient) { self.client = client }

    private static let days = 30
    private static let maxShapes = 1000

    private static let definition = """
        CREATE TABLE IF NOT EXISTS "_roost_advice" ("shape" text, "day" date, "calls" float8 NOT NULL, \
        "total" float8 NOT NULL, "longest" float8 NOT NULL, "timeouts" float8 NOT NULL, PRIMARY KEY ("shape", "day"));
        """
    private static let today = "(now() AT TIME ZONE 'UTC')::date"

    /// Adds figures to those of the current day. Creates the table if necessary.
    package func add(_ figures: [QueryShape: FindNotes.Figures]) async throws {
        guard !figures.isEmpty else { return }
        do {
            try await insert(figures)
        } catch let error as PostgresError where error.sqlState == "42P01" {
            try await ProcessLock.schemaChange.make(Self.definition, client)
            try await insert(figures)
        }
    }

    private func insert(_ figures: [QueryShape: FindNotes.Figures]) async throws {
        // All processes insert in the same order, so that they don't deadlock.
        let rows = figures.map { (key: $0.key.key, figures: $0.value) }.sorted { $0.key < $1.key }
        _ = try await client.query(
            """
            INSERT INTO "_roost_advice" AS a ("shape", "day", "calls", "total", "longest", "timeouts")
            SELECT s, \(Self.today), c, t, l, o FROM unnest($1, $2, $3, $4, $5) AS n (s, c, t, l, o)
            ON CONFLICT ("shape", "day") DO UPDATE SET "calls" = a."calls" + excluded."calls",
                "total" = a."total" + excluded."total", "longest" = greatest(a."longest", excluded."longest"),
                "timeouts" = a."timeouts" + excluded."timeouts"
            """,
            [
                .textArray(rows.map(\.key)), .doubleArray(rows.map { Double($0.figures.calls) }),
                .doubleArray(rows.map(\.figures.total)), .doubleArray(rows.map(\.figures.longest)),
                .doubleArray(rows.map { Double($0.figures.timeouts) }),
            ])
    }

    /// Prevents an index from being built until the day after tomorrow.
    func refuse(_ index: String) async throws {
        _ = try await client.query(
            "INSERT INTO \"_roost_advice\" VALUES ($1, \(Self.today), 0, 0, 0, 0) ON CONFLICT DO NOTHING",
            [.text(index)])
    }

    /// Returns the indexes that were refused today or yesterday.
    func refused() async throws -> Set<String> {
        guard try await client.hasTable("_roost_advice") else { return [] }
        let rows = try await client.query(
            "SELECT \"shape\" FROM \"_roost_advice\" WHERE \"calls\" = 0 AND \"day\" >= \(Self.today) - 1")
        return Set((0..<rows.rowCount).compactMap { rows.string($0, 0) })
    }

    /// Removes notes older than 30 days and, beyond 1,000 per day, the least important ones.
    package func sweep() async throws {
        guard try await client.hasTable("_roost_advice") else { return }
        _ = try await client.query(
            """
            DELETE FROM "_roost_advice" WHERE "day" < \(Self.today) - \(Self.days)
            OR ("shape", "day") IN (SELECT "shape", "day" FROM (SELECT "shape", "day", row_number() OVER (
                PARTITION BY "day" ORDER BY "calls" = 0 DESC, "timeouts" DESC, "total" DESC) AS n FROM "_roost_advice") AS r
                WHERE n > \(Self.maxShapes))
            """, [])
    }

    /// Returns the stored notes, at most 1,000, those with the most total time first.
    package func all() async throws -> [Note] {
        guard try await client.hasTable("_roost_advice") else { return [] }
        let sums = ["calls", "total", "longest", "timeouts"].map { column in
            let sum = "\(column == "longest" ? "max" : "sum")(\"\(column)\")"
            return "coalesce(\(sum) FILTER (WHERE \"day\" = \(Self.today)), 0), \(sum)"
        }
        let rows = try await client.query(
            "SELECT \"shape\", \(sums.joined(separator: ", ")) FROM \"_roost_advice\" "
                + "GROUP BY \"shape\" ORDER BY sum(\"total\") DESC LIMIT \(Self.maxShapes)", [], readOnly: true)
        return (0..<rows.rowCount).compactMap { row in
            guard let shape = rows.string(row, 0).flatMap({ QueryShape(key: $0) }) else { return nil }
            func figures(_ first: Int) -> FindNotes.Figures {
                let numbers = stride(from: first, to: 9, by: 2).map { rows.double(row, $0) ?? 0 }
                return FindNotes.Figures(
                    calls: Int(numbers[0]), total: numbers[1], longest: numbers[2], timeouts: Int(numbers[3]))
            }
            return (shape, figures(1), figures(2))
        }
    }
}
