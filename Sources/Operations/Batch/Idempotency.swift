import Foundation
import JSON
import ParseModel
import ParseStorage
import Postgres
import Rules

/// Requests that must not be served twice, by the id that the client gives them.
extension Backend {
    /// Takes note of a request's id where the deployment wants it for the path.
    ///
    /// An id whose time is over may be used again. Each request sweeps a few of those, so that they never pile up.
    /// - Throws: 159 when the id was seen.
    public func claim(request id: String, path: String, _ context: RequestContext) async throws {
        let options = configuration.idempotencyOptions
        guard options.paths.contains(where: { Self.matches(path, $0) }) else { return }
        let expires = context.now.milliseconds + Int64(options.ttl * 1000)
        do {
            let text = try ValueText.checked(id)
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
                    .text(Identifiers.alphanumeric(10)), .timestamp(milliseconds: context.now.milliseconds),
                    .text(text), .timestamp(milliseconds: expires),
                ])
            guard rows.rowCount > 0 else {
                throw ParseError(ParseError.duplicateRequest, "Duplicate request")
            }
        } catch let error as PostgresError {
            throw store.failure(error)
        }
    }

    /// Patterns are anchored at the start of the path.
    private static func matches(_ path: String, _ pattern: String) -> Bool {
        path.range(of: pattern, options: [.regularExpression, .anchored]) != nil
    }
}

/// Text that PostgreSQL can hold.
enum ValueText {
    /// The text itself.
    ///
    /// - Throws: 107 when it has a NUL character in it.
    static func checked(_ text: String) throws(ParseError) -> String {
        guard !text.utf8.contains(0) else {
            throw ParseError(ParseError.invalidJSON, "Strings cannot contain the NUL character")
        }
        return text
    }
}
