import JSON
import TestSupport
import Testing

@Suite struct LoginTests {
    @Test("Logs in by user name or email address, with POST or GET, and returns the user with a new session token")
    func success() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim", ["email": "kim@example.com", "age": 3])
            var answers = [
                try await server.send("POST", "/login", ["username": "kim", "password": "secret"]),
                try await server.send("POST", "/login", ["email": "kim@example.com", "password": "secret"]),
                try await server.send("POST", "/login", ["username": "kim@example.com", "password": "secret"]),
            ]
            answers.append(try await server.send("GET", "/login?username=kim&password=secret"))
            for answer in answers {
                #expect(answer.status == 200)
                #expect(answer["objectId"]?.stringValue == kim.id)
                #expect(answer["age"] == 3)
                #expect(answer["email"] == "kim@example.com")
                #expect(answer["password"] == nil)
                #expect(answer["_hashed_password"] == nil)
            }
            let tokens = try Set(answers.map { try $0.string("sessionToken") } + [kim.token])
            #expect(tokens.count == 5)
        }
    }

    @Test("Log-ins fail with 200 without a name, 201 without a password, and 101 with wrong credentials")
    func failure() async throws {
        try await TestServer.run { server in
            _ = try await server.signUp("kim")
            let nameless = try await server.send("POST", "/login", ["password": "secret"])
            #expect(nameless.status == 400)
            #expect(nameless.code == 200)
            #expect(nameless.error == "username/email is required.")
            let unprotected = try await server.send("POST", "/login", ["username": "kim"])
            #expect(unprotected.status == 400)
            #expect(unprotected.code == 201)
            #expect(unprotected.error == "password is required.")
            for body: JSONValue in [
                ["username": "kim", "password": "wrong"], ["username": "lou", "password": "secret"],
                ["username": "KIM", "password": "secret"], ["username": ["$ne": ""], "password": "secret"],
                ["username": "kim", "password": ["$ne": ""]],
            ] {
                let answer = try await server.send("POST", "/login", body)
                #expect(answer.status == 404)
                #expect(answer.code == 101)
                #expect(answer.error == "Invalid username/password.")
            }
        }
    }

    @Test("A new password ends all of the user's sessions and returns a new session token")
    func passwordChange() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let other = try await server.send("POST", "/login", ["username": "kim", "password": "secret"])
                .string("sessionToken")
            let changed = try await server.send(
                "PUT", "/users/\(kim.id)", ["password": "better"], as: .session(kim.token))
            #expect(changed.status == 200)
            let fresh = try changed.string("sessionToken")
            for token in [kim.token, other] {
                #expect(try await server.send("GET", "/users/me", as: .session(token)).code == 209)
            }
            #expect(try await server.send("GET", "/users/me", as: .session(fresh)).status == 200)
            let old = try await server.send("POST", "/login", ["username": "kim", "password": "secret"])
            #expect(old.code == 101)
            let new = try await server.send("POST", "/login", ["username": "kim", "password": "better"])
            #expect(new.status == 200)
        }
    }

    @Test("/verifyPassword returns the user without a session token")
    func verification() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let right = try await server.send("POST", "/verifyPassword", ["username": "kim", "password": "secret"])
            #expect(right.status == 200)
            #expect(right["objectId"]?.stringValue == kim.id)
            #expect(right["sessionToken"] == nil)
            let wrong = try await server.send("POST", "/verifyPassword", ["username": "kim", "password": "wrong"])
            #expect(wrong.status == 404)
            #expect(wrong.code == 101)
        }
    }

    @Test("/loginAs requires the master key")
    func loginAs() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let refused = try await server.send(
                "POST", "/loginAs", ["userId": .string(kim.id)], as: .session(kim.token))
            #expect(refused.code == 119)
            let allowed = try await server.send("POST", "/loginAs", ["userId": .string(kim.id)], as: .master)
            #expect(allowed.status == 200)
            let token = try allowed.string("sessionToken")
            let me = try await server.send("GET", "/users/me", as: .session(token))
            #expect(me["objectId"]?.stringValue == kim.id)
        }
    }
}
