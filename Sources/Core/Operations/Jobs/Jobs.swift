public import JSON
import ParseModel
import ParseStorage
public import Rules
import ServerConfiguration

/// Jobs, as administrators start and schedule them.
public struct Jobs: Sendable, BackendPart {
    let backend: Backend

    /// The names of all jobs, in order.
    public var names: [Name] { services.jobRunner?.jobs.jobNames.sorted() ?? [] }

    /// Starts a job, which runs on by itself.
    ///
    /// - Returns: The id of its row in `_JobStatus`.
    /// - Throws: 119 for the read-only master key, 141 for a job that there is not or that may not run twice, 155 when too many
    ///   run.
    public func start(_ name: Name, _ parameters: JSONObject, _ context: RequestContext) async throws -> String {
        guard context.caller.power != .readOnlyMaster else {
            throw ParseError.denied(
                ParseError.operationForbidden, "read-only masterKey isn't allowed to run a job.")
        }
        guard let runner = services.jobRunner, let job = runner.jobs.job(named: name) else {
            throw ParseError(ParseError.scriptFailed, "Invalid job.")
        }
        do {
            return try await runner.start(job, name, parameters, source: "api", context) { start in
                if try await store.jobs.start(start) { return true }
                // Perhaps the one that runs does so no more.
                try await runner.sweep()
                return try await store.jobs.start(start)
            }
        } catch let refusal as JobRunner.Refusal {
            switch refusal {
            case .isRunning:
                throw ParseError(ParseError.scriptFailed, "The job is already running.")
            case .isFull:
                throw ParseError(ParseError.requestLimitExceeded, "Too many jobs are running.")
            case .hasStopped:
                throw ServiceUnavailable("The server is stopping.")
            }
        }
    }

    /// Makes a schedule of a job, or changes one.
    ///
    /// - Parameter objectId: The schedule to change; nil for a new one.
    /// - Throws: 141 for a job that there is not, 119 for the read-only master key.
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

    /// Runs jobs when their schedules say so, until the task is cancelled. Does nothing where the option is off.
    public func followSchedules() async {
        guard let runner = services.jobRunner, configuration.jobSchedules else { return }
        await JobScheduler(runner: runner, clock: services.clock, pause: services.schedulePause).run()
    }
}

/// The jobs that a deployment offers: work that administrators start and that runs on by itself.
///
/// What is offered may change while the server runs.
public protocol JobSet: Sendable {
    /// The names of all jobs.
    var jobNames: [Name] { get }

    /// The job of a name; nil when there is none.
    func job(named name: Name) -> Job?
}

/// A job.
public struct Job: Sendable {
    /// Whether it runs once at a time, of all processes on the database.
    public var isExclusive: Bool
    /// What it does. What it gives becomes the message of its row, unless that is nil or empty; so does the text of
    /// what it throws. When the server ends, the task is cancelled.
    public var run: @Sendable (JobCall) async throws -> String?

    public init(isExclusive: Bool = false, run: @escaping @Sendable (JobCall) async throws -> String?) {
        self.isExclusive = isExclusive
        self.run = run
    }
}

/// A job's input.
public struct JobCall: Sendable {
    /// The name of the job.
    public let name: Name
    /// The id of its row in `_JobStatus`.
    public let id: String
    /// What it was started with, in the encoding of the wire.
    public let parameters: JSONObject
    /// The request that started it; for a schedule one of the server itself.
    public let context: RequestContext
    /// Reports how far it is: the text becomes the message of its row. Of several in short time the last is written.
    public let message: @Sendable (String) -> Void
}
