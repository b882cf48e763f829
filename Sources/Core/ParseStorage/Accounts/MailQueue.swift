public import JSON
import Postgres

public struct QueuedMail: Sendable {
    /// The id of the row in the queue.
    public let id: Int64
    /// The email's content, as passed to ``MailRows/enqueue(_:)``.
    public let content: JSONObject
    /// The number of attempts, including the current one.
    public let attempts: Int64
    /// The part of the recipient's address after the `@`, in lower case.
    public let domain: Name
}

/// The mail queue, in a table that no route can read.
public struct MailRows: Sendable {
    let store: ObjectStore

    /// Creates the mail tables, indexes and columns that don't exist.
    public func prepare() async throws {
        // ALTER TABLE runs only if the column is missing: it would wait for a running pg_dump, and every mail query
        // would wait behind it.
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

    /// Returns columns of a user as JSON, for use in emails. Leaves out unknown and null columns and values longer than
    /// 4,000 characters.
    public func columns(_ names: [Name], of userId: String) async throws -> JSONObject {
        let list = JSONValue.array(names.map { .string($0.text) })
        let rows = try await store.query(
            """
            SELECT (SELECT jsonb_object_agg("key", "value") FROM jsonb_each(jsonb_strip_nulls(to_jsonb("user")))
                    WHERE "key" IN (SELECT jsonb_array_elements_text($2)) AND length("value"::text) <= 4000)
            FROM "_User" AS "user" WHERE "objectId" = $1
            """, [.text(userId), .jsonb(list.serialized())])
        guard rows.rowCount > 0 else { return [:] }
        return rows.json(0, 0)?.objectValue ?? [:]
    }

    /// Adds an email to the queue, within the current transaction if there is one.
    public func enqueue(_ content: JSONObject) async throws {
        _ = try await store.convertingErrors {
            try await store.query(
                "INSERT INTO \"_roost_mail\" (\"content\") VALUES ($1)",
                [.jsonb(JSONValue.object(content).serialized())])
        }
    }

    /// Claims the email that has been due longest, and hides it from other processes. If this process dies while
    /// sending, another one claims the email later.
    ///
    /// - Parameters:
    ///   - seconds: The time in seconds for which other processes don't claim the email.
    ///   - domains: Recipient domains to skip.
    /// - Returns: The email, or nil if none is due.
    public func dequeue(for seconds: Double, except domains: [Name]) async throws -> QueuedMail? {
        let rows = try await store.query(
            """
            UPDATE "_roost_mail" SET "attempts" = "attempts" + 1, "due" = now() + make_interval(secs => $1)
            WHERE "id" = (
                SELECT "id" FROM "_roost_mail" WHERE "due" <= now() AND "due" < 'infinity'
                    AND lower(split_part("content" ->> 'to', '@', -1)) <> ALL($2)
                ORDER BY "due" LIMIT 1 FOR UPDATE SKIP LOCKED)
            RETURNING "id", "content", "attempts"::bigint, lower(split_part("content" ->> 'to', '@', -1))
            """, [.double(seconds), .textArray(domains.texts)])
        guard rows.rowCount > 0, let id = rows.int(0, 0),
            let content = rows.json(0, 1)?.objectValue
        else { return nil }
        return QueuedMail(
            id: id, content: content, attempts: rows.int(0, 2) ?? 1, domain: Name(rows.string(0, 3) ?? ""))
    }

    /// Returns the number of queued emails and the age of the oldest, in seconds since it was enqueued.
    public func waiting() async throws -> (count: Int, oldest: Double) {
        let rows = try await store.query(
            """
            SELECT count(*), coalesce(extract(epoch FROM now() - min("since")), 0)::float8 FROM "_roost_mail"
            WHERE "due" < 'infinity'
            """, [], readOnly: true)
        return (Int(rows.int(0, 0) ?? 0), max(0, rows.double(0, 1) ?? 0))
    }

    public func remove(_ id: Int64) async throws {
        _ = try await store.query("DELETE FROM \"_roost_mail\" WHERE \"id\" = $1", [.int(id)])
    }

    /// Returns an unsent email to the queue without counting the attempt, unless another process has claimed it since.
    public func giveBack(_ mail: QueuedMail) async throws {
        _ = try await store.query(
            "UPDATE \"_roost_mail\" SET \"due\" = now(), \"attempts\" = \"attempts\" - 1 "
                + "WHERE \"id\" = $1 AND \"attempts\" = $2", [.int(mail.id), .int(mail.attempts)])
    }

    /// Schedules another attempt for an email that couldn't be sent.
    public func postpone(_ id: Int64, by seconds: Double, reason: String) async throws {
        _ = try await store.query(
            "UPDATE \"_roost_mail\" SET \"due\" = now() + make_interval(secs => $2), \"reason\" = $3 "
                + "WHERE \"id\" = $1", [.int(id), .double(seconds), .text(reason)])
    }

    /// Stops trying to send an email. The row keeps the reason, but no longer the link and the token.
    public func giveUp(_ id: Int64, reason: String) async throws {
        _ = try await store.query(
            "UPDATE \"_roost_mail\" SET \"due\" = 'infinity', \"reason\" = $2, "
                + "\"content\" = \"content\" - 'link' - 'token' WHERE \"id\" = $1", [.int(id), .text(reason)])
    }

    /// Records a token's use for a day, so that opening the link again shows the same page. Deletes expired records.
    public func recordSpentToken(_ token: String, of username: String) async throws {
        _ = try await store.query(
            """
            WITH old AS (DELETE FROM "_roost_spent_token" WHERE "until" < now())
            INSERT INTO "_roost_spent_token" VALUES (sha256(convert_to($1, 'UTF8')), $2, now() + interval '1 day')
            ON CONFLICT DO NOTHING
            """, [.text(token), .text(username)])
    }

    /// Removes the record of a token whose use failed.
    public func forgetSpentToken(_ token: String) async throws {
        _ = try await store.query(
            "DELETE FROM \"_roost_spent_token\" WHERE \"hash\" = sha256(convert_to($1, 'UTF8'))", [.text(token)])
    }

    /// Returns the name of the user who used the token within the last day, or nil if nobody did.
    public func userWhoSpent(_ token: String) async throws -> String? {
        guard !token.utf8.contains(0) else { return nil }
        let rows = try await store.query(
            "SELECT \"username\" FROM \"_roost_spent_token\" "
                + "WHERE \"hash\" = sha256(convert_to($1, 'UTF8')) AND \"until\" >= now()", [.text(token)],
            readOnly: true)
        return rows.rowCount > 0 ? rows.string(0, 0) : nil
    }
}
