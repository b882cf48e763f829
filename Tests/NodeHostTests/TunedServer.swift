import App
import CloudCode
import Foundation
import NodeHost
import TestSupport

/// A server whose host of `cloud/main.js` has limits of a test's own.
struct TunedServer {
    private let code: String
    private let tune: @Sendable (inout NodeSettings) -> Void

    /// - Parameters:
    ///   - code: The file `main.js`.
    ///   - tune: Changes the limits of the host.
    init(_ code: String, tune: @escaping @Sendable (inout NodeSettings) -> Void = { _ in }) {
        self.code = code
        self.tune = tune
    }

    /// Starts the server, runs `body` with it, its app and its host, and stops it.
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

    /// Starts a host beside no server.
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

    /// The settings of an app, with pauses that a test can wait for.
    static func settings(_ app: CloudApp, _ tune: (inout NodeSettings) -> Void = { _ in }) throws -> NodeSettings {
        let node = try NodeProgram.find(nil, environment: ProcessInfo.processInfo.environment)
        var settings = NodeSettings(main: app.main, node: node)
        settings.applicationId = TestServer.applicationID
        settings.masterKey = TestServer.masterKey
        settings.backOff = [.milliseconds(50)]
        tune(&settings)
        return settings
    }
}
