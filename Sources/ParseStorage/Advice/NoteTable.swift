import JSON
import Postgres

/// The table in which all processes of a database add up what they noted.
package struct NoteTable: Sendable {
    let client: PostgresClient

    package init(client: PostgresClient) { self.client = client }

    package struct Note: Sendable {
        let shape: StatementShape
        /// Since midnight, UTC.
        package let today: FindNotes.Figures
        /// Within a month.
        package let month: FindNotes.Figures
    }

    /// How many days are kept.
    private static let days = 30
    /// How many shapes of a day are kept.
    private static let mostShapes = 1000

    private static let definition = """
        CREATE TABLE IF NOT EXISTS "_roost_advice" ("shape" text, "day" date, "calls" float8 NOT NULL, \
        "total" float8 NOT NULL, "longest" float8 NOT NULL, "timeouts" float8 NOT NULL, PRIMARY KEY ("shape", "day"));
        """

    /// Adds figures to those of the day; nothing is written where there are none; throws `PostgresError`.
    package func add(_ figures: [StatementShape: FindNotes.Figures]) async throws {
        guard !figures.isEmpty else { return }
        do {
            try await insert(figures)
        } catch let error as PostgresError where error.sqlState == "42P01" {
            try await ProcessLock.schemaChange.make(Self.definition, client)
            try await insert(figures)
        }
    }

    private func insert(_ figures: [StatementShape: FindNotes.Figures]) async throws {
        // In one order in all processes, so that they do not wait for each other in a circle.
        let rows = figures.map { (key: $0.key.key, figures: $0.value) }.sorted { $0.key < $1.key }
        _ = try await client.query(
            """
            INSERT INTO "_roost_advice" AS a ("shape", "day", "calls", "total", "longest", "timeouts")
            SELECT s, (now() AT TIME ZONE 'UTC')::date, c, t, l, o
            FROM unnest($1, $2, $3, $4, $5) AS n (s, c, t, l, o)
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

    /// Removes what is old, and what took least where there is much; throws `PostgresError`.
    package func sweep() async throws {
        guard try await client.hasTable("_roost_advice") else { return }
        _ = try await client.query(
            """
            DELETE FROM "_roost_advice" WHERE "day" < (now() AT TIME ZONE 'UTC')::date - \(Self.days)
            OR ("shape", "day") IN (SELECT "shape", "day" FROM (SELECT "shape", "day", row_number() OVER (
                PARTITION BY "day" ORDER BY "timeouts" DESC, "total" DESC) AS n FROM "_roost_advice") AS r
                WHERE n > \(Self.mostShapes))
            """, [])
    }

    /// What was noted within a month, what took longest in all first; throws `PostgresError`.
    package func all() async throws -> [Note] {
        guard try await client.hasTable("_roost_advice") else { return [] }
        let today = "\"day\" = (now() AT TIME ZONE 'UTC')::date"
        let sums = ["calls", "total", "longest", "timeouts"].map { column in
            let sum = "\(column == "longest" ? "max" : "sum")(\"\(column)\")"
            return "coalesce(\(sum) FILTER (WHERE \(today)), 0), \(sum)"
        }
        let rows = try await client.query(
            "SELECT \"shape\", \(sums.joined(separator: ", ")) FROM \"_roost_advice\" "
                + "GROUP BY \"shape\" ORDER BY sum(\"total\") DESC LIMIT \(Self.mostShapes)", [], readOnly: true)
        return (0..<rows.rowCount).compactMap { row in
            guard let shape = rows.string(row, 0).flatMap({ StatementShape(key: $0) }) else { return nil }
            func figures(_ first: Int) -> FindNotes.Figures {
                func number(_ place: Int) -> Double { rows.double(row, first + 2 * place) ?? 0 }
                return FindNotes.Figures(
                    calls: Int(number(0)), total: number(1), longest: number(2), timeouts: Int(number(3)))
            }
            return Note(shape: shape, today: figures(1), month: figures(2))
        }
    }
}
