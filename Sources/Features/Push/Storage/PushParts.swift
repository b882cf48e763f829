import JSON
import ParseModel
import ParseStorage
import Postgres

/// The part of a push that is sent at one time.
struct PushPart: Sendable {
    let pushId: String
    /// The recipients' UTC offset in hours, or empty for all recipients.
    let offset: String
    /// The recipients' time zones, or nil for all recipients.
    let zones: [String]?
    let body: JSONObject
    /// The time at which push services stop trying to deliver, in milliseconds since 1970, or nil to use their
    /// defaults.
    let expiry: Int64?
    /// The send time, as stored with the push.
    let pushTime: String
    /// Whether the push is sent at local times and its devices aren't grouped by time zone yet.
    let needsZones: Bool
    /// The push's status, or nil if its row was deleted.
    let status: String?
}

/// Scheduling of push parts.
extension PushRows {
    /// Claims a due part until the transaction ends, or returns nil if none is due and unclaimed. Other processes skip
    /// a claimed part.
    func acquirePart() async throws -> PushPart? {
        let rows = try await store.query(
            """
            SELECT part."pushId", part."offset", part."zones", push."content", push."expiry", push."pushTime",
                push."isLocal" AND part."zones" IS NULL, status."status"
            FROM "_roost_push_part" part JOIN "_roost_push" push ON push."id" = part."pushId"
            LEFT JOIN "_PushStatus" status ON status."objectId" = push."id"
            WHERE part."due" <= now() ORDER BY part."due" LIMIT 1 FOR UPDATE OF part SKIP LOCKED
            """)
        guard rows.rowCount > 0, let id = rows.string(0, 0), let offset = rows.string(0, 1),
            let body = rows.json(0, 3)?.objectValue
        else { return nil }
        return PushPart(
            pushId: id, offset: offset, zones: rows.textArray(0, 2), body: body, expiry: rows.int(0, 4),
            pushTime: rows.string(0, 5) ?? "", needsZones: rows.bool(0, 6) ?? false, status: rows.string(0, 7))
    }

    /// Returns the time zones of an audience, each with its UTC offset in seconds at a local time.
    ///
    /// Zones must be known to PostgreSQL or have the form `GMT+2`; clients may have stored anything else. A local time
    /// skipped by daylight saving uses the offset before the change, and an ambiguous one means its first occurrence.
    ///
    /// - Parameter time: The local time, as if it were UTC.
    func timeZones(of filter: Filter, at time: ParseDate) async throws -> [(name: String, offset: Int64)] {
        guard case (let condition, var builder)? = try audience(filter) else { return [] }
        let moment = "to_timestamp(\(builder.bind(.double(Double(time.milliseconds) / 1000)))::double precision)"
        // PostgreSQL reads the sign of GMT+2 the other way around.
        let rows = try await store.query(
            """
            WITH zones AS MATERIALIZED (
                SELECT DISTINCT "timeZone" AS name, "timeZone" ~ '^GMT[+-]' AS "isGMT" FROM "_Installation"
                WHERE \(condition) AND "deviceToken" IS NOT NULL
                    AND ("timeZone" IN (SELECT "name" FROM pg_timezone_names)
                        OR "timeZone" ~ '^GMT[+-](0?[0-9]|1[0-4])(:?(00|15|30|45))?$')),
            rules AS MATERIALIZED (
                SELECT name, CASE WHEN "isGMT" THEN translate(
                    regexp_replace(name, '^GMT([+-])([0-9]{1,2}):?([0-9]{2})?$', '<GMT>\\1\\2:\\3'), '+-', '-+')
                    || CASE WHEN name ~ '[0-9]{3}|:' THEN '' ELSE '00' END ELSE name END AS rule,
                    \(moment) AS time
                FROM zones)
            SELECT name, CASE
                WHEN \(Self.offset("time - early.offset")) = early.offset THEN extract(epoch FROM early.offset)
                WHEN \(Self.offset("time - late.offset")) = late.offset THEN extract(epoch FROM late.offset)
                ELSE extract(epoch FROM early.offset) END::bigint
            FROM rules, LATERAL (SELECT \(Self.offset("time - interval '24 hours'")) AS offset) early,
                LATERAL (SELECT \(Self.offset("time + interval '24 hours'")) AS offset) late
            """, builder.parameters)
        return (0..<rows.rowCount).compactMap { row in
            if let name = rows.string(row, 0), let offset = rows.int(row, 1) { (name, offset) } else { nil }
        }
    }

    private static func offset(_ moment: String) -> String {
        "((\(moment)) AT TIME ZONE rule - (\(moment)) AT TIME ZONE 'UTC')"
    }

    /// Counts devices with a time zone that isn't in `zones` as failed. Records up to 10,000 of the failures.
    func failPart(_ part: PushPart, _ filter: Filter, exceptZones zones: [String]) async throws {
        guard var (condition, builder) = try audience(filter) else { return }
        // Without zones, the comparison alone would also count devices without a time zone.
        condition += " AND \"timeZone\" IS NOT NULL AND \"deviceToken\" IS NOT NULL"
        condition += " AND \"timeZone\" <> ALL(\(builder.bind(.textArray(zones))))"
        let rows = try await store.query(
            """
            SELECT left(COALESCE("deviceType", ''), 10000), count(*), (sum(count(*)) OVER ())::bigint
            FROM "_Installation" WHERE \(condition) GROUP BY 1 ORDER BY 2 DESC LIMIT \(PushProgress.maxKinds)
            """, builder.parameters)
        guard rows.rowCount > 0 else { return }
        var progress = PushProgress()
        var rest = rows.int(0, 2) ?? 0
        for row in 0..<rows.rowCount {
            let number = rows.int(row, 1) ?? 0
            progress.failed[Name(rows.string(row, 0) ?? ""), default: 0] += Int(number)
            rest -= number
        }
        if rest > 0 { progress.failed[PushProgress.others, default: 0] += Int(rest) }
        try await count(progress, part.pushId, offset: "", doneRanges: 0)
        let id = builder.bind(.text(part.pushId))
        _ = try await store.query(
            """
            INSERT INTO "_roost_push_failure" ("pushId", "objectId", "deviceType", "reason")
            SELECT \(id), "objectId", left(COALESCE("deviceType", ''), 10000),
                'UnknownTimeZone' FROM "_Installation" WHERE \(condition) LIMIT 10000
            """, builder.parameters)
    }

    /// Adds a part of a push for devices in some time zones.
    func insertPart(_ pushId: String, _ offset: String, zones: [String], due: ParseDate) async throws {
        _ = try await store.query(
            "INSERT INTO \"_roost_push_part\" VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
            [.text(pushId), .text(offset), .textArray(zones), .timestamp(milliseconds: due.milliseconds)])
    }

    /// Splits the audience of a part into ranges, which fixes its recipients. If devices share a token and app, only
    /// the one saved last gets the push.
    ///
    /// - Parameters:
    ///   - types: Device types with a push service. The devices of a range are all of one of these types, or all of
    ///     other types.
    ///   - wholeTypes: Types whose ranges are full batches.
    ///   - size: The number of devices per batch.
    ///   - pieces: The number of ranges that each batch of other types is split into.
    func makeRanges(
        _ part: PushPart, _ filter: Filter, types: [String], wholeTypes: [String], size: Int, pieces: Int
    ) async throws {
        if var (condition, builder) = try audience(filter) {
            if let zones = part.zones { condition += " AND \"timeZone\" = ANY(\(builder.bind(.textArray(zones))))" }
            let (id, offset) = (builder.bind(.text(part.pushId)), builder.bind(.text(part.offset)))
            let (known, whole) = (builder.bind(.textArray(types)), builder.bind(.textArray(wholeTypes)))
            let piece = builder.bind(.int(Int64(max(size / pieces, 1))))
            let batch = builder.bind(.int(Int64(size)))
            _ = try await store.query(
                """
                WITH audience AS (
                    SELECT DISTINCT ON ("deviceToken", COALESCE("appIdentifier", '')) "objectId",
                        CASE WHEN "pushType" = ANY(\(known)) THEN "pushType"
                            WHEN "deviceType" = 'applewatch' AND 'watchos' = ANY(\(known)) THEN 'watchos'
                            WHEN "deviceType" = ANY(\(known)) THEN "deviceType" ELSE '' END AS "route"
                    FROM "_Installation" WHERE \(condition) AND "deviceToken" IS NOT NULL
                    ORDER BY "deviceToken", COALESCE("appIdentifier", ''), "updatedAt" DESC),
                numbered AS (
                    SELECT "objectId", "route",
                        (row_number() OVER (PARTITION BY "route" ORDER BY "objectId") - 1)
                            / CASE WHEN "route" = ANY(\(whole)) THEN \(batch) ELSE \(piece) END AS "number"
                    FROM audience)
                INSERT INTO "_roost_push_range" ("pushId", "offset", "route", "number", "devices")
                SELECT \(id), \(offset), "route", "number", array_agg("objectId") FROM numbered
                GROUP BY "route", "number"
                """, builder.parameters)
        }
        _ = try await store.query(
            """
            UPDATE "_PushStatus" SET "status" = 'running', "updatedAt" = date_trunc('milliseconds', now()),
                "count" = (SELECT count(*) FROM "_roost_push_range" WHERE "pushId" = $1)
            WHERE "objectId" = $1
            """, [.text(part.pushId)])
        try await removePart(part)
    }

    /// Deletes a finished part, and ends the push if it was the last one.
    func removePart(_ part: PushPart) async throws {
        _ = try await store.query(
            "DELETE FROM \"_roost_push_part\" WHERE \"pushId\" = $1 AND \"offset\" = $2",
            [.text(part.pushId), .text(part.offset)])
        try await end(part.pushId)
    }

    /// Delays a part by some seconds.
    func postponePart(_ part: PushPart, by seconds: Double) async throws {
        _ = try await store.query(
            """
            UPDATE "_roost_push_part" SET "due" = now() + make_interval(secs => $3)
            WHERE "pushId" = $1 AND "offset" = $2
            """, [.text(part.pushId), .text(part.offset), .double(seconds)])
    }

    /// Ends a push that has no parts or ranges left. The push counts as failed if nothing was sent and an error is
    /// recorded.
    func end(_ id: String) async throws {
        _ = try await store.query(
            """
            WITH ended AS (
                DELETE FROM "_roost_push" WHERE "id" = $1
                    AND NOT EXISTS (SELECT 1 FROM "_roost_push_part" WHERE "pushId" = $1)
                    AND NOT EXISTS (SELECT 1 FROM "_roost_push_range" WHERE "pushId" = $1) RETURNING 1)
            UPDATE "_PushStatus" SET "count" = NULL, "updatedAt" = date_trunc('milliseconds', now()), "status" =
                CASE WHEN COALESCE("numSent", 0) = 0 AND "errorMessage" IS NOT NULL THEN 'failed'
                    ELSE 'succeeded' END
            FROM ended WHERE "objectId" = $1 AND "status" <> 'failed'
            """, [.text(id)])
    }

    /// Cancels the rest of a push, and records the error in its row unless the push has already ended.
    func fail(_ id: String, code: Int, message: String) async throws {
        let reason = JSONValue.object(["code": .number(Double(code)), "message": .string(message)])
        _ = try await store.group([
            Statement("DELETE FROM \"_roost_push_part\" WHERE \"pushId\" = $1", [.text(id)]),
            Statement("DELETE FROM \"_roost_push_range\" WHERE \"pushId\" = $1", [.text(id)]),
            Statement("DELETE FROM \"_roost_push\" WHERE \"id\" = $1", [.text(id)]),
            Statement(
                """
                UPDATE "_PushStatus" SET "status" = 'failed', "errorMessage" = $2, "count" = NULL,
                    "updatedAt" = date_trunc('milliseconds', now())
                WHERE "objectId" = $1 AND "status" IN ('pending', 'scheduled', 'running')
                """, [.text(id), .jsonb(reason.serialized())]),
        ])
    }

    /// Returns the number of due parts that haven't been split into ranges, up to a limit.
    func waiting(limit: Int) async throws -> Int {
        let rows = try await store.query(
            """
            SELECT count(*) FROM (SELECT 1 FROM "_roost_push_part" WHERE "due" <= now() LIMIT $1) "waiting"
            """, [.int(Int64(limit))])
        return Int(rows.int(0, 0) ?? 0)
    }

    /// Returns the ids and new times of scheduled pushes whose rows were changed to another time, at most 100.
    func moved() async throws -> [(id: String, pushTime: String)] {
        let rows = try await store.query(
            """
            SELECT push."id", status."pushTime" FROM "_roost_push" push
            JOIN "_PushStatus" status ON status."objectId" = push."id"
            WHERE status."status" = 'scheduled' AND status."pushTime" <> push."pushTime" LIMIT 100
            """)
        return (0..<rows.rowCount).compactMap { row in
            guard let id = rows.string(row, 0), let time = rows.string(row, 1) else { return nil }
            return (id, time)
        }
    }

    /// Reschedules a push.
    ///
    /// - Parameters:
    ///   - due: The send time of the first part, or nil to keep the existing parts.
    ///   - last: The send time of the last part, which starts the expiration interval, or nil to keep the expiry.
    func move(_ id: String, to pushTime: String, due: ParseDate?, last: ParseDate?, isLocal: Bool) async throws {
        var statements = [
            Statement(
                """
                UPDATE "_roost_push" SET "pushTime" = $2, "isLocal" = $3, "expiry" = COALESCE(
                    (SELECT ($4 + 1000 * LEAST("expiration_interval", 1e11))::bigint FROM "_PushStatus"
                    WHERE "objectId" = $1 AND "expiration_interval" IS NOT NULL), "expiry")
                WHERE "id" = $1
                """,
                [.text(id), .text(pushTime), .bool(isLocal), last.map { .int($0.milliseconds) } ?? .null(.int8)])
        ]
        if let due {
            // The devices may already be grouped by time zone. Unless sending has begun, the groups and their failure
            // counts are discarded.
            let isWaiting = "EXISTS (SELECT FROM \"_PushStatus\" WHERE \"objectId\" = $1 AND \"status\" = 'scheduled')"
            statements += [
                Statement("SELECT 1 FROM \"_PushStatus\" WHERE \"objectId\" = $1 FOR UPDATE", [.text(id)]),
                Statement("DELETE FROM \"_roost_push_part\" WHERE \"pushId\" = $1 AND \(isWaiting)", [.text(id)]),
                Statement("DELETE FROM \"_roost_push_failure\" WHERE \"pushId\" = $1 AND \(isWaiting)", [.text(id)]),
                Statement(
                    """
                    INSERT INTO "_roost_push_part"
                    SELECT "id", '', NULL, $2 FROM "_roost_push" WHERE "id" = $1 AND \(isWaiting)
                    """, [.text(id), .timestamp(milliseconds: due.milliseconds)]),
                Statement(
                    """
                    UPDATE "_PushStatus" SET "numFailed" = NULL, "failedPerType" = NULL
                    WHERE "objectId" = $1 AND "status" = 'scheduled'
                    """, [.text(id)]),
            ]
        }
        _ = try await store.group(statements)
    }

    private func audience(_ filter: Filter) throws -> (condition: String, builder: SQLBuilder)? {
        guard let schema = store.catalog.schema("_Installation") else { return nil }
        var compiler = FilterCompiler(schemas: store.catalog.snapshot)
        let condition = try compiler.compile(filter, schema)
        return ("(\(condition))", compiler.builder)
    }
}
