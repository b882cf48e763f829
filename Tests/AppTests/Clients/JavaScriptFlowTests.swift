import JSON
import TestSupport
import Testing

@Suite struct JavaScriptFlowTests {
    private static func withServer(_ body: @escaping @Sendable (TestServer) async throws -> Void) async throws {
        try await TestServer.run(["javascriptKey": "testJavaScript"], body)
    }

    private static func signedUp(_ server: TestServer, _ name: String) async throws -> (JavaScriptClient, JSONValue) {
        var client = JavaScriptClient(server)
        let answer = try await client.request("POST", "users", ["username": .string(name), "password": "secret"])
            .succeeded()
        client.sessionToken = try answer.string("sessionToken")
        return (client, .pointer("_User", try answer.string("objectId")))
    }

    @Test("A user signs up, fetches itself, logs in and logs out")
    func users() async throws {
        try await Self.withServer { server in
            let (client, user) = try await Self.signedUp(server, "kim")
            let me = try await client.request("GET", "users/me").succeeded()
            #expect(me["username"] == "kim")
            let login = try await JavaScriptClient(server).request(
                "GET", "login", ["username": "kim", "password": "secret"]
            ).succeeded()
            #expect(login.objectID == user.objectID)
            let out = try await client.request("POST", "logout")
            #expect(out.status == 200)
            #expect(out.json == [:])
            let after = try await client.request("GET", "users/me")
            #expect(after.status == 400)
            #expect(after.code == 209)
        }
    }

    @Test("Creates, finds, counts, updates and deletes an object, and includes its author")
    func objects() async throws {
        try await Self.withServer { server in
            let (client, user) = try await Self.signedUp(server, "kim")
            let made = try await client.request(
                "POST", "classes/Song", ["name": "One", "author": user, "tags": ["a"], "plays": .increment(2)])
            #expect(made.status == 201)
            let id = try made.string("objectId")
            #expect(made["_SessionToken"] == nil)
            let found = try await client.request(
                "GET", "classes/Song", ["where": ["name": "One"], "include": "author", "limit": 10]
            ).succeeded()
            #expect(found.results.count == 1)
            #expect(found.results.first?["author"]?["username"] == "kim")
            #expect(found.results.first?["plays"] == 2)
            #expect(found.results.first?.objectValue?.keys.contains { $0.hasPrefix("_") } == false)
            let counted = try await client.request(
                "GET", "classes/Song", ["where": [:], "limit": 0, "count": 1]
            ).succeeded()
            #expect(counted["count"] == 1)
            let changed = try await client.request(
                "PUT", "classes/Song/\(id)",
                ["tags": .operation("AddUnique", ["a", "b"]), "plays": .increment(1), "name": ["__op": "Delete"]]
            ).succeeded()
            #expect(changed["tags"] == ["a", "b"])
            #expect(changed["plays"] == 3)
            let fetched = try await client.request("GET", "classes/Song/\(id)", ["include": "author"]).succeeded()
            #expect(fetched["name"] == nil)
            #expect(fetched["author"]?["__type"] == "Object")
            #expect(try await client.request("DELETE", "classes/Song/\(id)").json == [:])
            #expect(try await client.request("GET", "classes/Song/\(id)").code == 101)
        }
    }

    @Test("A batch uses the credentials in its body and accepts DELETE requests with an empty body")
    func batch() async throws {
        try await Self.withServer { server in
            let (client, user) = try await Self.signedUp(server, "kim")
            let access: JSONValue = .object([Name(user.objectID ?? ""): ["read": true, "write": true]])
            let saved = try await client.request(
                "POST", "batch",
                [
                    "requests": [
                        [
                            "method": "POST", "path": client.batchPath("/classes/Song"),
                            "body": ["name": "One", "ACL": access],
                        ]
                    ]
                ]
            ).succeeded()
            let id = try #require(saved.json.arrayValue?.first?["success"]?["objectId"]?.stringValue)
            #expect(try await JavaScriptClient(server).request("GET", "classes/Song").results.isEmpty)
            let removed = try await client.request(
                "POST", "batch",
                ["requests": [["method": "DELETE", "path": client.batchPath("/classes/Song/\(id)"), "body": [:]]]])
            #expect(removed.json == [["success": [:]]])
        }
    }

    @Test("Uploads a file as base64 in JSON")
    func files() async throws {
        try await Self.withServer { server in
            let (client, _) = try await Self.signedUp(server, "kim")
            let file = try await client.upload("a.png", onePixelPNG, type: "image/png")
            #expect(file.status == 201)
            #expect(try file.string("name").hasSuffix("_a.png"))
            let read = try await server.send("GET", try file.string("url"), as: .nobody)
            #expect(read.bytes == onePixelPNG)
            #expect(read.headers["content-type"] == "image/png")
        }
    }

    @Test("Rejects a wrong key with 403 and no code, and answers a CORS preflight")
    func credentials() async throws {
        try await Self.withServer { server in
            let body: JSONObject = ["_method": "GET", "_ApplicationId": "testApp", "_JavaScriptKey": "wrong"]
            let answer = try await server.send(
                "POST", "/classes/Song", bytes: JSONValue.object(body).serialized(), as: .nobody,
                headers: ["Content-Type": "text/plain"])
            #expect(answer.status == 403)
            #expect(answer.json == ["error": "unauthorized"])
            let asked = try await server.send(
                "OPTIONS", "/classes/Song", as: .nobody, headers: ["Origin": "https://app.example.com"])
            #expect(asked.status == 200)
            #expect(asked.headers["access-control-allow-origin"] == "*")
            #expect(asked.headers["access-control-allow-methods"]?.contains("DELETE") == true)
            #expect(asked.headers["access-control-allow-headers"]?.lowercased().contains("content-type") == true)
        }
    }
}

extension TestAnswer {
    var objectID: String? { json.objectID }
}
