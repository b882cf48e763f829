public import ParseModel
import Postgres

/// Requests to count under one key. `window` is the duration of the rate-limit window in milliseconds.
public typealias CountedRequests = (key: String, amount: Int, window: Int)

/// Counts of requests and console sign-in attempts for rate limits, in a table that no route can read, and request
/// ids. The table of counts is unlogged: counting never waits for a disk, and a database crash resets all counts.
public struct RequestRows: Sendable {
    let store: ObjectStore

    /// Creates the table of counts if it doesn't exist.
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

    /// Counts requests in one statement.
    ///
    /// - Parameter requests: The requests, with unique keys.
    /// - Returns: For each key, the requests in the current window and the milliseconds until the window ends.
    /// - Throws: `ParseError` or `ServiceUnavailable` if the database fails.
    public func countAll(_ requests: [CountedRequests]) async throws -> [(requests: Int, remaining: Int)] {
        do {
            return try await count(requests)
        } catch let error as PostgresError where error.sqlState == "42P01" {
            // The table was dropped. The lost counts would have expired soon anyway.
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
            throw PostgresError(.server, "PostgreSQL returned too few request counts")
        }
        return (0..<rows.rowCount).map { (Int(rows.int($0, 0) ?? 0), Int(max(0, rows.int($0, 1) ?? 0))) }
    }

    /// Removes expired counts. If more than `limit` are left, also removes the smallest counts until half of `limit`
    /// remain.
    public func sweepCounts(limit: Int) async throws {
        try await store.client.exclusively { session in
            let over = Statement(
                """
                DELETE FROM "_roost_request_count" WHERE "key" = ANY (ARRAY(
                    SELECT "key" FROM "_roost_request_count" WHERE "until" <= now() LIMIT 10000 FOR UPDATE SKIP LOCKED))
                """)
            while try await session.query(over).affectedRows >= 10_000 {}
            _ = try await session.query(
                """
                DELETE FROM "_roost_request_count" WHERE "key" IN (
                    SELECT "key" FROM "_roost_request_count" ORDER BY "requests"
                    LIMIT CASE WHEN (SELECT count(*) FROM "_roost_request_count") > $1
                        THEN (SELECT count(*) FROM "_roost_request_count") - $1 / 2 ELSE 0 END)
                """, [.int(Int64(limit))])
        }
    }
}

/// Request ids for idempotency (`_Idempotency`).
extension RequestRows {
    /// Records a request id. An expired id can be used again; each call deletes up to ten expired ids.
    ///
    /// - Parameters:
    ///   - id: The request id that the client sent.
    ///   - objectId: The id of the new row.
    ///   - end: The time at which the request id expires.
    /// - Returns: False if the request id is already recorded.
    /// - Throws: `ParseError` 107 if the id contains a NUL character, and database errors.
    public func claim(requestId id: String, objectId: String, until end: ParseDate, now: ParseDate) async throws -> Bool
    {
        try await store.convertingErrors {
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
        }
    }
}
