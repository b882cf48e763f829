import Foundation
import JSON
import TestSupport
import Testing

@Suite struct ParseSwiftFlowTests {
    private static func withServer(_ body: @escaping @Sendable (TestServer) async throws -> Void) async throws {
        try await TestServer.run(["clientKey": "testClient"], body)
    }

    private static func signedUp(_ server: TestServer, _ name: String) async throws -> (ParseSwiftClient, JSONValue) {
        var client = ParseSwiftClient(server)
        let answer = try await client.run("POST", "/users", ["username": .string(name), "password": "secret"])
            .succeeded()
        client.sessionToken = try answer.string("sessionToken")
        return (client, .pointer("_User", try answer.string("objectId")))
    }

    @Test("A user signs up, fetches itself, logs in by POST, and logs out")
    func users() async throws {
        try await Self.withServer { server in
            let (client, user) = try await Self.signedUp(server, "kim")
            let me = try await client.run("GET", "/users/me").succeeded()
            #expect(me["username"] == "kim")
            let login = try await ParseSwiftClient(server).run(
                "POST", "/login", ["username": "kim", "password": "secret"]
            ).succeeded()
            #expect(login.objectID == user.objectID)
            #expect(login["createdAt"] != nil)
            #expect(login["sessionToken"] != nil)
            #expect(try await client.run("POST", "/logout").json == [:])
            #expect(try await client.run("GET", "/users/me").code == 209)
        }
    }

    @Test("The health check accepts POST")
    func health() async throws {
        try await Self.withServer { server in
            let answer = try await ParseSwiftClient(server).run("POST", "/health")
            #expect(answer.status == 200)
            #expect(answer["status"] == "ok")
        }
    }

    @Test("Accepts a query as JSON text in the query string, or in a POST with _method GET")
    func queries() async throws {
        try await Self.withServer { server in
            let (client, user) = try await Self.signedUp(server, "kim")
            for index in 0..<4 {
                _ = try await client.run(
                    "POST", "/classes/Song", ["name": "a b", "n": .number(Double(index)), "user": user]
                ).succeeded()
            }
            let found = try await client.run(
                "GET", "/classes/Song",
                query: [
                    "where": JSONValue.object(["name": "a b", "n": ["$lt": 3]]).text, "order": "[\"-n\"]",
                    "include": "[\"user\"]", "keys": "[\"n\",\"user\"]", "limit": "2", "skip": "1",
                ]
            ).succeeded()
            #expect(found.results.map { $0["n"] } == [1, 0])
            #expect(found.results.first?["user"]?["username"] == "kim")
            #expect(found.results.first?["name"] == nil)
            let counted = try await client.run(
                "GET", "/classes/Song", query: ["where": "{}", "limit": "0", "count": "true"]
            ).succeeded()
            #expect(counted["count"] == 4)
            let id = try #require(found.results.first?.objectID)
            let fetched = try await client.run("GET", "/classes/Song/\(id)", query: ["include": "[\"user\"]"])
                .succeeded()
            #expect(fetched["user"]?["__type"] == "Object")
            let posted = try await client.run(
                "POST", "/classes/Song",
                ["_method": "GET", "where": ["n": ["$gte": 2]], "order": ["n"], "limit": 100, "skip": 0]
            ).succeeded()
            #expect(posted.results.map { $0["n"] } == [2, 3])
        }
    }

    @Test("Accepts updates with the whole object, treats PATCH like PUT, and returns the results of operations")
    func objects() async throws {
        try await Self.withServer { server in
            let (client, user) = try await Self.signedUp(server, "kim")
            let whole: JSONObject = [
                "name": "One", "n": 1.5, "list": [1], "user": user, "when": .date("2024-05-01T10:00:00.000Z"),
                "ACL": .object(["*": ["read": true], Name(user.objectID ?? ""): ["read": true, "write": true]]),
            ]
            let id = try await client.run("POST", "/classes/Song", whole).succeeded().string("objectId")
            var changed = whole
            changed["name"] = "Two"
            let updated = try await client.run("PUT", "/classes/Song/\(id)", changed).succeeded()
            #expect(updated["updatedAt"]?.stringValue?.count == 24)
            let patched = try await client.run("PATCH", "/classes/Song/\(id)", ["name": "Three"])
            #expect(patched.status == 200)
            let operated = try await client.run(
                "PUT", "/classes/Song/\(id)", ["list": .operation("AddUnique", [1, 2]), "n": .increment(1)]
            ).succeeded()
            #expect(operated["list"] == [1, 2])
            #expect(operated["n"] == 2.5)
            let fetched = try await client.run("GET", "/classes/Song/\(id)").succeeded()
            #expect(fetched["name"] == "Three")
            #expect(same(fetched["ACL"], whole["ACL"]))
            let saved = try await client.run("PUT", "/users/\(user.objectID ?? "")", ["username": "kim", "age": 3])
            #expect(saved.status == 200)
            #expect(try await client.run("DELETE", "/classes/Song/\(id)").json == [:])
        }
    }

    @Test("Runs a batch with or without a transaction", arguments: [true, false])
    func batch(transaction: Bool) async throws {
        try await Self.withServer { server in
            let (client, _) = try await Self.signedUp(server, "kim")
            _ = try await client.run("POST", "/classes/Song", ["n": 0]).succeeded()
            let requests: [JSONValue] = (1...3).map {
                [
                    "method": "POST", "path": client.batchPath("/classes/Song"), "body": ["n": .number(Double($0))],
                ]
            }
            let answer = try await client.run(
                "POST", "/batch", ["requests": .array(requests), "transaction": .bool(transaction)])
            #expect(answer.status == 200)
            #expect(answer.json.arrayValue?.count == 3)
            #expect(answer.json.arrayValue?.allSatisfy { $0["success"]?["objectId"] != nil } == true)
        }
    }

    @Test("Uploads a file as raw bytes and deletes it by its URL with the master key")
    func files() async throws {
        try await Self.withServer { server in
            let (client, _) = try await Self.signedUp(server, "kim")
            let file = try await client.upload("a.png", onePixelPNG, type: "image/png").succeeded()
            let url = try file.string("url")
            #expect(try await server.send("GET", url, as: .nobody).bytes == onePixelPNG)
            let deleted = try await server.send("DELETE", url, as: .master)
            #expect(deleted.status == 200)
            #expect(try await server.send("GET", url, as: .nobody).status == 404)
        }
    }

    @Test("With idempotency on, rejects a repeated request with 159 and creates no second object")
    func idempotency() async throws {
        let options: JSONObject = [
            "clientKey": "testClient", "idempotencyOptions": ["paths": [".*"], "ttl": 300],
        ]
        try await TestServer.run(options) { server in
            let client = ParseSwiftClient(server)
            let id = UUID().uuidString.lowercased()
            _ = try await client.run("POST", "/classes/Song", ["n": 1], requestID: id).succeeded()
            let again = try await client.run("POST", "/classes/Song", ["n": 1], requestID: id)
            #expect(again.status == 400)
            #expect(again.code == 159)
            #expect(try await server.find("Song").results.count == 1)
            let phone = IOSClient(server)
            for n in 0..<3 { _ = try await phone.create("Album", ["n": .number(Double(n))]) }
        }
    }
}
