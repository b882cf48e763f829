import AsyncHTTPClient
import Foundation
import JSON
import NIOCore

/// A Roost of a test's own as a process, with its embedded PostgreSQL, which can be killed and started again.
actor CrashServer {
    /// What kept the server from doing what a test told it.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    nonisolated let port: Int
    nonisolated let folder: String
    private let binary: String
    private var process: Process?

    /// Makes the folder and the configuration; nothing is started yet.
    init() throws {
        binary = try Self.findBinary()
        port = try Self.freePort()
        folder = "/tmp/roost-crash-\(UUID().uuidString.prefix(8).lowercased())"
        // PostgreSQL runs as another user when the test is root, and must be able to pass.
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        let configuration: JSONObject = [
            "appId": .string(Self.applicationID), "masterKey": .string(Self.masterKey), "host": "127.0.0.1",
            "port": .number(Double(port)), "mountPath": "/parse", "allowClientClassCreation": true,
            "logLevel": "warn",
        ]
        try Data(configuration.serialized()).write(to: URL(fileURLWithPath: folder + "/config.json"))
        _ = FileManager.default.createFile(atPath: folder + "/output.txt", contents: nil)
    }

    static let applicationID = "crashApp"
    static let masterKey = "crashMaster"

    /// Makes a server for `body`, and leaves neither processes nor files behind.
    static func run(_ body: @Sendable (CrashServer) async throws -> Void) async throws {
        let server = try CrashServer()
        do {
            try await body(server)
        } catch {
            await server.remove()
            throw error
        }
        await server.remove()
    }

    private nonisolated var postmasterFile: String { folder + "/data/postgres/cluster/postmaster.pid" }

    /// The process id of PostgreSQL; nil when it is stopped.
    nonisolated var postmaster: pid_t? {
        guard let text = try? String(contentsOfFile: postmasterFile, encoding: .utf8) else { return nil }
        return text.split(separator: "\n").first.flatMap { pid_t($0) }
    }

    /// What the server wrote to its standard output and standard error.
    nonisolated var output: String {
        (try? String(contentsOfFile: folder + "/output.txt", encoding: .utf8)) ?? ""
    }

    /// Starts the server and waits until it serves.
    func start() async throws {
        guard let output = FileHandle(forWritingAtPath: folder + "/output.txt") else {
            throw Failure(description: "\(folder) is gone")
        }
        try output.seekToEnd()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: binary)
        process.arguments = ["serve", folder + "/config.json", "--dataDir", folder + "/data"]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = output
        try process.run()
        self.process = process
        let deadline = ContinuousClock.now + .seconds(20)
        while ContinuousClock.now < deadline {
            if await isHealthy { return }
            guard process.isRunning else { break }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw Failure(description: "Roost does not serve: \(self.output)")
    }

    /// Whether the server says that it serves.
    nonisolated var isHealthy: Bool {
        get async {
            let request = HTTPClientRequest(url: "http://127.0.0.1:\(port)/parse/health")
            let answer = try? await HTTPClient.shared.execute(request, timeout: .seconds(2))
            return answer?.status == .ok
        }
    }

    /// Sends the server a signal and waits for its end.
    ///
    /// - Returns: Its exit status, or the number of the signal that ended it.
    @discardableResult
    func end(by signal: Int32) async throws -> (reason: Process.TerminationReason, status: Int32) {
        guard let process else { throw Failure(description: "Roost is not running") }
        kill(process.processIdentifier, signal)
        let deadline = ContinuousClock.now + .seconds(20)
        while process.isRunning {
            guard ContinuousClock.now < deadline else { throw Failure(description: "Roost does not end") }
            try await Task.sleep(for: .milliseconds(10))
        }
        self.process = nil
        return (process.terminationReason, process.terminationStatus)
    }

    /// Kills PostgreSQL, so that it has no time to write anything.
    nonisolated func killPostgres() throws {
        guard let postmaster else { throw Failure(description: "PostgreSQL is not running") }
        guard kill(postmaster, SIGKILL) == 0 else { throw Failure(description: "PostgreSQL cannot be killed") }
    }

    /// Makes a request with the master key.
    nonisolated func send(_ method: String, _ path: String, _ body: JSONValue? = nil) async throws -> (
        status: Int, body: JSONValue
    ) {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)/parse\(path)")
        request.method = .init(rawValue: method)
        request.headers.add(name: "X-Parse-Application-Id", value: Self.applicationID)
        request.headers.add(name: "X-Parse-Master-Key", value: Self.masterKey)
        if let body {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(body.serialized())
        }
        let answer = try await HTTPClient.shared.execute(request, timeout: .seconds(10))
        let bytes = try await answer.body.collect(upTo: 64 * 1024 * 1024)
        return (Int(answer.status.code), (try? JSONValue(parsing: Array(bytes.readableBytesView))) ?? .null)
    }

    /// Ends both processes and removes the files.
    private func remove() async {
        if process != nil, (try? await end(by: SIGTERM)) == nil {
            process.map { _ = kill($0.processIdentifier, SIGKILL) }
        }
        if let postmaster { kill(postmaster, SIGQUIT) }
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// The program beside the bundle of the tests.
    private static func findBinary() throws -> String {
        if let path = ProcessInfo.processInfo.environment["ROOST_BINARY"] { return path }
        let candidates = CommandLine.arguments + Bundle.allBundles.map(\.bundlePath)
        for path in candidates where path.contains(".xctest") {
            var url = URL(fileURLWithPath: path)
            while !url.lastPathComponent.hasSuffix(".xctest"), url.path != "/" { url.deleteLastPathComponent() }
            let binary = url.deletingLastPathComponent().appendingPathComponent("roost").path
            if FileManager.default.isExecutableFile(atPath: binary) { return binary }
        }
        throw Failure(description: "there is no program roost beside the tests, nor is ROOST_BINARY set")
    }

    /// A port that nobody listens on.
    private static func freePort() throws -> Int {
        let listener = try MalformedSocket.listener()
        defer { close(listener.descriptor) }
        return listener.port
    }
}
