import JSON
import TestSupport
import Testing

@Suite struct LoginDataTests {
    private static func link(_ id: JSONValue) -> JSONValue { ["authData": ["anonymous": ["id": id]]] }

    @Test("Unlinking a provider removes only its authData and frees its id")
    func unlinking() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let path = "/users/\(kim.id)"
            _ = try await server.send("PUT", path, Self.link("device"), as: .session(kim.token)).succeeded()
            // Data that parse-server stored for an unsupported provider.
            try await server.execute(
                #"UPDATE "_User" SET "authData" = "authData" || '{"facebook": {"id": "f", "access_token": "t"}, "gone": null}'"#
            )
            let found = try await server.send("POST", "/users", Self.link("device")).succeeded()
            #expect(found.status == 200)
            #expect(found["objectId"]?.stringValue == kim.id)
            _ = try await server.send("PUT", path, ["authData": ["anonymous": .null]], as: .session(kim.token))
                .succeeded()
            let kept = try await server.rows("SELECT \"authData\"::text FROM \"_User\"")
            #expect(kept == [[#"{"facebook": {"id": "f", "access_token": "t"}}"#]])
            let me = try await server.send("GET", "/users/me", as: .session(kim.token))
            #expect(same(me["authData"], ["facebook": ["id": "f", "access_token": "t"]]), "\(me.text)")
            let fresh = try await server.send("POST", "/users", Self.link("device")).succeeded()
            #expect(fresh.status == 201)
            // The user's last provider.
            _ = try await server.send("PUT", path, ["authData": ["facebook": .null]], as: .session(kim.token))
                .succeeded()
            let none = try await server.send("GET", "/users/me", as: .session(kim.token))
            #expect(none["authData"] == nil || none["authData"] == [:], "\(none.text)")
            #expect(try await server.send("POST", "/login", ["username": "kim", "password": "secret"]).status == 200)
        }
    }

    @Test("Sending unchanged authData, an unknown provider's null or an empty map changes nothing")
    func unchanged() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            try await server.execute(
                #"UPDATE "_User" SET "authData" = '{"facebook": {"id": "f"}, "anonymous": {"id": "a"}}'"#)
            for body: JSONValue in [
                ["authData": ["facebook": ["id": "f"], "anonymous": ["id": "a"]]],
                ["authData": ["anonymous": ["id": "a"]]],
                ["authData": ["nosuch": .null]], ["authData": [:]], ["authData": .null], ["city": "Bonn"],
            ] {
                let answer = try await server.send("PUT", "/users/\(kim.id)", body, as: .session(kim.token))
                #expect(answer.status == 200, "\(body): \(answer.text)")
                let kept = try await server.rows(
                    "SELECT \"authData\"->'facebook'->>'id', \"authData\"->'anonymous'->>'id' FROM \"_User\"")
                #expect(kept == [["f", "a"]], "\(body)")
            }
        }
    }

    @Test("Rejects malformed authData, unsupported providers and another user's id, and stores nothing")
    func refusals() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            _ = try await server.send("POST", "/users", Self.link("taken")).succeeded()
            let bodies: [(JSONValue, Int)] = [
                (Self.link("taken"), 208), (Self.link(["$ne": .null]), 162), (Self.link(7), 162),
                (["authData": ["facebook": ["id": "f"]]], 252), (["authData": ["anonymous": "text"]], 252),
                (["authData": "text"], 252), (["authData": [1]], 252), (["authData.anonymous": ["id": "x"]], 105),
                (["authData.anonymous.id": "x"], 105), (["authData": ["a.b": ["id": "x"]]], 252),
            ]
            for (body, code) in bodies {
                let answer = try await server.send("PUT", "/users/\(kim.id)", body, as: .session(kim.token))
                SecurityProbe.expectRefused(answer, code, "\(body)")
                let kept = try await server.rows("SELECT \"authData\"::text FROM \"_User\" WHERE \"username\" = 'kim'")
                #expect(kept == [[nil]], "\(body)")
            }
        }
    }

    @Test(
        "Up to preset 8, a provider's id can be a whole number, which equals its digits as a string",
        arguments: [4, 7, 8, 9])
    func numbers(preset: Int) async throws {
        try await TestServer.run(["preset": .number(Double(preset))]) { server in
            let first = try await server.send("POST", "/users", Self.link(77))
            guard preset < 9 else { return SecurityProbe.expectRefused(first, 162, "\(preset)") }
            #expect(first.status == 201, "\(first.text)")
            for id: JSONValue in [77, "77"] {
                let again = try await server.send("POST", "/users", Self.link(id))
                #expect(again.status == 200 && again["objectId"] == first["objectId"], "\(id): \(again.text)")
            }
            for id: JSONValue in [7.5, ["$ne": .null], true] {
                SecurityProbe.expectRefused(try await server.send("POST", "/users", Self.link(id)), 162, "\(id)")
            }
        }
    }

    @Test(
        "A master-key authData change returns a session, with preset 9 only if an installation id is sent",
        arguments: [7, 9])
    func masterLink(preset: Int) async throws {
        try await TestServer.run(["preset": .number(Double(preset))]) { server in
            let kim = try await server.signUp("kim")
            let path = "/users/\(kim.id)"
            let plain = try await server.send("PUT", path, Self.link("d"), as: .master).succeeded()
            #expect((plain["sessionToken"] != nil) == (preset == 7), "\(plain.text)")
            let installed = try await server.send(
                "PUT", path, ["authData": ["anonymous": .null]], as: .master, headers: ["X-Parse-Installation-Id": "i"]
            ).succeeded()
            let me = try await server.send("GET", "/users/me", as: .session(try installed.string("sessionToken")))
            #expect(me["objectId"]?.stringValue == kim.id, "\(me.text)")
            let opened = try await server.texts(
                "SELECT \"createdWith\"::text FROM \"_Session\" WHERE \"installationId\" = 'i'")
            #expect(opened == [#"{"action": "login", "authProvider": "anonymous"}"#])
            for (body, identity): (JSONValue, TestServer.Identity) in [
                (["city": "Bonn"], .master), (["authData": [:]], .master), (Self.link("d"), .session(kim.token)),
            ] {
                let answer = try await server.send("PUT", path, body, as: identity).succeeded()
                #expect(answer["sessionToken"] == nil, "\(body): \(answer.text)")
            }
        }
    }

    @Test("Checks authData before its owner, so that a rejection doesn't reveal another user's link")
    func refusedBeforeLinked() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            _ = try await server.signUp("lou")
            try await server.execute(
                """
                UPDATE "_User" SET "authData" = '{"facebook":{"id":"f","access_token":"right"}}' WHERE "username" = 'lou'
                """)
            let wrong: JSONValue = ["authData": ["facebook": ["id": "f", "access_token": "wrong"]]]
            let linked = try await server.send("PUT", "/users/\(kim.id)", wrong, as: .session(kim.token))
            SecurityProbe.expectRefused(linked, 252, "link")
            SecurityProbe.expectRefused(try await server.send("POST", "/users", wrong), 252, "log-in")
            let mine = try await server.rows("SELECT \"authData\"::text FROM \"_User\" WHERE \"username\" = 'kim'")
            #expect(mine == [[nil]])
        }
    }
}
