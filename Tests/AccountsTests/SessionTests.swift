import JSON
import TestSupport
import Testing

@Suite struct SessionTests {
    @Test("Unknown session tokens fail with 209, except on /login")
    func unknownToken() async throws {
        try await TestServer.run { server in
            for path in ["/users/me", "/classes/Song", "/config", "/sessions/me"] {
                let answer = try await server.send("GET", path, as: .session("r:unknown"))
                #expect(answer.status == 400, "\(path)")
                #expect(answer.code == 209, "\(path)")
            }
            let login = try await server.signUp("kim")
            #expect(!login.token.isEmpty)
            let answer = try await server.send(
                "POST", "/login", ["username": "kim", "password": "secret"], as: .session("r:unknown"))
            #expect(answer.status == 200)
        }
    }

    @Test("A log-out ends only the session of its token")
    func logOut() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let other = try await server.send("POST", "/login", ["username": "kim", "password": "secret"])
                .string("sessionToken")
            let out = try await server.send("POST", "/logout", as: .session(kim.token))
            #expect(out.status == 200)
            #expect(out.json == [:])
            #expect(try await server.send("GET", "/users/me", as: .session(kim.token)).code == 209)
            #expect(try await server.send("GET", "/users/me", as: .session(other)).status == 200)
        }
    }

    @Test("Users find only their own sessions, the master key all")
    func ownOnly() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let lou = try await server.signUp("lou")
            let all = try await server.send("GET", "/sessions", as: .master)
            #expect(all.results.count == 2)
            let own = try await server.send("GET", "/sessions", as: .session(kim.token))
            #expect(own.results.count == 1)
            #expect(own.results.first?["user"]?["objectId"]?.stringValue == kim.id)
            let mine = try await server.send("GET", "/sessions/me", as: .session(lou.token))
            #expect(mine["sessionToken"]?.stringValue == lou.token)
            #expect(same(mine["createdWith"], ["action": "signup", "authProvider": "password"]))
            #expect(mine["expiresAt"]?["__type"] == "Date")
            #expect(try await server.send("GET", "/sessions").code == 209)
        }
    }

    @Test("Expired sessions fail with 209")
    func expiry() async throws {
        try await TestServer.run(["sessionLength": 1]) { server in
            let kim = try await server.signUp("kim")
            var answer = try await server.send("GET", "/users/me", as: .session(kim.token))
            let isOver = try await eventually {
                answer = try await server.send("GET", "/users/me", as: .session(kim.token))
                return answer.status == 400
            }
            #expect(isOver, "\(answer.text)")
            #expect(answer.code == 209)
            #expect(answer.error == "Session token is expired.")
        }
    }

    @Test("Deleting a session ends it immediately")
    func deletion() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let id = try await server.send("GET", "/sessions/me", as: .session(kim.token)).string("objectId")
            #expect(try await server.send("DELETE", "/sessions/\(id)", as: .session(kim.token)).status == 200)
            #expect(try await server.send("GET", "/users/me", as: .session(kim.token)).code == 209)
        }
    }

    @Test("A session that the master key creates for an installation replaces the user's earlier one there")
    func replacement() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            for token in ["r:first", "r:second"] {
                _ = try await server.send(
                    "POST", "/classes/_Session",
                    [
                        "user": .pointer("_User", kim.id), "sessionToken": .string(token), "installationId": "device",
                        "createdWith": ["action": "create"],
                    ], as: .master
                ).succeeded()
            }
            let tokens = try await server.find("_Session", ["where": ["installationId": "device"]], as: .master)
                .results.map { $0["sessionToken"] }
            #expect(tokens == ["r:second"])
        }
    }
}
