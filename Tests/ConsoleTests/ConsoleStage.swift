import App
import JSON
import Logging
import Roost
import ServerConfiguration
import TestSupport

/// A server with cloud code and a log, for the console's pages about activity.
enum ConsoleStage {
    private struct Failure: Error, CustomStringConvertible { let description: String }

    private static func code(_ cloud: Cloud) {
        cloud.define("hello") { request -> [String: JSONValue] in
            [
                "hello": request.params["name"] ?? "you", "user": request.user?["username"] ?? .null,
                "isMaster": .bool(request.isMaster),
            ]
        }
        cloud.define("fail") { request in throw Failure(description: request.params["text"]?.stringValue ?? "no") }
        cloud.define("guarded", requires: [.user]) { _ in 1 }
        cloud.job("tidy") { request in
            request.message("half of it")
            if let text = request.params["fail"]?.stringValue { throw Failure(description: text) }
            return "all of it"
        }
        cloud.beforeSave("Triggered") { $0.object["seen"] = true }
    }

    /// The same with schedules, and with a fake push service.
    static func runWithPush(_ body: @escaping @Sendable (TestServer) async throws -> Void) async throws {
        try await PushSink.run { sink in
            try await run(
                [
                    "push": ["ios": sink.apple("com.example.app")], "jobSchedules": true,
                    "liveQuery": ["classNames": ["Live"]], "startLiveQueryServer": true,
                ], body)
        }
    }

    static func run(_ options: JSONObject = [:], _ body: @escaping @Sendable (TestServer) async throws -> Void)
        async throws
    {
        let cloud = Cloud()
        code(cloud)
        var more = ServerExtensions()
        more.cloudHosts = [SwiftHost(cloud, logger: TestServer.quietLogger)]
        let name: @Sendable (inout Configuration) -> Void = { $0.fileName = "roost.json" }
        try await TestServer.run(options, extensions: more, logger: UnwrittenLog.logger(), configure: name, body)
    }
}
