public import JSON
public import ParseModel
import Postgres

/// Something of a push that is to be sent at one moment.
public struct PushPart: Sendable {
    /// The id of the push.
    public let pushId: String
    /// The difference from UTC of those that it is for, in hours; empty for everybody.
    public let offset: String
    /// The time zones of those that it is for; nil for everybody.
    public let zones: [String]?
    /// The parameters of the request.
    public let body: JSONObject
    /// When the services give up, in milliseconds since 1970; nil for never.
    public let expiry: Int64?
    /// When it is sent, as the row shows it.
    public let pushTime: String
    /// Whether its time is that of the devices, and these have yet to be sorted by their zones.
    public let needsZones: Bool
    /// What the row says has become of the push; nil without a row.
    public let status: String?
}

/// The parts of pushes, as the process that sends them takes them up.
extension PushRows {
    /// Takes a part that is due, for as long as the transaction takes. Other processes do not take it meanwhile.
    public func takePart() async throws -> PushPart? {
        let rows = try await store.query(
            Statement(
                """
                SELECT part."pushId", part."offset", part."zones", push."content", push."expiry", push."pushTime",
                    push."isLocal" AND part."zones" IS NULL, status."status"
                FROM "_roost_push_part" part JOIN "_roost_push" push ON push."id" = part."pushId"
                LEFT JOIN "_PushStatus" status ON status."objectId" = push."id"
                WHERE part."due" <= now() ORDER BY part."due" LIMIT 1 FOR UPDATE OF part SKIP LOCKED
                """))
        guard rows.rowCount > 0, let id = rows.string(0, 0), let offset = rows.string(0, 1),
            let text = rows.string(0, 3), let body = (try? JSONValue(parsing: Array(text.utf8)))?.objectValue
        else { return nil }
        return PushPart(
            pushId: id, offset: offset, zones: rows.textArray(0, 2), body: body, expiry: rows.int(0, 4),
            pushTime: rows.string(0, 5) ?? "", needsZones: rows.bool(0, 6) ?? false, status: rows.string(0, 7))
    }

    /// The time zones of an audience that the database knows, or that count from Greenwich: clients write what they like, and
    /// as much of it. Each comes with its difference from UTC at a local time, in seconds.
    ///
    /// A local time that clocks skip counts as it would have before the change; of one that is there twice, the first counts.
    ///
    /// - Parameter time: The local time, as if it were one of UTC.
    public func timeZones(of filter: Filter, at time: ParseDate) async throws -> [(name: String, offset: Int64)] {
        guard case (let condition, var builder)? = try audience(filter) else { return [] }
        let moment = "to_timestamp(\(builder.bind(.double(Double(time.milliseconds) / 1000)))::double precision)"
        // PostgreSQL reads the signs of GMT+2 the other way around.
        let rows = try await store.query(
            Statement(
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
                """, builder.parameters))
        return (0..<rows.rowCount).compactMap { row in
            if let name = rows.string(row, 0), let offset = rows.int(row, 1) { (name, offset) } else { nil }
        }
    }

    /// The difference of a zone's clocks from UTC at a moment, as an interval.
    private static func offset(_ moment: String) -> String {
        "((\(moment)) AT TIME ZONE rule - (\(moment)) AT TIME ZONE 'UTC')"
    }

    /// Counts the devices whose time zones are none of those that there are as failed.
    public func failPart(_ part: PushPart, _ filter: Filter, exceptZones zones: [String]) async throws {
        guard var (condition, builder) = try audience(filter) else { return }
        condition += " AND \"timeZone\" <> ALL(\(builder.bind(.textArray(zones)))) AND \"deviceToken\" IS NOT NULL"
        let rows = try await store.query(
            Statement(
                """
                SELECT left(COALESCE("deviceType", ''), 10000), count(*), (sum(count(*)) OVER ())::bigint
                FROM "_Installation" WHERE \(condition) GROUP BY 1 ORDER BY 2 DESC LIMIT \(PushProgress.mostKinds)
                """, builder.parameters))
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
            Statement(
                """
                INSERT INTO "_roost_push_failure" ("pushId", "objectId", "deviceType", "reason")
                SELECT \(id), "objectId", left(COALESCE("deviceType", ''), 10000),
                    'UnknownTimeZone' FROM "_Installation" WHERE \(condition) LIMIT 10000
                """, builder.parameters))
    }

    /// Makes a part of a push for those of some time zones.
    public func insertPart(_ pushId: String, _ offset: String, zones: [String], due: ParseDate) async throws {
        _ = try await store.query(
            Statement(
                "INSERT INTO \"_roost_push_part\" VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
                [.text(pushId), .text(offset), .textArray(zones), .timestamp(milliseconds: due.milliseconds)]))
    }

    /// Makes ranges of a part: who gets it is settled now. Of those with the same token and app, the one that was saved last
    /// gets it.
    ///
    /// - Parameters:
    ///   - types: The types of devices that have a service. Ranges are of one of them, or of none.
    ///   - wholeTypes: Those of them whose ranges are whole batches.
    ///   - size: The devices in a batch.
    ///   - pieces: How many ranges other batches are cut into.
    public func makeRanges(
        _ part: PushPart, _ filter: Filter, types: [String], wholeTypes: [String], size: Int, pieces: Int
    ) async throws {
        if var (condition, builder) = try audience(filter) {
            if let zones = part.zones { condition += " AND \"timeZone\" = ANY(\(builder.bind(.textArray(zones))))" }
            let (id, offset) = (builder.bind(.text(part.pushId)), builder.bind(.text(part.offset)))
            let (known, whole) = (builder.bind(.textArray(types)), builder.bind(.textArray(wholeTypes)))
            let piece = builder.bind(.int(Int64(max(size / pieces, 1))))
            let batch = builder.bind(.int(Int64(size)))
            _ = try await store.query(
                Statement(
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
                    """, builder.parameters))
        }
        _ = try await store.query(
            Statement(
                """
                UPDATE "_PushStatus" SET "status" = 'running', "updatedAt" = date_trunc('milliseconds', now()),
                    "count" = (SELECT count(*) FROM "_roost_push_range" WHERE "pushId" = $1)
                WHERE "objectId" = $1
                """, [.text(part.pushId)]))
        try await removePart(part)
    }

    /// Removes a part that is done, and ends the push when it was the last.
    public func removePart(_ part: PushPart) async throws {
        _ = try await store.query(
            Statement(
                "DELETE FROM \"_roost_push_part\" WHERE \"pushId\" = $1 AND \"offset\" = $2",
                [.text(part.pushId), .text(part.offset)]))
        try await end(part.pushId)
    }

    /// Has a part wait for some seconds more.
    public func postponePart(_ part: PushPart, by seconds: Double) async throws {
        _ = try await store.query(
            Statement(
                """
                UPDATE "_roost_push_part" SET "due" = now() + make_interval(secs => $3)
                WHERE "pushId" = $1 AND "offset" = $2
                """, [.text(part.pushId), .text(part.offset), .double(seconds)]))
    }

    /// Ends a push of which nothing is left to be sent. It has failed when nothing was sent and a reason is noted.
    func end(_ id: String) async throws {
        _ = try await store.query(
            Statement(
                """
                WITH ended AS (
                    DELETE FROM "_roost_push" WHERE "id" = $1
                        AND NOT EXISTS (SELECT 1 FROM "_roost_push_part" WHERE "pushId" = $1)
                        AND NOT EXISTS (SELECT 1 FROM "_roost_push_range" WHERE "pushId" = $1) RETURNING 1)
                UPDATE "_PushStatus" SET "count" = NULL, "updatedAt" = date_trunc('milliseconds', now()), "status" =
                    CASE WHEN COALESCE("numSent", 0) = 0 AND "errorMessage" IS NOT NULL THEN 'failed'
                        ELSE 'succeeded' END
                FROM ended WHERE "objectId" = $1 AND "status" <> 'failed'
                """, [.text(id)]))
    }

    /// Gives up what is left of a push, with a reason; nothing remains where its row is gone.
    public func fail(_ id: String, code: Int, message: String) async throws {
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

    /// How many pushes are due that have not been begun; at most as many as are asked for.
    public func waiting(most: Int) async throws -> Int {
        let rows = try await store.query(
            Statement(
                """
                SELECT count(*) FROM (SELECT 1 FROM "_roost_push_part" WHERE "due" <= now() LIMIT $1) "waiting"
                """, [.int(Int64(most))]))
        return Int(rows.int(0, 0) ?? 0)
    }

    /// Pushes whose rows name another time than the one by which they wait: their ids and times.
    public func moved() async throws -> [(id: String, pushTime: String)] {
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

    /// Has a scheduled push wait for another time.
    ///
    /// - Parameters:
    ///   - due: When the first of it is sent; nil to leave that as it is.
    ///   - last: When the last of it is sent, from where an interval counts until the services give up; nil to leave that.
    public func move(_ id: String, to pushTime: String, due: ParseDate?, last: ParseDate?, isLocal: Bool) async throws {
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
            // Devices may have been sorted by their zones already. As long as nothing was begun that is undone, with what
            // was counted by it.
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

    /// An audience's condition, or nil if there are no installations.
    private func audience(_ filter: Filter) throws -> (condition: String, builder: SQLBuilder)? {
        guard let schema = store.catalog.schema("_Installation") else { return nil }
        var compiler = FilterCompiler(schemas: store.catalog.snapshot)
        let condition = try compiler.compile(filter, schema)
        return ("(\(condition))", compiler.builder)
    }
}
