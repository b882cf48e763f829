import ParseStorage
import Postgres

extension ObjectStore {
    var pushes: PushRows { PushRows(store: self) }
}

/// The queue of push notifications, in tables that no route can read.
struct PushRows: Sendable {
    let store: ObjectStore

    /// Creates the push tables unless they exist.
    ///
    /// `_roost_push` has the requests and `_roost_push_part` the times at which they are sent. When a part is due, it
    /// is split into ranges of devices, which processes claim for a minute at a time. Failures are kept for one day,
    /// reports of dry runs and removed tokens for 30 days.
    func prepare() async throws {
        try await ProcessLock.schemaChange.make(
            """
            CREATE TABLE IF NOT EXISTS "_roost_push" (
                "id" text PRIMARY KEY, "content" text NOT NULL, "expiry" bigint, "pushTime" text NOT NULL,
                "isLocal" boolean NOT NULL);
            CREATE TABLE IF NOT EXISTS "_roost_push_part" (
                "pushId" text NOT NULL, "offset" text NOT NULL, "zones" text[], "due" timestamptz NOT NULL,
                PRIMARY KEY ("pushId", "offset"));
            CREATE TABLE IF NOT EXISTS "_roost_push_range" (
                "id" bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "pushId" text NOT NULL,
                "offset" text NOT NULL, "route" text NOT NULL, "number" bigint NOT NULL, "devices" text[] NOT NULL,
                "owner" text, "leasedUntil" timestamptz NOT NULL DEFAULT '-infinity',
                "attempts" bigint NOT NULL DEFAULT 0);
            CREATE INDEX IF NOT EXISTS "_roost_push_range_push" ON "_roost_push_range" ("pushId");
            CREATE INDEX IF NOT EXISTS "_roost_push_range_next" ON "_roost_push_range" ("route", "number", "id");
            CREATE TABLE IF NOT EXISTS "_roost_push_failure" (
                "pushId" text NOT NULL, "objectId" text NOT NULL, "deviceType" text NOT NULL,
                "reason" text NOT NULL, "at" timestamptz NOT NULL DEFAULT now());
            CREATE INDEX IF NOT EXISTS "_roost_push_failure_push" ON "_roost_push_failure" ("pushId");
            CREATE INDEX IF NOT EXISTS "_roost_push_failure_at" ON "_roost_push_failure" ("at");
            CREATE INDEX IF NOT EXISTS "_roost_push_part_due" ON "_roost_push_part" ("due");
            CREATE TABLE IF NOT EXISTS "_roost_push_report" (
                "pushId" text PRIMARY KEY, "report" text NOT NULL, "at" timestamptz NOT NULL DEFAULT now());
            CREATE TABLE IF NOT EXISTS "_roost_dead_token" (
                "objectId" text NOT NULL, "token" text NOT NULL, "reason" text NOT NULL,
                "at" timestamptz NOT NULL DEFAULT now());
            CREATE INDEX IF NOT EXISTS "_roost_dead_token_at" ON "_roost_dead_token" ("at");
            """, store.client)
    }

    /// Deletes expired records of failures, removed tokens and dry runs, and old rows of finished pushes.
    ///
    /// - Parameter days: The age in days at which rows of finished pushes are deleted, or nil to keep them forever.
    func sweep(keepingRowsFor days: Double?) async throws {
        let day = 86_400.0
        try await remove(from: "_roost_push_failure", where: "\"at\"", olderThan: day)
        try await remove(from: "_roost_dead_token", where: "\"at\"", olderThan: 30 * day)
        try await remove(from: "_roost_push_report", where: "\"at\"", olderThan: 30 * day)
        guard let days else { return }
        let time = "\"status\" IN ('succeeded', 'failed') AND \"updatedAt\""
        try await remove(from: "_PushStatus", where: time, olderThan: days * day)
    }

    /// Removes old rows in batches, so that no statement times out.
    private func remove(from table: String, where time: String, olderThan seconds: Double) async throws {
        let limit: Int64 = 10_000
        var removed = limit
        while removed == limit {
            let rows = try await store.query(
                """
                WITH gone AS (
                    DELETE FROM "\(table)" WHERE ctid = ANY (ARRAY(
                        SELECT ctid FROM "\(table)" WHERE \(time) < now() - make_interval(secs => $1)
                        LIMIT \(limit))) RETURNING 1)
                SELECT count(*) FROM gone
                """, [.double(seconds)])
            removed = rows.int(0, 0) ?? 0
        }
    }
}
