import App
import CloudCode
import NodeHost
import TestSupport

/// A server whose `cloud/main.js` host has custom limits.
struct TunedServer {
    private let code: String
    private let tune: @Sendable (inout NodeSettings) -> Void

    init(_ code: String, tune: @escaping @Sendable (inout NodeSettings) -> Void = { _ in }) {
        self.code = code
        self.tune = tune
    }

    func run<R: Sendable>(
        _ body: @escaping @Sendable (TestServer, CloudApp, NodeHost) async throws -> R
    ) async throws -> R {
        try await CloudApp.with(["main.js": code]) { app in
            let host = NodeHost(try Self.settings(app, tune), sendMail: nil, logger: TestServer.quietLogger)
            var extensions = ServerExtensions()
            extensions.cloudHosts = [host]
            return try await TestServer.run(extensions: extensions, logger: UnwrittenLog.logger()) { server in
                try await body(server, app, host)
            }
        }
    }

    /// Starts a host without a server.
    static func start(_ host: NodeHost) async throws {
        let engine = CloudEngine(logger: TestServer.quietLogger)
        engine.attach(host)
        do {
            try await engine.start()
        } catch {
            await engine.shutdown()
            throw error
        }
    }

    /// The settings of an app with short pauses.
    static func settings(_ app: CloudApp, _ tune: (inout NodeSettings) -> Void = { _ in }) throws -> NodeSettings {
        var settings = NodeSettings(main: app.main, node: try NodeProgram.find(nil))
        settings.applicationId = TestServer.applicationID
        settings.masterKey = TestServer.masterKey
        settings.backOff = [.milliseconds(50)]
        tune(&settings)
        return settings
    }
}
