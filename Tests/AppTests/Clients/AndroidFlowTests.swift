import JSON
import TestSupport
import Testing

@Suite struct AndroidFlowTests {
    private static func withServer(_ body: @escaping @Sendable (TestServer) async throws -> Void) async throws {
        try await TestServer.run(["clientKey": "testClient"], body)
    }

    private static func signedUp(_ server: TestServer, _ name: String) async throws -> (AndroidClient, JSONValue) {
        var client = AndroidClient(server)
        let answer = try await client.run("POST", "/users", ["username": .string(name), "password": "secret"])
            .succeeded()
        client.sessionToken = try answer.string("sessionToken")
        return (client, .pointer("_User", try answer.string("objectId")))
    }

    @Test("A user signs up, fetches itself, logs in, and logs out with an empty JSON body")
    func users() async throws {
        try await Self.withServer { server in
            let (client, user) = try await Self.signedUp(server, "kim")
            #expect(try await client.run("GET", "/users/me")["username"] == "kim")
            let login = try await AndroidClient(server).run(
                "GET", "/login", ["username": "kim", "password": "secret"])
            #expect(login.objectID == user.objectID)
            #expect(try await client.run("POST", "/logout", [:]).json == [:])
            #expect(try await client.run("GET", "/users/me").code == 209)
        }
    }

    @Test("Accepts query parameters as strings and the condition as JSON text")
    func queries() async throws {
        try await Self.withServer { server in
            let (client, user) = try await Self.signedUp(server, "kim")
            for index in 0..<5 {
                _ = try await client.run(
                    "POST", "/classes/Song", ["name": .string("s\(index)"), "n": .number(Double(index)), "user": user]
                ).succeeded()
            }
            let found = try await client.find(
                "Song", where: ["user": user, "n": ["$gte": 1]],
                ["limit": "2", "skip": "1", "order": "-n", "include": "user"])
            #expect(found.results.map { $0["n"] } == [3, 2])
            #expect(found.results.first?["user"]?["username"] == "kim")
            let counted = try await client.find("Song", where: ["n": ["$lt": 2]], ["count": "1", "limit": "0"])
            #expect(counted["count"] == 2)
            #expect(counted.results.isEmpty)
            let inner: JSONValue = ["className": "_User", "where": ["username": "kim"], "fields": "username"]
            let related = try await client.find("Song", where: ["user": ["$inQuery": inner]], ["limit": "100"])
            #expect(related.results.count == 5)
        }
    }

    @Test("Updates an object by operations, fetches and deletes it; a batch returns one result per request")
    func objects() async throws {
        try await Self.withServer { server in
            let (client, _) = try await Self.signedUp(server, "kim")
            let id = try await client.run("POST", "/classes/Song", ["list": [1, 2]]).succeeded().string("objectId")
            let path = "/classes/Song/\(id)"
            let added = try await client.run("PUT", path, ["list": .operation("Add", [2, 3])])
            #expect(added["list"] == [1, 2, 2, 3])
            let removed = try await client.run("PUT", path, ["list": .operation("Remove", [2])])
            #expect(removed["list"] == [1, 3])
            #expect(try await client.run("GET", path)["list"] == [1, 3])
            let batch = try await client.run(
                "POST", "/batch",
                [
                    "requests": [
                        ["method": "PUT", "path": client.batchPath(path), "body": ["n": .increment(1)]],
                        ["method": "POST", "path": client.batchPath("/classes/Song"), "body": ["n": 5]],
                    ]
                ])
            #expect(batch.json.arrayValue?.count == 2)
            #expect(batch.json.arrayValue?.first?["success"]?["n"] == 1)
            #expect(try await client.run("DELETE", path).json == [:])
            #expect(try await client.run("GET", path).status == 404)
        }
    }

    @Test("Uploads a file as raw bytes and saves it in an object")
    func files() async throws {
        try await Self.withServer { server in
            let (client, _) = try await Self.signedUp(server, "kim")
            let file = try await client.upload("a.png", onePixelPNG, type: "image/png").succeeded()
            let id = try await client.run(
                "POST", "/classes/Song",
                ["cover": ["__type": "File", "name": .string(try file.string("name")), "url": .string("")]]
            ).succeeded().string("objectId")
            #expect(try await client.run("GET", "/classes/Song/\(id)")["cover"]?["url"] == file["url"])
        }
    }

    @Test("Creating an installation twice keeps one object with the same id")
    func installations() async throws {
        try await Self.withServer { server in
            let client = AndroidClient(server)
            let fields: JSONObject = [
                "deviceType": "android", "installationId": .string(client.installationID), "timeZone": "Europe/Berlin",
            ]
            let first = try await client.run("POST", "/classes/_Installation", fields).succeeded()
            let second = try await client.run("POST", "/classes/_Installation", fields).succeeded()
            #expect(first.objectID != nil)
            #expect(second.objectID == nil || second.objectID == first.objectID)
            let all = try await server.find("_Installation", as: .master)
            #expect(all.results.count == 1)
        }
    }
}
