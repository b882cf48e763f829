public import JSON
public import ParseModel
import Postgres

/// The start of a job, as recorded.
public struct JobStart: Sendable {
    /// The id of its row.
    public let id: String
    /// The name of the job.
    public let name: String
    /// What started it.
    public let source: String
    /// The process that runs it.
    public let owner: String
    /// Whether no other run of the job may be.
    public let isExclusive: Bool
    /// When it began.
    public let at: ParseDate

    /// Makes a note.
    public init(id: String, name: String, source: String, owner: String, isExclusive: Bool, at: ParseDate) {
        self.id = id
        self.name = name
        self.source = source
        self.owner = owner
        self.isExclusive = isExclusive
        self.at = at
    }
}

/// The end of a job, as recorded.
public struct JobEnd: Sendable {
    /// Whether it did what it should.
    public var hasSucceeded: Bool
    /// What it said; nil for what it said before.
    public var message: String?
    /// When it ended.
    public var at: ParseDate

    /// Makes a note.
    public init(hasSucceeded: Bool, message: String?, at: ParseDate = .now) {
        self.hasSucceeded = hasSucceeded
        self.message = message
        self.at = at
    }
}

/// Runs of jobs: their rows in `_JobStatus`, as parse-server writes them, and a table beside the classes that says which
/// process each belongs to.
public struct JobRows: Sendable {
    let store: ObjectStore

    /// Makes the table of runs, if there is none.
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

    /// Notes that a job runs. As with parse-server, the row has no `updatedAt`, and only the master key sees it.
    ///
    /// - Returns: False when it runs already and may not run twice.
    public func start(_ start: JobStart) async throws -> Bool {
        try await noting {
            let rows = try await store.query(
                Statement(
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
                    ]))
            return rows.rowCount > 0
        }
    }

    /// Notes the message of a job that runs.
    public func setMessage(_ text: String, ofJob id: String) async throws {
        try await noting {
            _ = try await store.query(
                Statement(
                    """
                    UPDATE "_JobStatus" SET "message" = $2 WHERE "objectId" = $1 AND "status" = 'running'
                    """, [.text(id), .text(text)]))
        }
    }

    /// Notes that a job has ended, unless others took its process for dead before.
    public func end(_ id: String, of owner: String, _ end: JobEnd) async throws {
        try await noting {
            _ = try await store.query(
                Statement(
                    """
                    WITH run AS (
                        DELETE FROM "_roost_job_run" WHERE "id" = $1 AND "owner" = $2 RETURNING "id")
                    UPDATE "_JobStatus" SET "status" = $3, "finishedAt" = $4, "message" = COALESCE($5, "message")
                    FROM run WHERE "objectId" = run."id" AND "status" = 'running'
                    """,
                    [
                        .text(id), .text(owner), .text(end.hasSucceeded ? "succeeded" : "failed"),
                        .timestamp(milliseconds: end.at.milliseconds), end.message.map { .text($0) } ?? .null(.text),
                    ]))
        }
    }

    /// Says that a process lives, and gives the ids of the runs that are still its own.
    public func keep(of owner: String) async throws -> [Name] {
        try await noting {
            let rows = try await store.query(
                Statement(
                    "UPDATE \"_roost_job_run\" SET \"seen\" = now() WHERE \"owner\" = $1 RETURNING \"id\"",
                    [.text(owner)]))
            return (0..<rows.rowCount).compactMap { rows.string($0, 0).map { Name($0) } }
        }
    }

    /// Whether a run is noted.
    public func isRunning(_ id: String) async throws -> Bool {
        try await noting {
            try await store.query("SELECT 1 FROM \"_roost_job_run\" WHERE \"id\" = $1", [.text(id)], readOnly: true)
                .rowCount
                > 0
        }
    }

    /// Marks all runs of a process as failed.
    public func endAll(of owner: String, message: String) async throws {
        try await noting {
            _ = try await store.query(
                Statement(Self.ending("\"owner\" = $1"), [.text(owner), .text(message)]))
        }
    }

    /// Marks the runs of processes as failed that gave no sign of life for some time, and says how many there were.
    public func endThoseOfDeadProcesses(silentFor seconds: Double, message: String) async throws -> Int {
        try await noting {
            try await store.query(
                Statement(
                    Self.ending("\"seen\" < now() - make_interval(secs => $1)"), [.double(seconds), .text(message)])
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

    /// The schedules of jobs.
    public func schedules(of names: [Name]) async throws -> [JSONObject] {
        var request = ObjectStore.FindRequest(className: "_JobSchedule")
        request.filter = .field(FieldPath("jobName"), .isIn(names.map { .string($0.text) }))
        request.order = [SortKey(FieldPath("objectId"), isDescending: false)]
        return try await store.find(request).objects
    }

    /// Notes that a job runs because its schedule says so, and that the schedule had its run; all of it or nothing.
    ///
    /// - Parameters:
    ///   - lastRun: When the schedule had its last run, as it was read: who finds another is too late.
    ///   - now: When it has this run, in milliseconds since 1970.
    /// - Returns: False when another process has taken the run, or the job may not run twice.
    public func start(_ start: JobStart, of scheduleId: String, lastRun: Double?, now: Double) async throws -> Bool {
        struct Taken: Error {}
        do {
            return try await store.transaction { store in
                guard try await store.jobs.takeSchedules() else { return false }
                let rows = try await store.query(
                    Statement(
                        """
                        UPDATE "_JobSchedule" SET "lastRun" = $2
                        WHERE "objectId" = $1 AND "lastRun" IS NOT DISTINCT FROM $3 RETURNING 1
                        """,
                        [.text(scheduleId), .double(now), lastRun.map { .double($0) } ?? .null(.float8)]))
                guard rows.rowCount > 0 else { return false }
                guard try await store.jobs.start(start) else { throw Taken() }
                return true
            }
        } catch is Taken {
            return false
        }
    }

    /// Takes the job-schedule lock until the transaction ends.
    private func takeSchedules() async throws -> Bool {
        try await store.query(
            "SELECT pg_try_advisory_xact_lock(\(ProcessLock.jobSchedules.key))", []
        ).bool(0, 0) ?? false
    }

    /// Runs its own statements and maps PostgreSQL errors to Parse's.
    private func noting<R: Sendable>(_ body: () async throws -> R) async throws -> R {
        do {
            return try await body()
        } catch let error as PostgresError where !store.isInTransaction {
            throw store.failure(error)
        }
    }
}
