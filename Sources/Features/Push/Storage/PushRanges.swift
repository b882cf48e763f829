import JSON
import ParseStorage
import Postgres

/// A range of a push's devices, claimed by one process.
struct PushRange: Sendable {
    struct Device: Sendable {
        let objectId: String
        let token: String
        let type: String
        let app: String?
        let locale: String?
        let badge: Double?
    }

    let id: Int64
    let pushId: String
    /// The devices' UTC offset in hours, or empty for all devices.
    let offset: String
    /// The device type of the push service, or empty if no service is configured for the devices.
    let route: String
    /// The number of times the range was claimed, including this one.
    let attempts: Int64
    /// Whether the last process that claimed the range didn't release it, so some devices may already have the push.
    let isInterrupted: Bool
    let body: JSONObject
    /// The time at which push services stop trying to deliver, in milliseconds since 1970, or nil to use their
    /// defaults.
    let expiry: Int64?
    /// The remaining devices that still have a token.
    let devices: [Device]
}

/// The results for devices of a push that aren't stored yet.
struct PushProgress: Sendable {
    /// The number of devices that the push was sent to, by device type.
    var sent: [Name: Int] = [:]
    /// The number of failed devices, by device type.
    var failed: [Name: Int] = [:]
    /// The failed devices with their reasons.
    var failures: [(objectId: String, type: String, reason: String)] = []
    /// Tokens to remove. A token stays if its installation was saved at `since` (in milliseconds since 1970) or later.
    /// If `since` is nil, the token is removed regardless.
    var deadTokens: [(objectId: String, token: String, reason: String, since: Int64?)] = []
    /// The ids of the remaining devices, or nil if the range is finished.
    var left: [String]?
    /// The findings of a dry run, or nil for a real push.
    var report: PushReport?
    /// The error to record for the whole push, or nil for none.
    var error: JSONObject?

    /// The number of device types that are counted separately. Clients can invent more, which are counted as others.
    static let maxKinds = 100
    static let longestKind = 10_000

    /// Returns the name under which a device type is counted in this range.
    func kind(of type: String) -> Name {
        let kind = Name(String(decoding: type.utf8.prefix(Self.longestKind), as: UTF8.self))
        let isOther = sent[kind] == nil && failed[kind] == nil && sent.count + failed.count >= Self.maxKinds
        return isOther ? Self.others : kind
    }

    /// The name for all types beyond the limit.
    static let others: Name = "others"
}

/// Claiming and finishing push ranges.
extension PushRows {
    /// The time in seconds after which other processes may claim a range, unless its lease is renewed.
    static let lease = 60.0
    /// The maximum length in bytes of tokens, which clients write. No service has longer tokens, so a longer one is
    /// read as empty, which every service rejects.
    private static let longestToken = 8_192
    /// The length in characters to which app and locale identifiers are truncated. A push can't contain longer ones.
    private static let longestName = 1_000

    /// The maximum time that badge updates wait for locked rows.
    private static let lockPatience = "250ms"

    /// Claims a free range, updates the badges of its devices at the first claim, and reads the devices. Returns nil if
    /// no range is free.
    ///
    /// - Parameters:
    ///   - route: The device type of the push service.
    ///   - owner: The claiming process.
    ///   - badge: Returns the badge change for the parameters of a push: a new value, or an increment.
    func acquireRange(
        _ route: String, owner: String,
        badge: @escaping @Sendable (JSONObject) -> (becomes: Double?, grows: Double?)
    ) async throws -> PushRange? {
        try await store.transaction { store in
            let claimed = try await store.query(
                """
                WITH free AS (
                    SELECT "id", "owner" FROM "_roost_push_range" WHERE "route" = $2 AND "leasedUntil" < now()
                    ORDER BY "number", "id" LIMIT 1 FOR UPDATE SKIP LOCKED),
                taken AS (
                    UPDATE "_roost_push_range" range SET "owner" = $1, "attempts" = "attempts" + 1,
                        "leasedUntil" = now() + make_interval(secs => $3)
                    FROM free WHERE range."id" = free."id" RETURNING range.*, free."owner" AS "former")
                SELECT taken."id", taken."pushId", taken."offset", taken."route", taken."attempts",
                    taken."devices", push."content", push."expiry", taken."former" IS NOT NULL
                FROM taken JOIN "_roost_push" push ON push."id" = taken."pushId"
                """, [.text(owner), .text(route), .double(Self.lease)])
            guard claimed.rowCount > 0, let id = claimed.int(0, 0), let pushId = claimed.string(0, 1),
                let ids = claimed.textArray(0, 5), let text = claimed.string(0, 6)
            else { return nil }
            let body = try JSONValue(parsing: text).objectValue ?? [:]
            let change = badge(body)
            var unchanged: Set<Name> = []
            if claimed.int(0, 4) == 1, let number = change.becomes ?? change.grows {
                let value = change.becomes == nil ? "COALESCE(\"badge\", 0) + $2" : "$2"
                unchanged = try await store.pushes.changeBadges(ids, value, number)
            }
            let rows = try await store.query(
                """
                SELECT "objectId",
                    CASE WHEN octet_length("deviceToken") <= \(Self.longestToken) THEN "deviceToken" ELSE '' END,
                    left(COALESCE("deviceType", ''), \(PushProgress.longestKind + 1)),
                    left("appIdentifier", \(Self.longestName)), left("localeIdentifier", \(Self.longestName)),
                    "badge"
                FROM "_Installation" WHERE "objectId" = ANY($1) AND "deviceToken" IS NOT NULL
                """, [.textArray(ids)])
            let devices = (0..<rows.rowCount).compactMap { row -> PushRange.Device? in
                guard let id = rows.string(row, 0), let token = rows.string(row, 1) else { return nil }
                var newBadge = rows.double(row, 5)
                if unchanged.contains(Name(id)) { newBadge = change.becomes ?? (newBadge ?? 0) + (change.grows ?? 0) }
                return PushRange.Device(
                    objectId: id, token: token, type: rows.string(row, 2) ?? "", app: rows.string(row, 3),
                    locale: rows.string(row, 4), badge: newBadge)
            }
            return PushRange(
                id: id, pushId: pushId, offset: claimed.string(0, 2) ?? "", route: claimed.string(0, 3) ?? "",
                attempts: claimed.int(0, 4) ?? 1, isInterrupted: claimed.bool(0, 8) ?? true, body: body,
                expiry: claimed.int(0, 7), devices: devices)
        }
    }

    /// Updates badges without waiting for clients that keep their own rows locked: rows still locked after 250 ms are
    /// skipped.
    ///
    /// - Returns: The ids of skipped and deleted devices.
    private func changeBadges(_ ids: [String], _ value: String, _ number: Double) async throws -> Set<Name> {
        let parameters: [PostgresParameter] = [.textArray(ids), .double(number)]
        _ = try await store.query("SAVEPOINT badges")
        do {
            _ = try await store.query("SELECT set_config('lock_timeout', $1, true)", [.text(Self.lockPatience)])
            _ = try await store.query(
                "UPDATE \"_Installation\" SET \"badge\" = \(value) WHERE \"objectId\" = ANY($1)", parameters)
            return []
        } catch let error as PostgresError where error.sqlState == "55P03" {
            _ = try await store.query("ROLLBACK TO SAVEPOINT badges")
        }
        let changed = try await store.query(
            """
            WITH free AS (
                SELECT "objectId" FROM "_Installation" WHERE "objectId" = ANY($1) FOR UPDATE SKIP LOCKED)
            UPDATE "_Installation" device SET "badge" = \(value) FROM free
            WHERE device."objectId" = free."objectId" RETURNING device."objectId"
            """, parameters)
        return Set(ids.names).subtracting((0..<changed.rowCount).compactMap { changed.string($0, 0).map { Name($0) } })
    }

    /// Renews the leases of ranges that a process is working on. Its other ranges become free when their leases expire:
    /// it couldn't finish them or doesn't know that it claimed them.
    func renewRanges(_ ids: [Int64], of owner: String) async throws {
        guard !ids.isEmpty else { return }
        _ = try await store.query(
            """
            UPDATE "_roost_push_range" SET "leasedUntil" = now() + make_interval(secs => $2)
            WHERE "owner" = $1 AND "id" = ANY ($3::text[]::bigint[])
            """, [.text(owner), .double(Self.lease), .textArray(ids.map { "\($0)" })])
    }

    /// Releases the ranges of a process.
    ///
    /// - Parameter ids: Ranges that others may claim only after their leases expire, because their results weren't
    ///   stored.
    func releaseRanges(of owner: String, except ids: [Int64]) async throws {
        _ = try await store.query(
            """
            UPDATE "_roost_push_range" SET "owner" = NULL, "leasedUntil" = '-infinity'
            WHERE "owner" = $1 AND "id" <> ALL ($2::text[]::bigint[])
            """, [.text(owner), .textArray(ids.map { "\($0)" })])
    }

    /// Stores new results of a range in one transaction: the push's counts, the remaining devices and the dead tokens.
    /// Does nothing if another process has claimed the range meanwhile.
    func settleRange(_ range: PushRange, owner: String, _ progress: PushProgress) async throws {
        try await store.transaction { store in
            let mine = "WHERE \"id\" = $1 AND \"owner\" = $2 AND \"attempts\" = $3"
            let key: [PostgresParameter] = [.int(range.id), .text(owner), .int(range.attempts)]
            let settled =
                if let left = progress.left {
                    Statement("UPDATE \"_roost_push_range\" SET \"devices\" = $4 \(mine)", key + [.textArray(left)])
                } else {
                    Statement("DELETE FROM \"_roost_push_range\" \(mine)", key)
                }
            guard try await store.query(settled).affectedRows > 0 else { return }
            try await store.pushes.count(
                progress, range.pushId, offset: range.offset, doneRanges: progress.left == nil ? 1 : 0)
            try await store.pushes.record(progress, range.pushId)
            if let report = progress.report { try await store.pushes.add(report, to: range.pushId) }
            if progress.left == nil { try await store.pushes.end(range.pushId) }
        }
    }

    func count(_ progress: PushProgress, _ pushId: String, offset: String, doneRanges: Double) async throws {
        func numbers(_ counts: [Name: Int]) -> PostgresParameter {
            var object: JSONObject = [:]
            for (type, count) in counts { object[type] = .number(Double(count)) }
            return .jsonb(JSONValue.object(object).serialized())
        }
        /// SQL that adds counts to a column of counts.
        func sum(_ column: String, _ added: String) -> String {
            """
            CASE WHEN \(added) = '{}' THEN "\(column)" ELSE (
                SELECT jsonb_object_agg("key", "sum") FROM (
                    SELECT "key", sum("value"::numeric) AS "sum" FROM (
                        SELECT * FROM jsonb_each_text(COALESCE("\(column)", '{}'))
                        UNION ALL SELECT CASE WHEN "\(column)" ? "key" OR (
                                SELECT count(*) FROM jsonb_object_keys("\(column)")) < \(PushProgress.maxKinds)
                            THEN "key" ELSE '\(PushProgress.others.text)' END, "value"
                        FROM jsonb_each_text(\(added))) "both" GROUP BY "key") "sums") END
            """
        }
        let (sent, failed) = (progress.sent.values.reduce(0, +), progress.failed.values.reduce(0, +))
        var zoned: (sent: [Name: Int], failed: [Name: Int]) = ([:], [:])
        if !offset.isEmpty {
            if sent > 0 { zoned.sent[Name(offset)] = sent }
            if failed > 0 { zoned.failed[Name(offset)] = failed }
        }
        _ = try await store.query(
            """
            UPDATE "_PushStatus" SET "updatedAt" = date_trunc('milliseconds', now()),
                "numSent" = COALESCE("numSent", 0) + $2,
                "numFailed" = CASE WHEN $3 = 0 THEN "numFailed" ELSE COALESCE("numFailed", 0) + $3 END,
                "sentPerType" = \(sum("sentPerType", "$4")), "failedPerType" = \(sum("failedPerType", "$5")),
                "sentPerUTCOffset" = \(sum("sentPerUTCOffset", "$6")),
                "failedPerUTCOffset" = \(sum("failedPerUTCOffset", "$7")),
                "count" = "count" - $8, "errorMessage" = COALESCE("errorMessage", $9)
            WHERE "objectId" = $1
            """,
            [
                .text(pushId), .double(Double(sent)), .double(Double(failed)), numbers(progress.sent),
                numbers(progress.failed), numbers(zoned.sent), numbers(zoned.failed), .double(doneRanges),
                progress.error.map { .jsonb(JSONValue.object($0).serialized()) } ?? .null(.jsonb),
            ])
    }

    func record(_ progress: PushProgress, _ pushId: String) async throws {
        if !progress.failures.isEmpty {
            _ = try await store.query(
                """
                INSERT INTO "_roost_push_failure" ("pushId", "objectId", "deviceType", "reason")
                SELECT $1, * FROM unnest($2, $3, $4)
                """,
                [
                    .text(pushId), .textArray(progress.failures.map(\.objectId)),
                    .textArray(progress.failures.map(\.type)), .textArray(progress.failures.map(\.reason)),
                ])
        }
        guard !progress.deadTokens.isEmpty else { return }
        // A token saved after its service rejected it is valid again or belongs to another device. A locked row is left
        // to the next push.
        _ = try await store.query(
            """
            WITH dead AS (SELECT * FROM unnest($1, $2, $3, $4) AS "d" ("id", "token", "reason", "since")),
            free AS (
                SELECT "objectId" FROM "_Installation" WHERE "objectId" = ANY($1) FOR UPDATE SKIP LOCKED),
            cleared AS (
                UPDATE "_Installation" device
                SET "deviceToken" = NULL, "updatedAt" = date_trunc('milliseconds', now())
                FROM dead, free WHERE device."objectId" = dead."id" AND device."objectId" = free."objectId"
                    AND "deviceToken" = dead."token" AND "updatedAt" < dead."since"
                RETURNING dead."id", dead."token", dead."reason")
            INSERT INTO "_roost_dead_token" ("objectId", "token", "reason") SELECT * FROM cleared
            """,
            [
                .textArray(progress.deadTokens.map(\.objectId)), .textArray(progress.deadTokens.map(\.token)),
                .textArray(progress.deadTokens.map(\.reason)),
                .timestampArray(milliseconds: progress.deadTokens.map { $0.since ?? 253_370_764_800_000 }),
            ])
    }
}
