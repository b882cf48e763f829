public import ParseModel
import Postgres

/// Requests that are to be counted under a key.
public struct CountedRequests: Sendable {
    let key: String
    let amount: Int
    /// How long a count lasts, in milliseconds.
    let window: Int

    /// Names what is counted.
    public init(key: String, amount: Int, window: Int) {
        self.key = key
        self.amount = amount
        self.window = window
    }
}

/// Counts of requests, in a table beside the classes that no route reads. It is not part of the write-ahead log: nothing
/// waits for a disk, and after a crash of the database every count begins anew.
public struct RequestRows: Sendable {
    let store: ObjectStore

    /// Makes the table of counts, if there is none.
    public func prepareCounts() async throws {
        try await ProcessLock.schemaChange.make(
            """
            CREATE UNLOGGED TABLE IF NOT EXISTS "_roost_request_count" (
                "key" bytea PRIMARY KEY, "requests" bigint NOT NULL, "until" timestamptz NOT NULL)
                WITH (fillfactor = 70);
            CREATE INDEX IF NOT EXISTS "_roost_request_count_until" ON "_roost_request_count" ("until");
            """, store.client)
    }

    /// Keys may contain session tokens, so only their hashes are stored. Rows are locked in key order to avoid
    /// deadlocks.
    private static let countStatement = """
        WITH counted AS (
            INSERT INTO "_roost_request_count" AS kept ("key", "requests", "until")
            SELECT sha256(convert_to(wanted."key", 'UTF8')) AS "hash", wanted."amount"::bigint,
                clock_timestamp() + wanted."window" * interval '1 millisecond'
            FROM unnest($1::text[], $2::float8[], $3::float8[]) AS wanted("key", "amount", "window") ORDER BY "hash"
            ON CONFLICT ("key") DO UPDATE SET
                "requests" = CASE WHEN roost_is_over(kept."until") THEN 0 ELSE kept."requests" END
                    + excluded."requests",
                "until" = CASE WHEN roost_is_over(kept."until") THEN excluded."until" ELSE kept."until" END
            RETURNING "key", "requests", "until")
        SELECT counted."requests", (extract(epoch FROM counted."until" - clock_timestamp()) * 1000)::bigint
        FROM unnest($1::text[]) WITH ORDINALITY AS wanted("key", "place")
        JOIN counted ON counted."key" = sha256(convert_to(wanted."key", 'UTF8')) ORDER BY wanted."place"
        """

    /// Counts requests, in one statement.
    ///
    /// - Parameter requests: No two with one key.
    /// - Returns: For each, how many there were since its count began, and for how many milliseconds it goes on.
    /// - Throws: `ParseError` for failures of the database.
    public func countAll(_ requests: [CountedRequests]) async throws -> [(requests: Int, remaining: Int)] {
        do {
            return try await count(requests)
        } catch let error as PostgresError where error.sqlState == "42P01" {
            // The table was removed by hand, which holds nothing that is missed for long.
            try await prepareCounts()
            return try await count(requests)
        } catch let error as PostgresError {
            throw store.failure(error)
        }
    }

    private func count(_ requests: [CountedRequests]) async throws -> [(requests: Int, remaining: Int)] {
        let results = try await store.client.group(
            [
                Statement(
                    Self.countStatement,
                    [
                        .textArray(requests.map(\.key)), .doubleArray(requests.map { Double($0.amount) }),
                        .doubleArray(requests.map { Double($0.window) }),
                    ])
            ], conflictKey: requests.first?.key)
        guard let rows = results.first, rows.rowCount == requests.count else {
            throw PostgresError(.server, "requests not counted")
        }
        return (0..<rows.rowCount).map { (Int(rows.int($0, 0) ?? 0), Int(max(0, rows.int($0, 1) ?? 0))) }
    }

    /// Removes counts that are over, and where there are too many, the smallest.
    ///
    /// - Parameter most: How many stay at most.
    public func sweepCounts(most: Int) async throws {
        try await store.client.exclusively { session in
            let over = Statement(
                """
                DELETE FROM "_roost_request_count" WHERE "key" = ANY (ARRAY(
                    SELECT "key" FROM "_roost_request_count" WHERE "until" <= now() LIMIT 10000 FOR UPDATE SKIP LOCKED))
                """)
            while try await session.query(over).affectedRows >= 10_000 {}
            _ = try await session.query(
                Statement(
                    """
                    DELETE FROM "_roost_request_count" WHERE "key" IN (
                        SELECT "key" FROM "_roost_request_count" ORDER BY "requests"
                        LIMIT CASE WHEN (SELECT count(*) FROM "_roost_request_count") > $1
                            THEN (SELECT count(*) FROM "_roost_request_count") - $1 / 2 ELSE 0 END)
                    """, [.int(Int64(most))]))
        }
    }
}

/// The ids of requests that were served (`_Idempotency`).
extension RequestRows {
    /// Takes note of a request's id. An id whose time is over may be used again; each call sweeps a few of those, so that
    /// they never pile up.
    ///
    /// - Parameters:
    ///   - id: The request id that the client sent.
    ///   - objectId: The id of the row that is made.
    ///   - end: Until when the id counts.
    /// - Returns: Whether it was not noted before.
    /// - Throws: `ParseError` 107 for an id that has a NUL character in it, and for failures of the database.
    public func claim(requestId id: String, objectId: String, until end: ParseDate, now: ParseDate) async throws -> Bool
    {
        do {
            let rows = try await store.query(
                """
                WITH swept AS (
                    DELETE FROM "_Idempotency" WHERE "objectId" = ANY (ARRAY(
                        SELECT "objectId" FROM "_Idempotency" WHERE "expire" < $2 AND "reqId" <> $3
                        LIMIT 10 FOR UPDATE SKIP LOCKED)))
                INSERT INTO "_Idempotency" ("objectId", "createdAt", "updatedAt", "reqId", "expire")
                VALUES ($1, $2, $2, $3, $4)
                ON CONFLICT ("reqId") DO UPDATE SET "expire" = EXCLUDED."expire", "updatedAt" = EXCLUDED."updatedAt"
                WHERE "_Idempotency"."expire" < $2
                RETURNING 1
                """,
                [
                    .text(objectId), .timestamp(milliseconds: now.milliseconds), .text(try ValueText.checked(id)),
                    .timestamp(milliseconds: end.milliseconds),
                ])
            return rows.rowCount > 0
        } catch let error as PostgresError {
            throw store.failure(error)
        }
    }
}
