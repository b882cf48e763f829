import JSON
import Logging
import ParseModel
import ParseStorage
import Rules
import Synchronization
import Telemetry

/// The jobs that run in this process.
///
/// Each has a row in `_JobStatus`, which administrators read, and one among the runs, which says that its process
/// lives. A process says so every few seconds; the rows of one that no longer does become failed.
public final class JobRunner: Sendable {
    private struct State {
        var runs: [Name: Task<Void, Never>] = [:]
        /// Runs that are being written into the database.
        var starting = 0
        var hasStopped = false
    }

    let jobs: any JobSet
    let store: ObjectStore
    let logger: Logger
    private let most: Int
    private let idSize: Int
    private let meters: JobMeters
    /// This process's name in job runs.
    private let owner = Identifiers.hexadecimal(32)
    private let state = Mutex(State())
    private let isPrepared = Atomic(false)

    /// How often a process says that it lives.
    static let pulse = Duration.seconds(10)
    /// After how many seconds without a sign of life a process counts as dead.
    static let silenceLimit = 60.0
    /// Time for jobs to end when the server stops.
    private static let grace = Duration.seconds(2)
    /// The message of a job whose process ended before it.
    static let stopped = "Server stopped."

    /// - Parameters:
    ///   - most: How many jobs run at a time.
    ///   - idSize: The length of the ids of runs.
    ///   - meters: What is counted.
    init(_ jobs: any JobSet, store: ObjectStore, most: Int, idSize: Int, meters: JobMeters, logger: Logger) {
        self.meters = meters
        self.jobs = jobs
        self.store = store
        self.most = most
        self.idSize = idSize
        self.logger = logger
    }

    /// Makes the table of runs, where there is none. Servers without jobs need none.
    public func prepare() async throws {
        guard !isPrepared.load(ordering: .acquiring) else { return }
        try await store.jobs.prepare()
        isPrepared.store(true, ordering: .releasing)
    }

    /// Why a job was not started.
    enum Refusal: Error {
        /// It is already running, and runs once at a time.
        case isRunning
        /// Too many run.
        case isFull
        /// The server ends.
        case hasStopped
    }

    /// Starts a job. It runs on when this returns.
    ///
    /// - Parameters:
    ///   - source: What started it, as the row has it.
    ///   - record: Writes the row and what belongs to it; false when the job may not run.
    /// - Returns: The id of its row.
    func start(
        _ job: Job, _ name: Name, _ parameters: JSONObject, source: String, _ context: RequestContext,
        record: (JobStart) async throws -> Bool
    ) async throws -> String {
        try await prepare()
        try state.withLock { state in
            guard !state.hasStopped else { throw Refusal.hasStopped }
            guard state.runs.count + state.starting < most else { throw Refusal.isFull }
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
            // Not part of the request: it goes on when the client has gone away.
            let task = Task.detached { await self.carryOut(job, call, messages) }
            // What was recorded while the server stopped is among what it marks as stopped.
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
        // In a task of its own, which a cancelled job cannot cut short.
        await Task { [end] in await self.record(end, of: call.id) }.value
        state.withLock { $0.runs[Name(call.id)] = nil }
    }

    /// Records the end of a job, retrying while the database is unavailable.
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

    /// Says that this process lives, and marks the runs of those that do not, until the task is cancelled.
    public func run() async {
        while !Task.isCancelled {
            await look()
            try? await Task.sleep(for: Self.pulse)
        }
    }

    private func look() async {
        do {
            // Jobs may come while the server runs.
            guard isPrepared.load(ordering: .acquiring) || !jobs.jobNames.isEmpty else { return }
            try await prepare()
            let alive = Set(try await store.jobs.keep(of: owner))
            // Others took this process for dead: what it still does is not its business any more.
            let lost = state.withLock { state in state.runs.filter { !alive.contains($0.key) } }
            for (id, task) in lost where try await !store.jobs.isRunning(id.text) { task.cancel() }
            try await sweep()
        } catch {
            if !Task.isCancelled {
                logger.warning("can't read jobs", metadata: ["error": "\(error)"])
            }
        }
    }

    /// Marks the runs of processes that give no sign of life.
    func sweep() async throws {
        let count = try await store.jobs.endThoseOfDeadProcesses(silentFor: Self.silenceLimit, message: Self.stopped)
        if count > 0 { logger.warning("marked jobs of dead processes as failed", metadata: ["count": "\(count)"]) }
    }

    /// Ends all jobs: they are cancelled, and what has not ended soon is marked as stopped.
    public func stop() async {
        let tasks = state.withLock { state in
            state.hasStopped = true
            return Array(state.runs.values)
        }
        for task in tasks { task.cancel() }
        let end = ContinuousClock.now + Self.grace
        while ContinuousClock.now < end, state.withLock({ !$0.runs.isEmpty || $0.starting > 0 }) {
            // The caller may have been cancelled: time passes all the same.
            await Task { try? await Task.sleep(for: .milliseconds(10)) }.value
        }
        guard !tasks.isEmpty || state.withLock({ !$0.runs.isEmpty }) else { return }
        do {
            try await store.jobs.endAll(of: owner, message: Self.stopped)
        } catch {
            logger.warning("could not mark unfinished jobs at shutdown", metadata: ["error": "\(error)"])
        }
    }
}
