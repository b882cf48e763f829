import JSON
import TestSupport
import Testing

@Suite("The request id")
struct RequestIdTests {
    private static func ask(_ server: TestServer, _ given: String?) async throws -> String {
        let answer = try await server.send(
            "GET", "/classes/Song", headers: given.map { ["X-Request-Id": $0] } ?? [:])
        return answer.headers["x-request-id"] ?? ""
    }

    @Test("The server generates a request id, returns it to the client and logs it")
    func own() async throws {
        let lines = LogLines()
        try await TestServer.run(logger: lines.logger) { server in
            let first = try await Self.ask(server, nil)
            let second = try await Self.ask(server, "mine")
            #expect(!first.isEmpty && first != second && second != "mine")
            let isLogged = try await eventually { lines.all.contains { $0.contains("id=\(second) ") } }
            #expect(isLogged)
            let refused = try await server.send("GET", "/nothing")
            #expect(refused.headers["x-request-id"]?.isEmpty == false)
            #expect(refused.headers["access-control-expose-headers"]?.contains("X-Request-Id") == true)
        }
    }

    @Test("Takes the request id from a trusted proxy unless it is too long or has invalid characters")
    func trusted() async throws {
        try await TestServer.run(["trustProxy": "loopback"]) { server in
            let id = "7f3c-A.b_c"
            let kept = try await Self.ask(server, id)
            #expect(kept == id)
            for strange in ["a b", "a\"b", String(repeating: "x", count: 65), "\u{e4}"] {
                let replaced = try await Self.ask(server, strange)
                #expect(!replaced.isEmpty && replaced != strange)
            }
        }
    }

    @Test("Sends the request id to webhooks")
    func webhooks() async throws {
        try await WebhookServer.run { hooks in
            hooks.on("hello") { _ in .success("hi") }
            try await TestServer.run(["trustProxy": "loopback"]) { server in
                _ = try await server.send(
                    "POST", "/hooks/functions",
                    ["functionName": "hello", "url": .string(hooks.url("hello"))], as: .master)
                let answer = try await server.send(
                    "POST", "/functions/hello", [:], headers: ["X-Request-Id": "from-the-edge"])
                #expect(answer.status == 200)
                #expect(hooks.calls("hello").first?.headers["x-request-id"] == "from-the-edge")
            }
        }
    }

    @Test("The response, cloud-code logs, webhook calls and server logs of a request have the same id")
    func everywhere() async throws {
        let main = """
            Parse.Cloud.define('write', async () => {
              console.log('Node has written');
              await new Parse.Object('Song').save({ n: 1 }, { useMasterKey: true });
              return 'done';
            });
            """
        let lines = LogLines()
        try await WebhookServer.run { hooks in
            try await CloudApp.with(["main.js": main]) { app in
                let options: JSONObject = ["trustProxy": "loopback", "cloud": .string(app.main)]
                try await TestServer.run(options, logger: lines.logger) { server in
                    try await hooks.trigger("beforeSave", "Song", on: server) { _ in .nothing }
                    // An id from a trusted proxy, and the server's own.
                    for given in ["from-the-edge", nil] {
                        hooks.forgetCalls()
                        let answer = try await server.send(
                            "POST", "/functions/write", [:], headers: given.map { ["X-Request-Id": $0] } ?? [:])
                        #expect(answer["result"] == "done", "\(answer.json.text)")
                        let id = try #require(answer.headers["x-request-id"])
                        #expect(given == nil || given == id)
                        #expect(hooks.calls("Song.beforeSave").compactMap { $0.headers["x-request-id"] } == [id])
                        for words in [
                            ["Node has written", "source=cloud"], [" trigger ", "class=Song"],
                            [" cloud function ", "=write"], [" request ", "route=/functions/"],
                        ] {
                            let isLogged = try await eventually {
                                lines.all.contains { line in
                                    line.split(separator: " ").contains("id=\(id)")
                                        && words.allSatisfy { line.contains($0) }
                                }
                            }
                            #expect(isLogged, "\(words): \(lines.all)")
                        }
                    }
                }
            }
        }
    }

    @Test("All database connections of a server share one application_name that begins with roost/")
    func applicationName() async throws {
        try await TestServer.run { server in
            let names = try await server.rows(
                "SELECT DISTINCT application_name FROM pg_stat_activity "
                    + "WHERE datname = current_database() AND application_name LIKE 'roost/%'")
            #expect(names.count == 1)
        }
    }
}
