import Foundation
import JSON
import TestSupport
import TestTools

/// A Roost process with its embedded PostgreSQL, which can be killed and restarted.
actor CrashServer {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    nonisolated let port: Int
    nonisolated let folder: String
    private let binary: String
    private var process: CrashProcess?

    private init(port: Int) throws {
        binary = try Self.findBinary()
        self.port = port
        folder = ClusterFolder.path("crash")
        // If the test runs as root, PostgreSQL runs as another user, who must be able to enter the folder.
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        let configuration: JSONObject = [
            "appId": .string(Self.applicationID), "masterKey": .string(Self.masterKey), "host": "127.0.0.1",
            "port": .number(Double(port)), "mountPath": "/parse", "allowClientClassCreation": true,
            "logLevel": "warn",
        ]
        try Data(configuration.serialized()).write(to: URL(fileURLWithPath: folder + "/config.json"))
    }

    static let applicationID = "crashApp"
    static let masterKey = "crashMaster"

    /// Creates a server for `body`, and removes its processes and files.
    static func run(_ body: @Sendable (CrashServer) async throws -> Void) async throws {
        let server = try CrashServer(port: try await FreePort.find())
        do {
            try await body(server)
        } catch {
            await server.remove()
            throw error
        }
        await server.remove()
    }

    private nonisolated var postmasterFile: String { folder + "/data/postgres/cluster/postmaster.pid" }

    /// The process id of PostgreSQL, or nil if it is stopped.
    nonisolated var postmaster: pid_t? {
        guard let text = try? String(contentsOfFile: postmasterFile, encoding: .utf8) else { return nil }
        return text.split(separator: "\n").first.flatMap { pid_t($0) }
    }

    nonisolated var output: String {
        (try? String(contentsOfFile: folder + "/output.txt", encoding: .utf8)) ?? ""
    }

    /// Starts the server and waits until it serves.
    ///
    /// - Parameters:
    ///   - launcher: A program that runs the server, with its arguments, and hands signals on.
    ///   - options: Further options of `roost serve`.
    func start(launcher: [String] = [], options: [String] = []) async throws {
        process = try await CrashProcess.start(
            launcher + [binary, "serve", folder + "/config.json", "--dataDir", folder + "/data"] + options,
            output: folder + "/output.txt")
        let deadline = ContinuousClock.now + .seconds(60)
        while ContinuousClock.now < deadline {
            if await isHealthy { return }
            guard process?.isRunning == true else { break }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw Failure(description: "Roost does not serve: \(output)")
    }

    nonisolated var isHealthy: Bool {
        get async {
            (try? await send("GET", "/health"))?.status == 200
        }
    }

    @discardableResult
    func end(by signal: Int32) async throws -> CrashProcess.End {
        guard let identifier = process?.identifier else { throw Failure(description: "Roost is not running") }
        kill(identifier, signal)
        let deadline = ContinuousClock.now + .seconds(60)
        while process?.isRunning == true {
            guard ContinuousClock.now < deadline else { throw Failure(description: "Roost does not end") }
            try await Task.sleep(for: .milliseconds(10))
        }
        guard let end = process?.end else { throw Failure(description: "Roost was ended from outside") }
        process = nil
        return end
    }

    nonisolated func killPostgres() throws {
        guard let postmaster else { throw Failure(description: "PostgreSQL is not running") }
        guard kill(postmaster, SIGKILL) == 0 else { throw Failure(description: "PostgreSQL cannot be killed") }
    }

    /// Sends a request with the master key on a new connection.
    ///
    /// Unlike an HTTP client with back-off, this notices immediately that the server is back.
    nonisolated func send(_ method: String, _ path: String, _ body: JSONValue? = nil) async throws -> (
        status: Int, body: JSONValue
    ) {
        let request = MalformedRequest(
            method: method, target: "/parse" + path,
            headers: [
                ("X-Parse-Application-Id", Array(Self.applicationID.utf8)),
                ("X-Parse-Master-Key", Array(Self.masterKey.utf8)), ("Content-Type", Array("application/json".utf8)),
            ], body: body?.serialized() ?? [])
        let port = port
        return try await withCheckedThrowingContinuation { continuation in
            // The socket blocks, so it must not use a concurrency thread.
            Thread {
                continuation.resume(
                    with: Result {
                        let answer = try MalformedSocket(port: port).exchange(request.bytes, isHead: false)
                        return (answer.status, (try? JSONValue(parsing: answer.body)) ?? .null)
                    })
            }.start()
        }
    }

    private func remove() async {
        if let process, (try? await end(by: SIGTERM)) == nil { kill(process.identifier, SIGKILL) }
        if let postmaster { kill(postmaster, SIGQUIT) }
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Returns the path of the program next to the test bundle.
    static func findBinary(_ name: String = "roost") throws -> String {
        if let path = Checkout.program(name) { return path }
        throw Failure(description: "there is no program \(name) beside the tests, nor is ROOST_BINARY set")
    }
}
