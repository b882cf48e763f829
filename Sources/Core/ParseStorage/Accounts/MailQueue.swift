public import JSON
import Postgres

/// A mail that waits to be sent.
public struct QueuedMail: Sendable {
    /// Its number.
    public let id: Int64
    /// What was asked for.
    public let content: JSONObject
    /// How often it was tried, this time included.
    public let attempts: Int64
    /// The part of its address after the @.
    public let domain: Name
}

/// Mails that wait to be sent, in a table beside the classes that no route reads.
public struct MailRows: Sendable {
    let store: ObjectStore

    /// Makes the tables of mails, if there are none.
    public func prepare() async throws {
        // Not altered again: that waits for a dump that reads the table, and all that use mails would wait behind it.
        let isDated = try await store.query(
            """
            SELECT EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass('"_roost_mail"') AND attname = 'since')
            """, [], readOnly: true)
        let column = #"ALTER TABLE "_roost_mail" ADD COLUMN IF NOT EXISTS "since" timestamptz NOT NULL DEFAULT now();"#
        try await ProcessLock.schemaChange.make(
            """
            CREATE TABLE IF NOT EXISTS "_roost_mail" (
                "id" bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "content" jsonb NOT NULL,
                "attempts" integer NOT NULL DEFAULT 0, "due" timestamptz NOT NULL DEFAULT now(),
                "reason" text);
            \(isDated.bool(0, 0) == true ? "" : column)
            CREATE INDEX IF NOT EXISTS "_roost_mail_due" ON "_roost_mail" ("due") WHERE "due" < 'infinity';
            CREATE TABLE IF NOT EXISTS "_roost_spent_token" (
                "hash" bytea PRIMARY KEY, "username" text NOT NULL, "until" timestamptz NOT NULL);
            """, store.client)
    }

    /// Columns of a user that mails show, as JSON has them; those that there are not, are empty, or have more than 4000
    /// characters are left out.
    public func columns(_ names: [Name], of userId: String) async throws -> JSONObject {
        let list = JSONValue.array(names.map { .string($0.text) })
        let rows = try await store.query(
            Statement(
                """
                SELECT (SELECT jsonb_object_agg("key", "value") FROM jsonb_each(jsonb_strip_nulls(to_jsonb("user")))
                        WHERE "key" IN (SELECT jsonb_array_elements_text($2)) AND length("value"::text) <= 4000)
                FROM "_User" AS "user" WHERE "objectId" = $1
                """, [.text(userId), .jsonb(list.serialized())]))
        guard rows.rowCount > 0 else { return [:] }
        return rows.jsonb(0, 0).flatMap { try? JSONValue(parsing: $0) }?.objectValue ?? [:]
    }

    /// Puts a mail into the queue, as part of the transaction that this is part of.
    public func enqueue(_ content: JSONObject) async throws {
        do {
            _ = try await store.query(
                Statement(
                    "INSERT INTO \"_roost_mail\" (\"content\") VALUES ($1)",
                    [.jsonb(JSONValue.object(content).serialized())]))
        } catch let error as PostgresError {
            throw store.failure(error)
        }
    }

    /// Takes the mail that has been due for longest. No other process takes it for some time: one that dies while
    /// sending it leaves it to others then.
    ///
    /// - Parameters:
    ///   - seconds: For how long.
    ///   - domains: Whose mails are left for later.
    /// - Returns: nil where none is due.
    public func take(for seconds: Double, except domains: [Name]) async throws -> QueuedMail? {
        let rows = try await store.query(
            Statement(
                """
                UPDATE "_roost_mail" SET "attempts" = "attempts" + 1, "due" = now() + make_interval(secs => $1)
                WHERE "id" = (
                    SELECT "id" FROM "_roost_mail" WHERE "due" <= now() AND "due" < 'infinity'
                        AND lower(split_part("content" ->> 'to', '@', -1)) <> ALL($2)
                    ORDER BY "due" LIMIT 1 FOR UPDATE SKIP LOCKED)
                RETURNING "id", "content", "attempts"::bigint, lower(split_part("content" ->> 'to', '@', -1))
                """, [.double(seconds), .textArray(domains.texts)]))
        guard rows.rowCount > 0, let id = rows.int(0, 0),
            let content = rows.jsonb(0, 1).flatMap({ try? JSONValue(parsing: $0) })?.objectValue
        else { return nil }
        return QueuedMail(
            id: id, content: content, attempts: rows.int(0, 2) ?? 1, domain: Name(rows.string(0, 3) ?? ""))
    }

    /// How many mails wait, and for how many seconds the oldest of them has, however often it was tried and put off.
    public func waiting() async throws -> (count: Int, oldest: Double) {
        let rows = try await store.query(
            """
            SELECT count(*), coalesce(extract(epoch FROM now() - min("since")), 0)::float8 FROM "_roost_mail"
            WHERE "due" < 'infinity'
            """, [], readOnly: true)
        return (Int(rows.int(0, 0) ?? 0), max(0, rows.double(0, 1) ?? 0))
    }

    /// Removes a mail that was sent.
    public func remove(_ id: Int64) async throws {
        _ = try await store.query(Statement("DELETE FROM \"_roost_mail\" WHERE \"id\" = $1", [.int(id)]))
    }

    /// Gives a mail back that was not sent, as if it had not been taken.
    public func giveBack(_ mail: QueuedMail) async throws {
        _ = try await store.query(
            Statement(
                "UPDATE \"_roost_mail\" SET \"due\" = now(), \"attempts\" = \"attempts\" - 1 "
                    + "WHERE \"id\" = $1 AND \"attempts\" = $2", [.int(mail.id), .int(mail.attempts)]))
    }

    /// Puts a mail off that could not be sent.
    public func postpone(_ id: Int64, by seconds: Double, reason: String) async throws {
        _ = try await store.query(
            Statement(
                "UPDATE \"_roost_mail\" SET \"due\" = now() + make_interval(secs => $2), \"reason\" = $3 "
                    + "WHERE \"id\" = $1", [.int(id), .double(seconds), .text(reason)]))
    }

    /// Gives a mail up. It stays with the reason, without the link in it.
    public func giveUp(_ id: Int64, reason: String) async throws {
        _ = try await store.query(
            Statement(
                "UPDATE \"_roost_mail\" SET \"due\" = 'infinity', \"reason\" = $2, "
                    + "\"content\" = \"content\" - 'link' - 'token' WHERE \"id\" = $1", [.int(id), .text(reason)]))
    }

    /// Notes that a token was spent, so that the same link opened once more leads to the same page. Others that are
    /// older than a day are forgotten.
    public func noteSpentToken(_ token: String, of username: String) async throws {
        _ = try await store.query(
            Statement(
                """
                WITH old AS (DELETE FROM "_roost_spent_token" WHERE "until" < now())
                INSERT INTO "_roost_spent_token" VALUES (sha256(convert_to($1, 'UTF8')), $2, now() + interval '1 day')
                ON CONFLICT DO NOTHING
                """, [.text(token), .text(username)]))
    }

    /// Forgets a token that was noted as spent, and was not.
    public func forgetSpentToken(_ token: String) async throws {
        _ = try await store.query(
            Statement(
                "DELETE FROM \"_roost_spent_token\" WHERE \"hash\" = sha256(convert_to($1, 'UTF8'))", [.text(token)]))
    }

    /// The name of the user who spent a token within the last day.
    public func userWhoSpent(_ token: String) async throws -> String? {
        guard !token.utf8.contains(0) else { return nil }
        let rows = try await store.query(
            "SELECT \"username\" FROM \"_roost_spent_token\" "
                + "WHERE \"hash\" = sha256(convert_to($1, 'UTF8')) AND \"until\" >= now()", [.text(token)],
            readOnly: true)
        return rows.rowCount > 0 ? rows.string(0, 0) : nil
    }
}
