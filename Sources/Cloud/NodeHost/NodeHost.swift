import CloudCode
import JSON
import Logging
import NIOPosix
import ParseModel
import ServerConfiguration
import Synchronization
import UnixSignals

/// Runs an app's JavaScript: Node processes that load `cloud/main.js` or `index.js`, or only adapters and routes.
/// Restarts processes that die, and reloads the file on request.
package final class NodeHost: CloudHost {
    /// A function that sends an email for `Parse.Cloud.sendEmail`, and throws if the email can't be sent.
    package typealias SendMail = @Sendable (JSONObject) async throws -> Void

    package let kind = CloudHostKind.node

    private struct State {
        var tasks: [Task<Void, Never>] = []
        var isStopping = false
        var serverURL = ""
        var owner: WorkerOwner?
        var group: MultiThreadedEventLoopGroup?
        /// The sign-in adapters as last reported by a process. Still available while no process runs.
        var adapters: [Name: NodeAuthProvider.Description] = [:]
    }

    private enum Reloading {
        case none, running, runningAndWanted
    }

    let settings: NodeSettings
    private let sendMail: SendMail?
    private let onRestart: @Sendable () -> Void
    private let logger: Logger
    let pool: WorkerPool
    private let gate: CallGate
    private let state = Mutex(State())
    private let reloading = Mutex(Reloading.none)

    /// Creates a host without starting any process.
    ///
    /// - Parameters:
    ///   - sendMail: The function that sends emails of `Parse.Cloud.sendEmail`, or nil if the server itself sends none.
    ///   - onRestart: Called when a process has died and is about to be restarted.
    package init(
        _ settings: NodeSettings, sendMail: SendMail?, onRestart: @escaping @Sendable () -> Void = {}, logger: Logger
    ) {
        self.settings = settings
        self.sendMail = sendMail
        self.onRestart = onRestart
        self.logger = logger
        pool = WorkerPool(capacity: settings.workers)
        gate = CallGate(
            capacity: settings.openCalls * settings.workers, maxWaiting: settings.waitingCalls * settings.workers)
        state.withLock { $0.serverURL = settings.serverURL }
    }

    /// Starts the processes and waits until each has loaded the file.
    ///
    /// - Throws: An error if Node is too old or can't start, or the file can't be loaded, with the JavaScript stack.
    package func start(_ services: CloudServices) async throws {
        let owner = WorkerOwner(
            offer: { [weak self] in self?.offer($0, services) }, perform: { await services.perform($0) },
            sendMail: sendMail)
        state.withLock { state in
            state.owner = owner
            // Parsing long messages on a separate thread doesn't delay clients.
            state.group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        }
        var workers: [NodeWorker] = []
        do {
            try await NodeProgram.checkVersion(of: settings.node)
            for _ in 0..<settings.workers { workers.append(try await startWorker()) }
        } catch {
            await shutdown()
            throw error
        }
        for worker in workers { use(worker) }
        if let worker = workers.first, let offer = worker.offer {
            logger.info(
                "cloud code loaded",
                metadata: [
                    "file": "\(settings.main)", "node": "\(offer.node)", "sdk": "\(offer.sdk)",
                    "process": "\(worker.processIdentifier)", "workers": "\(settings.workers)",
                ])
        }
        follow { host in
            for await _ in await UnixSignalsSequence(trapping: .sighup) { await host.reload() }
        }
        if let key = settings.renewedKey { follow { await $0.renew(key) } }
        if settings.isWatching {
            follow { host in await FileWatch(main: host.settings.main).run { await host.reload() } }
        }
    }

    /// The sign-in adapters as reported by the processes.
    var adapters: [Name: NodeAuthProvider.Description] { state.withLock { $0.adapters } }

    package var condition: JSONObject {
        let workers = pool.workers
        let offer = workers.last?.offer
        return [
            "state": .string(pool.condition), "processes": .number(Double(workers.count)),
            "wanted": .number(Double(settings.workers)), "file": .string(settings.main),
            "node": .string(offer?.node ?? ""), "sdk": .string(offer?.sdk ?? ""),
        ]
    }

    private func follow(_ body: @escaping @Sendable (NodeHost) async -> Void) {
        let task = Task { [weak self] in
            guard let self else { return }
            await body(self)
        }
        state.withLock { $0.tasks.append(task) }
    }

    private func startWorker() async throws -> NodeWorker {
        let (owner, group, serverURL) = state.withLock { ($0.owner, $0.group, $0.serverURL) }
        guard let owner, let group else { throw NodeWorker.StartFailure(description: "Node.js was not started") }
        return try await NodeWorker.start(settings, owner: owner, serverURL: serverURL, on: group, logger: logger)
    }

    /// Puts a process into service and retires the one that it replaces. Ends the new process if other processes have
    /// taken all slots in the meantime.
    @inline(never)
    private func use(
        _ worker: NodeWorker, inPlaceOfThoseBefore moment: ContinuousClock.Instant? = nil,
        after crashes: CrashHistory = CrashHistory()
    ) {
        guard case .placed(replacing: let old) = pool.place(worker, inPlaceOfThoseBefore: moment) else {
            worker.retire()
            return worker.end(nil)
        }
        old?.retire()
        worker.sendOffer()
        // The address and the key may have changed while the process loaded.
        worker.serve(at: state.withLock { $0.serverURL })
        keepAlive(worker, after: crashes)
        if let old { Task { await old.drain() } }
    }

    @inline(never)
    private func isStopping() -> Bool { state.withLock { $0.isStopping } }

    private func offer(_ offer: HostOffer, _ services: CloudServices) {
        for problem in offer.problems { logger.warning("cloud code: \(problem)") }
        if !offer.adapters.isEmpty { state.withLock { $0.adapters = offer.adapters } }
        services.offer(offer.registrations)
    }

    /// Sends the server URL, to which the SDK uploads files, and the current master key to all processes.
    package func serve(at url: String) {
        state.withLock { $0.serverURL = url }
        for worker in pool.workers { worker.serve(at: url) }
    }

    /// Calls the app's `masterKey` function whenever the key expires. While it fails, the master key is rejected.
    private func renew(_ key: RenewedKey) async {
        let life = Duration.seconds(settings.masterKeyTtl)
        var pause = life
        while (try? await Task.sleep(for: pause)) != nil {
            do {
                key.value = try await askMasterKey()
                serve(at: state.withLock { $0.serverURL })
                pause = life
            } catch {
                if Task.isCancelled { return }
                key.value = nil
                logger.error("can't renew masterKey, rejecting it in the meantime", metadata: ["error": "\(error)"])
                pause = min(life, .seconds(5))
            }
        }
    }

    package func timeLimit(of target: CloudTarget) -> Duration? {
        if case .job = target { nil } else { settings.timeLimit }
    }

    package func call(_ call: CloudCall) async throws -> CloudResult {
        try ResultReader.result(try await send(.call, call), of: call)
    }

    package func validate(_ call: CloudCall) async throws {
        _ = try ResultReader.result(try await send(.validate, call), of: call)
    }

    /// Sends a call and waits for its result. If a process ends before it receives the call, another one gets the call.
    func send(_ kind: CallWriter.Kind, _ call: CloudCall) async throws -> JSONObject {
        try await gate.run(call) {
            let deadline = ContinuousClock.now + settings.startWait
            while true {
                let worker = try await pool.worker(within: deadline - .now)
                do {
                    return try await worker.call(kind, call)
                } catch is OpenCalls.Closed {
                    pool.remove(worker)
                }
            }
        }
    }

    /// Starts processes that load the file again. They replace the old processes, which finish their calls. If the file
    /// can't be loaded, the remaining old processes stay. A reload requested in the meantime runs afterward, because
    /// the file may have changed after it was read.
    package func reload() async {
        guard beginReload() else { return }
        repeat { await replaceWorkers() } while continueReload()
    }

    private func replaceWorkers() async {
        let moment = ContinuousClock.now
        do {
            for _ in 0..<settings.workers {
                if isStopping() { return }
                let worker = try await startWorker()
                if isStopping() { return worker.end(nil) }
                use(worker, inPlaceOfThoseBefore: moment)
            }
            logger.info("cloud code reloaded", metadata: ["file": "\(settings.main)"])
        } catch {
            logger.error(
                "cloud code could not be reloaded, the previous version keeps running",
                metadata: ["file": "\(settings.main)", "error": "\(error)"])
        }
    }

    /// Requests a reload.
    ///
    /// - Returns: Whether the caller must run it. Otherwise the running reload is repeated.
    @inline(never)
    private func beginReload() -> Bool {
        reloading.withLock { reloading in
            defer { reloading = reloading == .none ? .running : .runningAndWanted }
            return reloading == .none
        }
    }

    @inline(never)
    private func continueReload() -> Bool {
        reloading.withLock { reloading in
            reloading = reloading == .runningAndWanted ? .running : .none
            return reloading == .running
        }
    }

    private func keepAlive(_ worker: NodeWorker, after crashes: CrashHistory) {
        Task { [weak self] in
            let way = await worker.ended.wait() ?? ""
            guard let self, !worker.isRetired else { return }
            pool.remove(worker)
            await restart(after: worker.lifetime, way, crashes)
        }
    }

    private func restart(after lifetime: Duration, _ way: String, _ earlier: CrashHistory) async {
        onRestart()
        var crashes = earlier
        var lifetime = lifetime
        var way = way
        while !isStopping() {
            let pause = crashes.recordCrash(after: lifetime, backOff: settings.backOff)
            logger.error("cloud code process died", metadata: ["end": "\(way)", "nextStart": "\(pause)"])
            try? await Task.sleep(for: pause)
            // A reload may have filled the slot in the meantime.
            guard !isStopping(), pool.hasFreePlace else { return }
            do {
                let worker = try await startWorker()
                if isStopping() { return worker.end(nil) }
                return use(worker, after: crashes)
            } catch {
                lifetime = .zero
                way = "\(error)"
            }
        }
    }

    package func shutdown() async {
        let tasks = state.withLock { state in
            state.isStopping = true
            defer { state.tasks = [] }
            return state.tasks
        }
        for task in tasks { task.cancel() }
        pool.giveUp()
        // Includes processes that are starting and those that were replaced.
        let workers = state.withLock { $0.owner }?.living.all ?? []
        for worker in workers { worker.end(nil) }
        for worker in workers { _ = await worker.ended.wait(.seconds(5)) }
        let group = state.withLock { state in
            defer { state.group = nil }
            return state.group
        }
        try? await group?.shutdownGracefully()
    }
}
