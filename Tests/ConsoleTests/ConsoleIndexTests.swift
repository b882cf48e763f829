import Console
import JSON
import TestSupport
import Testing

@Suite("Indexes in the console")
struct ConsoleIndexTests {
    /// Runs a server with a class whose table is large enough for its indexes to be built in the background.
    private static func run(_ body: @escaping @Sendable (TestServer, ConsoleBrowser) async throws -> Void) async throws
    {
        try await TestServer.run { server in
            _ = try await server.create("Song", ["title": "a", "plays": 1])
            try await server.execute(
                """
                INSERT INTO "Song" ("objectId", "createdAt", "updatedAt", "title", "plays")
                SELECT 's' || i, now(), now(), repeat('x', 200), i FROM generate_series(1, 60000) AS i;
                ANALYZE "Song";
                """)
            try await body(server, ConsoleBrowser.operatorBrowser(server, "developer"))
        }
    }

    private static func index(_ server: TestServer) async throws -> JSONValue? {
        try await server.send("GET", "/schemas/Song", as: .master)["indexes"]?["plays_1"]
    }

    private static func end(of id: String, _ browser: ConsoleBrowser) async throws -> JSONValue {
        let end = ContinuousClock.now + .seconds(120)
        while ContinuousClock.now < end {
            let task = try await browser.send("GET", "/console/api/tasks/\(id)?wait=20")
            try #require(task.status == 200, "\(task.text)")
            if task["state"] != "running" { return task.json }
        }
        throw Unended()
    }

    private struct Unended: Error {}

    @Test("Builds an index in the background, even after the session ends, with one audit entry")
    func build() async throws {
        try await Self.run { server, browser in
            let begun = try await browser.send(
                "POST", "/console/api/indexes", ["className": "Song", "fields": ["plays"]])
            #expect(begun.status == 202 && begun["kind"] == "index" && begun["total"] == 100, "\(begun.text)")
            let id = try #require(begun["id"]?.stringValue)
            #expect(try await browser.send("DELETE", "/console/api/session").status == 200)
            let other = try await ConsoleBrowser.operatorBrowser(server, "developer")
            let ended = try await Self.end(of: id, other)
            #expect(ended["state"] == "done" && ended["done"] == 100, "\(ended.text)")
            #expect(ended["result"] == ["className": "Song", "name": "plays_1"])
            #expect(try await Self.index(server) == ["plays": 1])
            let row = try await other.audit().first { $0["path"] == "indexes" }
            #expect(row?["className"] == "Song" && row?["fields"] == ["plays"] && row?["status"] == 200)
            #expect(try await other.send("GET", "/console/api/tasks")["tasks"]?.arrayValue?.count == 1)
        }
    }

    @Test("Cancels a waiting index build without leaving an index, and rejects a second build for the class")
    func stop() async throws {
        try await Self.run { server, browser in
            let statement = "UPDATE \"Song\" SET \"plays\" = 0 WHERE \"objectId\" = 's1'"
            let id = try await server.whileLocked(statement) {
                let begun = try await browser.send(
                    "POST", "/console/api/indexes", ["className": "Song", "fields": ["plays": 1]])
                let id = try #require(begun["id"]?.stringValue)
                let again = try await browser.send(
                    "POST", "/console/api/indexes", ["className": "Song", "fields": ["title": 1]])
                #expect(again.status == 409, "\(again.text)")
                #expect(try await browser.send("DELETE", "/console/api/tasks/\(id)").status == 200)
                return id
            }
            // The unfinished index is dropped after the write.
            let ended = try await Self.end(of: id, browser)
            #expect(ended["state"] == "cancelled", "\(ended.text)")
            #expect(try await Self.index(server) == nil)
        }
    }

    @Test("Rejects invalid index definitions immediately, and all index builds by editors")
    func refusals() async throws {
        try await Self.run { server, browser in
            let bodies: [JSONValue] = [
                [:], ["className": "Song"], ["className": "Nothing", "fields": ["a"]],
                ["className": "Song", "fields": ["other"]],
                ["className": "Song", "fields": [1]], ["className": "Song", "fields": ["plays", 5, "title"]],
            ]
            for body in bodies {
                let answer = try await browser.send("POST", "/console/api/indexes", body)
                #expect(answer.status == 400, "\(answer.text)")
            }
            #expect(try await browser.send("GET", "/console/api/tasks/other").status == 404)
            let twice: JSONValue = ["className": "Song", "fields": ["title"], "unique": true]
            let id = try #require(try await browser.send("POST", "/console/api/indexes", twice)["id"]?.stringValue)
            let ended = try await Self.end(of: id, browser)
            #expect(ended["state"] == "failed" && ended["message"] != "", "\(ended.text)")
            let editor = try await ConsoleBrowser.operatorBrowser(server, "editor")
            #expect(
                try await editor.send("POST", "/console/api/indexes", ["className": "Song", "fields": ["plays"]]).status
                    == 403)
        }
    }
}
