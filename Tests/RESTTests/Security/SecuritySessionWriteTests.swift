import JSON
import TestSupport
import Testing

/// Advisories of class F: writes of clients to sessions.
@Suite struct SecuritySessionWriteTests {
    private static let serverOwned = ["user", "installationId", "sessionToken", "expiresAt", "createdWith", "ACL"]

    @Test("GHSA-6w4q-23cf-j9jp, GHSA-jc39-686j-wp6q, GHSA-f6j3-w9v3-cq22: server-owned session fields are read-only")
    func update() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let lou = try await server.signUp("lou")
            let before = try await server.send("GET", "/sessions/me", as: .session(kim.token))
            let id = try before.string("objectId")
            let values: [JSONValue] = [
                .null, false, 0, "", [:], [], "x", true, .pointer("_User", lou.id), .date("2999-01-01T00:00:00.000Z"),
                ["__op": "Delete"], ["__op": "SetOnInsert", "amount": "x"],
            ]
            for key in Self.serverOwned {
                for value in values {
                    for path in ["/sessions/\(id)", "/classes/_Session/\(id)"] {
                        let answer = try await server.send(
                            "PUT", path, .object([Name(key): value]), as: .session(kim.token))
                        SecurityProbe.expectRefused(answer, 105, "\(key) \(value)")
                    }
                }
            }
            let after = try await server.send("GET", "/sessions/me", as: .session(kim.token))
            #expect(same(before.json, after.json), "\(after.text)")
            let free = try await server.send("PUT", "/sessions/\(id)", ["note": "x"], as: .session(kim.token))
            #expect(free.status == 200)
        }
    }

    @Test("GHSA-5v7g-9h8f-8pgg: dotted keys can't change server-owned session fields")
    func dottedUpdate() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let lou = try await server.signUp("lou")
            let before = try await server.send("GET", "/sessions/me", as: .session(kim.token))
            let id = try before.string("objectId")
            let bodies: [JSONValue] = [
                ["user.objectId": .string(lou.id)], ["createdWith.action": "login"],
                ["createdWith.authProvider": ["__op": "Delete"]], ["sessionToken.x": "y"],
                ["expiresAt.iso": "2999-01-01T00:00:00.000Z"], ["ACL.x": true], ["installationId.x": "y"],
            ]
            for body in bodies {
                let answer = try await server.send("PUT", "/sessions/\(id)", body, as: .session(kim.token))
                #expect(answer.status == 400, "\(body): \(answer.text)")
                #expect([105, 111].contains(answer.code), "\(body): \(answer.text)")
                let batch = try await server.send(
                    "POST", "/batch", ["requests": [SecurityProbe.call("PUT", "/sessions/\(id)", body)]],
                    as: .session(kim.token))
                #expect(batch.json.arrayValue?.first?["success"] == nil, "\(body): \(batch.text)")
            }
            let after = try await server.send("GET", "/sessions/me", as: .session(kim.token))
            #expect(same(before.json, after.json), "\(after.text)")
        }
    }

    @Test("GHSA-5v7g-9h8f-8pgg: a session that a client creates always belongs to the caller")
    func creation() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let lou = try await server.signUp("lou")
            let note = try await server.create(
                "Note", ["text": "lou's", "ACL": .object([Name(lou.id): ["read": true]])], as: .session(lou.token))
            let target = JSONValue.pointer("_User", lou.id)
            let bodies: [JSONValue] = [
                ["user": target], ["user.objectId": .string(lou.id)],
                ["user": target, "user.objectId": .string(lou.id)], ["user.className": "_User", "user": target],
                ["user.objectId": ["__op": "SetOnInsert", "amount": .string(lou.id)]],
                ["sessionToken": "r:chosen", "user": .null], ["createdWith.action": "login"],
                ["createdWith": .null, "expiresAt": 0, "sessionToken": "", "user": false],
                ["expiresAt.iso": "2999-01-01T00:00:00.000Z"], ["sessionToken.x": "y"],
            ]
            for body in bodies {
                for path in ["/sessions", "/classes/_Session"] {
                    let answer = try await server.send("POST", path, body, as: .session(kim.token))
                    SecurityProbe.expectHarmless(answer, "\(body)")
                    guard answer.status == 201 else { continue }
                    let token = try answer.string("sessionToken")
                    #expect(token != "r:chosen", "\(body)")
                    let me = try await server.send("GET", "/users/me", as: .session(token))
                    #expect(me["objectId"]?.stringValue == kim.id, "\(body): \(me.text)")
                    let session = try await server.send("GET", "/sessions/me", as: .session(token))
                    #expect(session["user"]?["objectId"]?.stringValue == kim.id, "\(body): \(session.text)")
                    #expect(same(session["createdWith"], ["action": "create"]), "\(body): \(session.text)")
                    let end = session["expiresAt"]?["iso"]?.stringValue ?? ""
                    #expect(!end.isEmpty && end < "2100", "\(body): \(session.text)")
                    let read = try await server.send("GET", "/classes/Note/\(note)", as: .session(token))
                    #expect(read.status == 404, "\(body): \(read.text)")
                }
            }
            let own = try await server.send("GET", "/sessions", as: .session(lou.token))
            #expect(own.results.count == 1, "\(own.text)")
            #expect(try await server.send("POST", "/sessions", [:]).code == 209)
        }
    }

    @Test("GHSA-6w4q-23cf-j9jp: a user can't read, update, delete or find another user's session")
    func foreign() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let lou = try await server.signUp("lou")
            let id = try await server.send("GET", "/sessions/me", as: .session(lou.token)).string("objectId")
            let path = "/sessions/\(id)"
            let bodies: [(String, JSONValue?)] = [("GET", nil), ("PUT", ["note": "x"]), ("DELETE", nil)]
            for (method, body) in bodies {
                let answer = try await server.send(method, path, body, as: .session(kim.token))
                SecurityProbe.expectRefused(answer, 101, method)
                let open = try await server.send(method, path, body)
                #expect(open.status == 400, "\(method): \(open.text)")
                #expect(open.code == 209, "\(method): \(open.text)")
            }
            for condition: JSONValue in [
                ["user": .pointer("_User", lou.id)], ["objectId": .string(id)], ["sessionToken": ["$regex": "^r:"]],
                ["$or": [["user": .pointer("_User", lou.id)], ["user": ["$exists": true]]]],
                ["sessionToken": .string(lou.token)],
            ] {
                let found = try await server.find("_Session", ["where": condition], as: .session(kim.token))
                #expect(!found.text.contains(lou.token), "\(condition): \(found.text)")
                let open = try await server.find("_Session", ["where": condition])
                SecurityProbe.expectRefused(open, 209, "\(condition)")
            }
            #expect(try await server.send("GET", "/users/me", as: .session(lou.token)).status == 200)
        }
    }
}
