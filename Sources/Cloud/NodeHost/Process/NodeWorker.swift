import Encoding
import JSON
import Limits
import Logging
import NIOCore
import NIOPosix
import Operations
import Platform
import Synchronization

/// One process that runs an app's file, with its connection and calls.
final class NodeWorker: Sendable {
    struct State {
        /// The connection while it is open.
        var channel: (any Channel)?
        var wasConnected = false
        var processIdentifier: Int32 = 0
        var missedPongs = 0
        var lastLines: [String] = []
        /// The adapter that is being loaded, or nil if there is none.
        var loading: String?
        var reason: String?
        var serverURL = ""
        /// Whether the process was added to the pool.
        var isServing = false
        var isRetired = false
        /// The folder with the socket of the app's own routes.
        var appFolder: HostFolder?
        var appListens = false
        var offer: HostOffer?
        var records = KeptRecords()
    }

    enum Start: Sendable {
        case loaded
        case failed(String)
    }

    let settings: NodeSettings
    let owner: WorkerOwner
    let logger: Logger
    let state = Mutex(State())
    let started = OneTime<Start>()
    private let isOver = OneTime<Void>()
    let calls = OpenCalls()
    private let clock = Mutex(ContinuousClock.now)

    /// The time at which the start began. The process runs the file as it was at that time or later.
    let startBegan = ContinuousClock.now
    /// Set with a description of the end when the process and all its calls have ended.
    let ended = OneTime<String>()

    private init(_ settings: NodeSettings, owner: WorkerOwner, serverURL: String, logger: Logger) {
        self.settings = settings
        self.owner = owner
        self.logger = logger
        state.withLock { $0.serverURL = serverURL }
    }

    struct StartFailure: Error, CustomStringConvertible {
        let description: String
    }

    /// Starts a process and waits until it has loaded the file.
    ///
    /// - Throws: `StartFailure` if the process can't be started or doesn't load the file in time, or another error if
    ///   its folders or socket can't be created.
    static func start(
        _ settings: NodeSettings, owner: WorkerOwner, serverURL: String, on group: MultiThreadedEventLoopGroup,
        logger: Logger
    ) async throws -> NodeWorker {
        let worker = NodeWorker(settings, owner: owner, serverURL: serverURL, logger: logger)
        owner.living.add(worker)
        do {
            try await worker.open(on: group)
        } catch {
            worker.finish("")
            throw error
        }
        switch worker.started.value {
        case .loaded:
            worker.clock.withLock { $0 = .now }
            Task { await worker.watch() }
            return worker
        case .failed(let reason):
            worker.end(nil)
            throw StartFailure(description: reason)
        case nil:
            worker.end(nil)
            let loading = worker.state.withLock { $0.loading } ?? settings.main
            throw StartFailure(description: "\(loading) was not loaded within \(settings.startLimit)")
        }
    }

    /// Starts the process and waits until it has loaded cloud code, has failed or has timed out.
    private func open(on group: MultiThreadedEventLoopGroup) async throws {
        // Only the start needs this folder.
        let folder = try HostFolder()
        defer { folder.remove() }
        if settings.app != nil || !settings.routes.isEmpty {
            let folder = try HostFolder.forApp()
            state.withLock { $0.appFolder = folder }
        }
        let secret = Identifiers.hexadecimal(64)
        let listener = try await WorkerListener(
            folder.socket, secret: secret, limit: settings.messageLimit + 1024 * 1024, on: group,
            connected: { [weak self] in self?.connect($0) }, message: { [weak self] in self?.handle($0) },
            closed: { [weak self] in self?.end($0) })
        do {
            try folder.protectSocket()
        } catch {
            await listener.close()
            throw error
        }
        let command = NodeProcess.Command(
            node: settings.node, arguments: [folder.script, settings.main],
            folder: settings.app?.folder ?? FilePaths.folder(of: settings.main),
            environment: HostEnvironment.changes(
                socket: folder.socket, secret: secret, keepsAll: settings.app != nil))
        Task { await run(command, on: group) }
        await withTaskCancellationHandler {
            _ = await started.wait(settings.startLimit)
        } onCancel: {
            started.set(.failed("stopped while \(settings.main) was being loaded"))
        }
        // Closing the listener removes its socket, which must not happen while the folder is removed.
        await listener.close()
    }

    private func run(_ command: NodeProcess.Command, on group: MultiThreadedEventLoopGroup) async {
        let way: String
        do {
            way = try await NodeProcess.run(
                command, until: isOver, on: group,
                started: { identifier in self.state.withLock { $0.processIdentifier = identifier } },
                lines: { self.printed($0) },
                // If the process never connected, no closing connection reports its end.
                silent: { if self.state.withLock({ !$0.wasConnected }) { self.end(nil) } })
        } catch {
            way = "it can't be started: \(error)"
        }
        let (reason, lines, loading) = state.withLock { ($0.reason, $0.lastLines, $0.loading) }
        end(nil)
        let cause = loading.map { "\($0) ended the process: " } ?? ""
        started.set(.failed((["\(cause)\(reason ?? way)"] + lines).joined(separator: "\n")))
        finish(reason.map { "\($0), \(way)" } ?? way)
    }

    private func finish(_ way: String) {
        let folder = state.withLock { state in
            defer { (state.appFolder, state.appListens) = (nil, false) }
            return state.appFolder
        }
        folder?.remove()
        owner.living.remove(self)
        ended.set(way)
    }

    private func printed(_ line: String) {
        state.withLock { state in
            state.lastLines.append(line)
            if state.lastLines.count > 30 { state.lastLines.removeFirst() }
        }
        logger.info("\(line)", metadata: ["source": "cloud"])
    }

    var load: Int { calls.count }

    /// The time since the process began to accept calls.
    var lifetime: Duration { .now - clock.withLock { $0 } }

    var processIdentifier: Int32 { state.withLock { $0.processIdentifier } }

    /// The registrations of the file, or nil before it is loaded.
    var offer: HostOffer? { state.withLock { $0.offer } }

    /// The socket on which the app's own routes are served, or nil if nothing listens on it.
    var appSocket: String? { state.withLock { $0.appListens ? $0.appFolder?.socket : nil } }

    /// Reports the registrations of the file, now and after each change. Must be called when the process accepts calls.
    func sendOffer() {
        // Under the lock, so that the latest registrations are sent last.
        state.withLock { state in
            state.isServing = true
            sendOffer(of: &state)
        }
    }

    /// Reports the registrations, but only for a process in the pool, so that one that never joins can't replace the
    /// pool's registrations.
    func sendOffer(of state: inout State) {
        if state.isServing, !state.isRetired, let offer = state.offer { owner.offer(offer) }
    }

    /// Whether the process was replaced, or wasn't needed.
    var isRetired: Bool { state.withLock { $0.isRetired } }

    func retire() { state.withLock { $0.isRetired = true } }

    /// Ends the process once open calls and requests of the app's routes have finished, or after `drainLimit`.
    func drain() async {
        let deadline = ContinuousClock.now + settings.drainLimit
        if appSocket != nil { send(["type": "drain"]) }
        while load > 0 || appSocket != nil, ContinuousClock.now < deadline, ended.value == nil {
            try? await Task.sleep(for: .milliseconds(20))
        }
        end(nil)
        _ = await ended.wait()
    }

    func end(_ reason: String?) {
        let channel = state.withLock { state in
            state.reason = state.reason ?? reason
            defer { state.channel = nil }
            return state.channel
        }
        calls.close()
        channel?.close(promise: nil)
        isOver.set(())
    }

    /// Sends the server URL and the current master key to the process.
    func serve(at url: String) {
        let isConnected = state.withLock { state in
            state.serverURL = url
            return state.channel != nil
        }
        guard isConnected else { return }
        var message: JSONObject = ["type": "address", "serverURL": .string(url)]
        message["masterKey"] = settings.renewedKey?.value.map(JSONValue.string)
        send(message)
    }

    private func connect(_ channel: any Channel) {
        let serverURL = state.withLock { state in
            state.channel = channel
            state.wasConnected = true
            return state.serverURL
        }
        var welcome: JSONObject = [
            "type": "welcome", "protocol": 1, "applicationId": .string(settings.applicationId),
            "masterKey": .string(settings.renewedKey?.value ?? settings.masterKey), "serverURL": .string(serverURL),
            "limit": .number(Double(settings.messageLimit)), "validatorTimeout": 10_000,
            "legacyCallbacks": .bool(settings.legacyCallbacks), "httpRequest": .bool(settings.httpRequest),
            "decodesPointers": .bool(settings.decodesPointers), "hasMain": .bool(settings.hasMain),
            "workers": .number(Double(settings.workers)),
            "providers": .object(settings.providers), "folder": .string(settings.folder),
        ]
        if let socket = state.withLock({ $0.appFolder })?.socket {
            if let app = settings.app {
                var served: JSONObject = [
                    "server": .number(Double(app.server)), "socket": .string(socket), "listens": .bool(app.listens),
                    "functions": .array(app.functions.map { .string($0.rawValue) }),
                    "dashboardPath": .string(settings.dashboardPath),
                ]
                served["listen"] = app.listen.map(JSONValue.string)
                welcome["app"] = .object(served)
            }
            if !settings.routes.isEmpty {
                welcome["routes"] = .object(settings.routes.merging(["socket": .string(socket)]) { $1 })
            }
        }
        welcome["mail"] = settings.mail
        welcome["javascriptKey"] = settings.javascriptKey.map(JSONValue.string)
        send(welcome)
    }

    private func watch() async {
        while ended.value == nil {
            let missed = state.withLock { state in
                defer { state.missedPongs += 1 }
                return state.missedPongs
            }
            guard missed < 2 else {
                logger.error("cloud code does not respond, killing its process")
                // Zero would signal the server's own process group.
                if processIdentifier > 0 { kill(processIdentifier, SIGKILL) }
                return end("its event loop hung")
            }
            send(["type": "ping"])
            _ = await ended.wait(settings.pingInterval)
        }
    }
}
