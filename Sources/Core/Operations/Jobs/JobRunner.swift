import JSON
import Logging
import ParseModel
import ParseStorage
import Rules
import Synchronization
import Telemetry

/// Runs jobs in this process.
///
/// Each run has a row in `_JobStatus` for administrators and an internal row with the heartbeat of its process. Runs of
/// processes without a recent heartbeat are marked as failed.
public final class JobRunner: Sendable {
    private struct State {
        var runs: [Name: Task<Void, Never>] = [:]
        /// The number of runs being inserted into the database.
        var starting = 0
        var hasStopped = false
    }

    let jobs: any JobSet
    let store: ObjectStore
    let logger: Logger
    private let limit: Int
    private let idSize: Int
    private let meters: JobMeters
    private let owner = Identifiers.hexadecimal(32)
    private let state = Mutex(State())
    private let isPrepared = Atomic(false)

    /// The heartbeat interval.
    static let pulse = Duration.seconds(10)
    /// The seconds without a heartbeat after which a process counts as dead.
    static let silenceLimit = 60.0
    private static let grace = Duration.seconds(2)
    /// The message of a run that ended because its process stopped.
    static let stopped = "Server stopped."

    /// - Parameters:
    ///   - limit: The maximum number of concurrent jobs in this process.
    ///   - idSize: The length of run ids.
    init(_ jobs: any JobSet, store: ObjectStore, limit: Int, idSize: Int, meters: JobMeters, logger: Logger) {
        self.meters = meters
        self.jobs = jobs
        self.store = store
        self.limit = limit
        self.idSize = idSize
        self.logger = logger
    }

    /// Creates the internal table of runs if it doesn't exist. Servers without jobs don't need it.
    public func prepare() async throws {
        guard !isPrepared.load(ordering: .acquiring) else { return }
        try await store.jobs.prepare()
        isPrepared.store(true, ordering: .releasing)
    }

    enum Refusal: Error {
        /// The job is exclusive and already running, or another process starts or has started scheduled runs.
        case isRunning
        /// The limit of concurrent jobs is reached.
        case isFull
        /// The server is shutting down.
        case hasStopped
    }

    /// Starts a job and returns the id of its `_JobStatus` row, without waiting for its end.
    ///
    /// - Parameters:
    ///   - source: The origin of the run, stored in its row: `api` or `schedule`.
    ///   - record: Inserts the rows of the run. Returns false if the job can't run now.
    /// - Throws: ``Refusal`` if the job can't start, and errors of the database.
    func start(
        _ job: Job, _ name: Name, _ parameters: JSONObject, source: String, _ context: RequestContext,
        record: (JobStart) async throws -> Bool
    ) async throws -> String {
        try await prepare()
        try state.withLock { state in
            guard !state.hasStopped else { throw Refusal.hasStopped }
            guard state.runs.count + state.starting < limit else { throw Refusal.isFull }
            state.starting += 1
        }
        let id = Identifiers.alphanumeric(idSize)
        let start = JobStart(
            id: id, name: name.text, source: source, owner: owner, isExclusive: job.isExclusive, at: context.now)
        do {
            guard try await record(start) else { throw Refusal.isRunning }
        } catch {
            state.withLock { $0.starting -= 1 }
            throw error
        }
        let messages = JobMessages(of: id, store: store, logger: logger)
        let call = JobCall(
            name: name, id: id, parameters: parameters, context: context, message: { messages.add($0) })
        state.withLock { state in
            state.starting -= 1
            // Detached, because the job continues if the client disconnects.
            let task = Task.detached { await self.carryOut(job, call, messages) }
            // `stop()` marks runs that were recorded during shutdown as failed.
            if state.hasStopped { task.cancel() }
            state.runs[Name(id)] = task
        }
        return id
    }

    private func carryOut(_ job: Job, _ call: JobCall, _ messages: JobMessages) async {
        logger.info("job started", metadata: ["job": "\(call.name)", "run": "\(call.id)"])
        meters.running.add(1)
        defer { meters.running.add(-1) }
        var end: JobEnd
        do {
            end = JobEnd(hasSucceeded: true, message: try await job.run(call))
        } catch {
            end = JobEnd(hasSucceeded: false, message: Self.text(of: error, isStopping: hasStopped))
            logger.error(
                "job failed",
                metadata: ["job": "\(call.name)", "run": "\(call.id)", "error": "\(end.message ?? "")"])
        }
        let last = await messages.end()
        end.message = end.message.flatMap { $0.isEmpty ? nil : JobMessages.storable($0) } ?? last
        end.at = .now
        meters.add(
            end.hasSucceeded ? .succeeded : .failed, job: call.name.text, at: Double(ParseDate.now.milliseconds) / 1000)
        // In a separate task, so that a cancelled job's end is still recorded.
        await Task { [end] in await self.record(end, of: call.id) }.value
        state.withLock { $0.runs[Name(call.id)] = nil }
    }

    /// Records the end of a job, retrying while the database is unavailable, until the server stops.
    private func record(_ end: JobEnd, of id: String) async {
        var pause = Duration.milliseconds(200)
        while true {
            do {
                return try await store.jobs.end(id, of: owner, end)
            } catch {
                logger.warning("can't store a job result, will retry", metadata: ["run": "\(id)", "error": "\(error)"])
            }
            if hasStopped { return }
            try? await Task.sleep(for: pause)
            pause = min(pause * 2, .seconds(10))
        }
    }

    private var hasStopped: Bool { state.withLock { $0.hasStopped } }

    private static func text(of error: any Error, isStopping: Bool) -> String {
        switch error {
        case is CancellationError where isStopping: stopped
        case let error as ParseError: error.message
        default: "\(error)"
        }
    }

    /// Sends heartbeats and marks the runs of dead processes as failed, until the task is cancelled.
    public func run() async {
        while !Task.isCancelled {
            await check()
            try? await Task.sleep(for: Self.pulse)
        }
    }

    private func check() async {
        do {
            // Jobs may be deployed while the server runs.
            guard isPrepared.load(ordering: .acquiring) || !jobs.jobNames.isEmpty else { return }
            try await prepare()
            let alive = Set(try await store.jobs.renew(of: owner))
            // Other processes considered this one dead and marked its runs as failed, so the jobs are cancelled.
            let lost = state.withLock { state in state.runs.filter { !alive.contains($0.key) } }
            for (id, task) in lost where try await !store.jobs.isRunning(id.text) { task.cancel() }
            try await sweep()
        } catch {
            if !Task.isCancelled {
                logger.warning("can't update job status, retrying", metadata: ["error": "\(error)"])
            }
        }
    }

    /// Marks the runs of dead processes as failed.
    func sweep() async throws {
        let count = try await store.jobs.endThoseOfDeadProcesses(silentFor: Self.silenceLimit, message: Self.stopped)
        if count > 0 { logger.warning("marked jobs of dead processes as failed", metadata: ["count": "\(count)"]) }
    }

    /// Cancels all jobs, and marks those that don't end in time as failed.
    public func stop() async {
        let tasks = state.withLock { state in
            state.hasStopped = true
            return Array(state.runs.values)
        }
        for task in tasks { task.cancel() }
        let end = ContinuousClock.now + Self.grace
        while ContinuousClock.now < end, state.withLock({ !$0.runs.isEmpty || $0.starting > 0 }) {
            // A separate task sleeps even if the caller has been cancelled.
            await Task { try? await Task.sleep(for: .milliseconds(10)) }.value
        }
        guard !tasks.isEmpty || state.withLock({ !$0.runs.isEmpty }) else { return }
        do {
            try await store.jobs.endAll(of: owner, message: Self.stopped)
        } catch {
            logger.warning("could not mark unfinished jobs as failed at shutdown", metadata: ["error": "\(error)"])
        }
    }
}
