import Foundation
import JSON
import Synchronization
import TestSupport
import Testing

/// Several Roost processes on one database.
struct ServerProcesses: Sendable {
    let servers: [TestServer]
    var identifiers: [pid_t] { running.list.map(\.identifier) }
    private let running: Running
    private let folder: String
    private let command: [String]

    /// The processes by index.
    private final class Running: Sendable {
        private let processes = Mutex<[CrashProcess]>([])
        var list: [CrashProcess] { processes.withLock { $0 } }
        func add(_ process: CrashProcess) { processes.withLock { $0.append(process) } }
        func replace(_ number: Int, by process: CrashProcess) { processes.withLock { $0[number] = process } }
    }

    /// Starts processes on a new database for `body`, and removes the processes and files.
    ///
    /// Their poll intervals exceed the duration of a test, so changes arrive only by announcements.
    ///
    /// - Parameters:
    ///   - options: Options that extend or override the defaults.
    ///   - launcher: A program that executes the server, with its arguments.
    static func run(
        _ count: Int, _ options: JSONObject = [:], launcher: [String] = [], program: String = "roost",
        _ body: @Sendable (ServerProcesses) async throws -> Void
    ) async throws {
        try await TestServer.withDatabase { uri in
            let folder = FileManager.default.temporaryDirectory.path + "/roost-processes-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let running = Running()
            let command = launcher + [try CrashServer.findBinary(program), "serve"]
            var outcome: Result<Void, any Error> = .success(())
            do {
                var servers: [TestServer] = []
                for number in 0..<count {
                    let (server, process) = try await start(number, uri, folder, options, command)
                    servers.append(server)
                    running.add(process)
                }
                for (number, server) in servers.enumerated() {
                    let serves = try await eventually {
                        (try? await server.send("GET", "/health", as: .nobody))?.status == 200
                    }
                    try #require(serves, "process \(number): \(output(number, folder))")
                }
                try await body(
                    ServerProcesses(servers: servers, running: running, folder: folder, command: command))
            } catch {
                outcome = .failure(error)
            }
            await stop(running.list)
            try outcome.get()
        }
    }

    private static func start(
        _ number: Int, _ uri: String, _ folder: String, _ options: JSONObject, _ command: [String]
    ) async throws -> (TestServer, CrashProcess) {
        let port = try await FreePort.find()
        let usual: JSONObject = [
            "appId": .string(TestServer.applicationID), "masterKey": .string(TestServer.masterKey),
            "maintenanceKey": .string(TestServer.maintenanceKey), "restAPIKey": .string(TestServer.restKey),
            "host": "127.0.0.1", "port": .number(Double(port)),
            "mountPath": "/parse", "databaseURI": .string(uri), "allowClientClassCreation": true,
            "enforcePrivateUsers": false, "logLevel": "warn", "cacheTTL": 3_600_000,
            "databaseOptions": ["schemaCacheTtl": 3_600_000],
        ]
        let configuration = usual.merging(options) { $1 }
        let file = folder + "/\(number).json"
        try Data(configuration.serialized()).write(to: URL(fileURLWithPath: file))
        let process = try await launch(number, folder, command)
        return (TestServer(url: "http://127.0.0.1:\(port)/parse", databaseURI: uri), process)
    }

    private static func launch(_ number: Int, _ folder: String, _ command: [String]) async throws -> CrashProcess {
        try await CrashProcess.start(
            command + [folder + "/\(number).json", "--dataDir", folder + "/\(number)"],
            output: folder + "/\(number).txt")
    }

    /// Kills a process and restarts it, without waiting until it serves.
    func killAndStart(_ number: Int) async throws {
        let killed = running.list[number]
        kill(killed.identifier, SIGKILL)
        let isGone = try await eventually { !killed.isRunning }
        try #require(isGone)
        running.replace(number, by: try await Self.launch(number, folder, command))
    }

    var log: String { Self.output(0, folder) }

    private static func output(_ number: Int, _ folder: String) -> String {
        (try? String(contentsOfFile: folder + "/\(number).txt", encoding: .utf8)) ?? ""
    }

    private static func stop(_ processes: [CrashProcess]) async {
        for process in processes { kill(process.identifier, SIGTERM) }
        let deadline = ContinuousClock.now + .seconds(20)
        for process in processes {
            while process.isRunning {
                if ContinuousClock.now > deadline { kill(process.identifier, SIGKILL) }
                try? await Task.sleep(for: .milliseconds(10))
            }
        }
    }

    /// Returns a process by index, modulo their number.
    subscript(turn: Int) -> TestServer { servers[turn % servers.count] }

    /// Makes a change, and expects every process to apply it within a second after the response, and permanently.
    ///
    /// - Parameter isObeyed: Whether a process applies the change. False for all of them before the change.
    func expectObeyed(
        _ what: String, change: () async throws -> Void, isObeyed: @escaping @Sendable (TestServer) async throws -> Bool
    ) async throws {
        for server in servers {
            let isEarly = try await isObeyed(server)
            #expect(!isEarly, "\(what): before the change")
        }
        try await change()
        try await expectObeyed(what, isObeyed: isObeyed)
    }

    func expectObeyed(_ what: String, isObeyed: @escaping @Sendable (TestServer) async throws -> Bool) async throws {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for (number, server) in servers.enumerated() {
                tasks.addTask {
                    let isInTime = try await withinOneSecond { try await isObeyed(server) }
                    #expect(isInTime, "\(what): process \(number)")
                    guard isInTime else { return }
                    for _ in 1...3 {
                        let isStillObeyed = try await isObeyed(server)
                        #expect(isStillObeyed, "\(what): process \(number) changed its mind")
                    }
                }
            }
            try await tasks.waitForAll()
        }
    }
}
