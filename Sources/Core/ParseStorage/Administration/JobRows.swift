public import JSON
public import ParseModel
import Postgres

/// The start of a job run.
public struct JobStart: Sendable {
    /// The `objectId` of the run's `_JobStatus` row.
    public let id: String
    public let name: String
    /// The `source` of the row: `api` or `schedule`.
    public let source: String
    /// The id of the process that runs the job.
    public let owner: String
    /// Whether the job must not run twice at the same time.
    public let isExclusive: Bool
    public let at: ParseDate

    public init(id: String, name: String, source: String, owner: String, isExclusive: Bool, at: ParseDate) {
        self.id = id
        self.name = name
        self.source = source
        self.owner = owner
        self.isExclusive = isExclusive
        self.at = at
    }
}

/// The outcome of a job run.
public struct JobEnd: Sendable {
    public var hasSucceeded: Bool
    /// The last message, or nil to keep the current one.
    public var message: String?
    public var at = ParseDate.now

    public init(hasSucceeded: Bool, message: String?) {
        self.hasSucceeded = hasSucceeded
        self.message = message
    }
}

/// Job runs: their `_JobStatus` rows, in parse-server's format, and a table with the process that runs each of them.
public struct JobRows: Sendable {
    let store: ObjectStore

    /// Creates the table of runs if it doesn't exist.
    public func prepare() async throws {
        try await ProcessLock.schemaChange.make(
            """
            CREATE TABLE IF NOT EXISTS "_roost_job_run" (
                "id" text PRIMARY KEY, "jobName" text NOT NULL, "owner" text NOT NULL,
                "isExclusive" boolean NOT NULL, "seen" timestamptz NOT NULL DEFAULT now());
            CREATE UNIQUE INDEX IF NOT EXISTS "_roost_job_run_exclusive" ON "_roost_job_run" (left("jobName", 500))
                WHERE "isExclusive";
            """, store.client)
    }

    /// Records the start of a job. As in parse-server, its `_JobStatus` row has no `updatedAt` and an empty ACL.
    ///
    /// - Returns: False if the job is exclusive and already running.
    public func start(_ start: JobStart) async throws -> Bool {
        try await convertingErrors {
            let rows = try await store.query(
                """
                WITH run AS (
                    INSERT INTO "_roost_job_run" ("id", "jobName", "owner", "isExclusive") VALUES ($1, $2, $3, $4)
                    ON CONFLICT DO NOTHING RETURNING "id")
                INSERT INTO "_JobStatus"
                    ("objectId", "createdAt", "jobName", "source", "status", "_rperm", "_wperm")
                SELECT "id", $5, $2, $6, 'running', '{}', '{}' FROM run RETURNING 1
                """,
                [
                    .text(start.id), .text(start.name), .text(start.owner), .bool(start.isExclusive),
                    .timestamp(milliseconds: start.at.milliseconds), .text(start.source),
                ])
            return rows.rowCount > 0
        }
    }

    /// Sets the message of a job if it is still running.
    public func setMessage(_ text: String, ofJob id: String) async throws {
        try await convertingErrors {
            _ = try await store.query(
                """
                UPDATE "_JobStatus" SET "message" = $2 WHERE "objectId" = $1 AND "status" = 'running'
                """, [.text(id), .text(text)])
        }
    }

    /// Records the end of a job, unless another process has already marked it as failed.
    public func end(_ id: String, of owner: String, _ end: JobEnd) async throws {
        try await convertingErrors {
            _ = try await store.query(
                """
                WITH run AS (
                    DELETE FROM "_roost_job_run" WHERE "id" = $1 AND "owner" = $2 RETURNING "id")
                UPDATE "_JobStatus" SET "status" = $3, "finishedAt" = $4, "message" = COALESCE($5, "message")
                FROM run WHERE "objectId" = run."id" AND "status" = 'running'
                """,
                [
                    .text(id), .text(owner), .text(end.hasSucceeded ? "succeeded" : "failed"),
                    .timestamp(milliseconds: end.at.milliseconds), end.message.map { .text($0) } ?? .null(.text),
                ])
        }
    }

    /// Renews the heartbeat of a process, and returns the ids of its runs.
    public func renew(of owner: String) async throws -> [Name] {
        try await convertingErrors {
            let rows = try await store.query(
                "UPDATE \"_roost_job_run\" SET \"seen\" = now() WHERE \"owner\" = $1 RETURNING \"id\"",
                [.text(owner)])
            return (0..<rows.rowCount).compactMap { rows.string($0, 0).map { Name($0) } }
        }
    }

    public func isRunning(_ id: String) async throws -> Bool {
        try await convertingErrors {
            try await store.query("SELECT 1 FROM \"_roost_job_run\" WHERE \"id\" = $1", [.text(id)], readOnly: true)
                .rowCount
                > 0
        }
    }

    /// Marks all runs of a process as failed.
    public func endAll(of owner: String, message: String) async throws {
        try await convertingErrors {
            _ = try await store.query(
                Self.ending("\"owner\" = $1"), [.text(owner), .text(message)])
        }
    }

    /// Marks runs as failed if their process hasn't sent a heartbeat for this many seconds. Returns the number of runs.
    public func endThoseOfDeadProcesses(silentFor seconds: Double, message: String) async throws -> Int {
        try await convertingErrors {
            try await store.query(
                Self.ending("\"seen\" < now() - make_interval(secs => $1)"), [.double(seconds), .text(message)]
            ).rowCount
        }
    }

    private static func ending(_ condition: String) -> String {
        """
        WITH ended AS (DELETE FROM "_roost_job_run" WHERE \(condition) RETURNING "id")
        UPDATE "_JobStatus" SET "status" = 'failed', "finishedAt" = date_trunc('milliseconds', now()), "message" = $2
        FROM ended WHERE "objectId" = ended."id" AND "status" = 'running' RETURNING 1
        """
    }

    /// Returns the `_JobSchedule` rows of the named jobs.
    public func schedules(of names: [Name]) async throws -> [JSONObject] {
        var request = ObjectStore.FindRequest(className: "_JobSchedule")
        request.filter = .field(FieldPath("jobName"), .isIn(names.map { .string($0.text) }))
        request.order = [SortKey(FieldPath("objectId"), isDescending: false)]
        return try await store.find(request).objects
    }

    /// Records a scheduled start of a job together with the schedule's `lastRun`, in one transaction.
    ///
    /// - Parameters:
    ///   - lastRun: The schedule's previous run, or nil if it has never run. If the row contains a different one,
    ///     another process has already started this run.
    ///   - now: The time of this run, in milliseconds since 1970.
    /// - Returns: False if another process has started this run or is starting scheduled runs, or if the job is
    ///   exclusive and already running.
    public func start(_ start: JobStart, of scheduleId: String, lastRun: Double?, now: Double) async throws -> Bool {
        struct Taken: Error {}
        do {
            return try await store.transaction { store in
                let lock = try await store.query("SELECT pg_try_advisory_xact_lock(\(ProcessLock.jobSchedules.key))")
                guard lock.bool(0, 0) == true else { return false }
                let rows = try await store.query(
                    """
                    UPDATE "_JobSchedule" SET "lastRun" = $2
                    WHERE "objectId" = $1 AND "lastRun" IS NOT DISTINCT FROM $3 RETURNING 1
                    """,
                    [.text(scheduleId), .double(now), lastRun.map { .double($0) } ?? .null(.float8)])
                guard rows.rowCount > 0 else { return false }
                guard try await store.jobs.start(start) else { throw Taken() }
                return true
            }
        } catch is Taken {
            return false
        }
    }

    /// Converts database errors to client errors, except in a transaction, which may be repeated after them.
    private func convertingErrors<R: Sendable>(_ body: () async throws -> R) async throws -> R {
        try await store.isInTransaction ? body() : store.convertingErrors(body)
    }
}
