import App
import Foundation
import JSON
import ServerConfiguration
import TestSupport
import Testing

@Suite("A server that can't start")
struct ListenFailureTests {
    private static func isAlive(_ process: pid_t) -> Bool { kill(process, 0) == 0 }

    /// Creates a server whose cloud code records its process id.
    private static func server(_ app: CloudApp, _ uri: String, _ options: JSONObject) throws -> RoostServer {
        var file: JSONObject = [
            "appId": "a", "masterKey": "m", "host": "127.0.0.1", "cloud": .string(app.main),
            "databaseOptions": ["sharedConnections": 2], "connectionTimeout": 20_000,
        ]
        for (name, value) in options { file[name] = value }
        let (configuration, _) = try Configuration.load(file: file.serialized(), environment: [:], flags: [])
        return try RoostServer(
            configuration: configuration, connectionString: uri, filesDirectory: app.folder + "/files",
            passwordCost: 4, logger: UnwrittenLog.logger())
    }

    private static let code = "require('fs').writeFileSync(__dirname + '/pid', String(process.pid));"

    /// A job that never ends. It starts as soon as the server knows it.
    private static let job = """
        Parse.Cloud.job('endless', () => new Promise(() => {}));
        const start = () => Parse.Cloud.startJob('endless', {}).catch(() => setTimeout(start, 20));
        setTimeout(start, 0);
        """

    /// The states of jobs, or an empty list if the table doesn't exist yet.
    private static func jobs(_ uri: String) async throws -> [String] {
        let hasTable = try await TestServer.texts("SELECT to_regclass('\"_JobStatus\"')::text", on: uri)
        guard !hasTable.isEmpty else { return [] }
        return try await TestServer.texts("SELECT concat_ws(': ', status, message) FROM \"_JobStatus\"", on: uri)
    }

    private static func process(of app: CloudApp) throws -> pid_t {
        let text = try String(contentsOfFile: app.folder + "/cloud/pid", encoding: .utf8)
        return try #require(pid_t(text))
    }

    private static func checkEnd(of app: CloudApp, _ uri: String, metrics port: Int, _ other: TestServer) async throws {
        let process = try process(of: app)
        #expect(try await eventually { !isAlive(process) })
        #expect(
            try await eventually {
                let database = URL(string: uri)?.lastPathComponent ?? ""
                return try await other.texts("SELECT pid::text FROM pg_stat_activity WHERE datname = '\(database)'")
                    .isEmpty
            }, "the database is connected")
        await #expect(throws: (any Error).self, "the metrics are served") {
            try await TransportClient(port: port).connect { _ in }
        }
    }

    @Test("Stops all features if its port is in use")
    func port() async throws {
        try await TestServer.run { other in
            let port = try #require(URL(string: other.url)?.port)
            let metrics = try await FreePort.find()
            try await CloudApp.with(["main.js": Self.code + Self.job]) { app in
                try await TestServer.withDatabase { uri in
                    let server = try Self.server(
                        app, uri, ["port": .number(Double(port)), "metrics": ["port": .number(Double(metrics))]])
                    try await server.prepare()
                    let process = try Self.process(of: app)
                    #expect(Self.isAlive(process))
                    #expect(try await eventually { try await Self.jobs(uri) == ["running"] })
                    await #expect(throws: (any Error).self) { try await server.run() }
                    #expect(try await Self.jobs(uri) == ["failed: Server stopped."])
                    try await Self.checkEnd(of: app, uri, metrics: metrics, other)
                }
            }
        }
    }

    @Test("Stops the prepared features if a later one can't be prepared")
    func preparation() async throws {
        try await TestServer.run { other in
            let metrics = try await FreePort.find()
            try await CloudApp.with(["main.js": Self.code + "throw new Error('broken');"]) { app in
                try await TestServer.withDatabase { uri in
                    let server = try Self.server(
                        app, uri, ["port": 0, "metrics": ["port": .number(Double(metrics))]])
                    await #expect(throws: (any Error).self) { try await server.prepare() }
                    try await Self.checkEnd(of: app, uri, metrics: metrics, other)
                }
            }
        }
    }
}
