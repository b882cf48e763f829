import App
import Foundation
import JSON
import ServerConfiguration
import TestSupport
import Testing

@Suite("A server that cannot listen")
struct ListenFailureTests {
    private static func isAlive(_ process: pid_t) -> Bool { kill(process, 0) == 0 }

    /// Makes a server with cloud code that writes down the id of its process.
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

    private static func process(of app: CloudApp) throws -> pid_t {
        let text = try String(contentsOfFile: app.folder + "/cloud/pid", encoding: .utf8)
        return try #require(pid_t(text))
    }

    @Test("stops cloud code, and whatever else it has started")
    func port() async throws {
        try await TestServer.run { other in
            let port = try #require(URL(string: other.url)?.port)
            try await CloudApp.with(["main.js": Self.code]) { app in
                let server = try Self.server(app, other.databaseURI, ["port": .number(Double(port))])
                try await server.prepare()
                let process = try Self.process(of: app)
                #expect(Self.isAlive(process))
                await #expect(throws: (any Error).self) { try await server.run() }
                #expect(try await eventually { !Self.isAlive(process) })
            }
        }
    }
}
