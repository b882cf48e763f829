import App
import Logging
import Roost
import TestSupport

/// A test server with cloud code in Swift.
struct CloudServer: Sendable {
    private let options: JSONObject
    private let extensions: ServerExtensions

    /// Creates a server.
    ///
    /// - Parameters:
    ///   - options: Options of the configuration file in addition to the keys.
    ///   - code: Registers the cloud code.
    init(_ options: JSONObject = [:], _ code: (Cloud) -> Void) {
        let cloud = Cloud()
        code(cloud)
        self.options = options
        var extensions = ServerExtensions()
        extensions.cloudHosts = [SwiftHost(cloud, logger: TestServer.quietLogger)]
        self.extensions = extensions
    }

    func run(_ body: @escaping @Sendable (TestServer) async throws -> Void) async throws {
        try await TestServer.run(options, extensions: extensions, body)
    }
}

extension TestServer {
    func call(_ function: String, _ params: JSONValue = [:], as identity: Identity = .anonymous) async throws
        -> TestAnswer
    {
        try await send("POST", "/functions/\(function)", params, as: identity)
    }

    func post(_ className: String, _ fields: JSONValue, as identity: Identity = .anonymous) async throws -> TestAnswer {
        try await send("POST", "/classes/\(className)", fields, as: identity)
    }
}
