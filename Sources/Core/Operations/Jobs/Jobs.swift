public import JSON
import ParseModel
import ParseStorage
public import Rules
import ServerConfiguration

/// Starts and schedules background jobs.
public struct Jobs: Sendable, BackendPart {
    let backend: Backend

    /// The sorted names of all jobs.
    public var names: [Name] { services.jobRunner?.jobs.jobNames.sorted() ?? [] }

    /// Starts a job and returns without waiting for its end.
    ///
    /// - Returns: The id of the run's row in `_JobStatus`.
    /// - Throws: 119 for the read-only master key, 141 if the job doesn't exist or is exclusive and already running,
    ///   155 if too many jobs are running, or `ServiceUnavailable` if the server is stopping.
    public func start(_ name: Name, _ parameters: JSONObject, _ context: RequestContext) async throws -> String {
        guard context.caller.power != .readOnlyMaster else { throw ParseError.readOnly("run a job") }
        guard let runner = services.jobRunner, let job = runner.jobs.job(named: name) else {
            throw ParseError(ParseError.scriptFailed, "Invalid job.")
        }
        do {
            return try await runner.start(job, name, parameters, source: "api", context) { start in
                if try await store.jobs.start(start) { return true }
                // The run that blocks this one may belong to a dead process.
                try await runner.sweep()
                return try await store.jobs.start(start)
            }
        } catch let refusal as JobRunner.Refusal {
            switch refusal {
            case .isRunning:
                throw ParseError(ParseError.scriptFailed, "The job is already running.")
            case .isFull:
                throw ParseError(ParseError.requestLimitExceeded, "Too many jobs are running (maximumJobs).")
            case .hasStopped:
                throw ServiceUnavailable("The server is stopping.")
            }
        }
    }

    /// Creates or updates a job schedule.
    ///
    /// - Parameter objectId: The schedule to update, or nil to create one.
    /// - Throws: 141 if the job doesn't exist, 119 for the read-only master key.
    public func saveSchedule(_ objectId: String?, _ body: JSONObject, _ context: RequestContext) async throws
        -> WriteResult
    {
        let undeployed = ParseError(ParseError.scriptFailed, "Cannot Schedule a job that is not deployed")
        guard case .object(var schedule)? = body["job_schedule"] else { throw undeployed }
        if let value = schedule["jobName"] {
            guard let name = value.nameValue, services.jobRunner?.jobs.job(named: name) != nil else { throw undeployed }
        }
        if schedule["startAfter"] == nil { schedule["startAfter"] = .string(context.now.iso) }
        if let objectId { return try await backend.saving.update("_JobSchedule", objectId, schedule, context) }
        return try await backend.saving.create("_JobSchedule", schedule, context)
    }

    /// Runs scheduled jobs until cancelled. Returns at once if `jobSchedules` is off or the backend has no ``JobSet``.
    public func followSchedules() async {
        guard let runner = services.jobRunner, configuration.jobSchedules else { return }
        await JobScheduler(runner: runner, clock: services.clock, pause: services.extensions.schedulePause).run()
    }
}

/// The background jobs of a deployment. They may change while the server runs.
public protocol JobSet: Sendable {
    var jobNames: [Name] { get }

    /// Returns the job with this name, or nil if it doesn't exist.
    func job(named name: Name) -> Job?
}

public struct Job: Sendable {
    /// Whether only one run may be active across all processes on the database.
    public var isExclusive: Bool
    /// The job's code. Its result, or the text of its error, becomes the message of the run unless nil or empty.
    /// Shutting down the server cancels the task.
    public var run: @Sendable (JobCall) async throws -> String?

    public init(isExclusive: Bool = false, run: @escaping @Sendable (JobCall) async throws -> String?) {
        self.isExclusive = isExclusive
        self.run = run
    }
}

/// A job's input.
public struct JobCall: Sendable {
    public let name: Name
    /// The id of the run's row in `_JobStatus`.
    public let id: String
    /// The parameters of the run, in Parse's JSON encoding.
    public let parameters: JSONObject
    /// The request that started the job. For scheduled runs, a request of the server itself.
    public let context: RequestContext
    /// A function that reports progress. The text becomes the message of the run. Of several reports in quick
    /// succession, all but the last may be skipped.
    public let message: @Sendable (String) -> Void
}
