public import ParseModel
import Postgres

/// The ids of requests that were served (`_Idempotency`).
extension RequestRows {
    /// Takes note of a request's id. An id whose time is over may be used again; each call sweeps a few of those, so that
    /// they never pile up.
    ///
    /// - Parameters:
    ///   - id: The id that the store.client gave.
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
                    DELETE FROM "_Idempotency" WHERE "objectId" IN (
                        SELECT "objectId" FROM "_Idempotency" WHERE "expire" < $2 AND "reqId" <> $3
                        LIMIT 10 FOR UPDATE SKIP LOCKED))
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
