import JSON
import TestSupport
import Testing

@Suite struct SignUpTests {
    @Test("A sign-up returns 201 with only the id, the creation date and a session token")
    func success() async throws {
        try await TestServer.run { server in
            let answer = try await server.send(
                "POST", "/users", ["username": "kim", "password": "pw", "email": "kim@example.com", "age": 3])
            #expect(answer.status == 201)
            #expect(Set(answer.json.objectValue?.keys.map { $0 } ?? []) == ["objectId", "createdAt", "sessionToken"])
            #expect(answer["sessionToken"]?.stringValue?.hasPrefix("r:") == true)
            #expect(answer.headers["location"] == server.url + "/users/" + (try answer.string("objectId")))
        }
    }

    @Test(
        "A missing, empty or non-string user name fails with 200, a missing password with 201",
        arguments: [true, false])
    func missingCredentials(throughClasses: Bool) async throws {
        try await TestServer.run { server in
            let path = throughClasses ? "/classes/_User" : "/users"
            for name: JSONValue in [.null, "", 5] {
                let answer = try await server.send("POST", path, ["username": name, "password": "pw"])
                #expect(answer.status == 400)
                #expect(answer.code == 200)
                #expect(answer.error == "bad or missing username")
            }
            let empty = try await server.send("POST", path, [:])
            #expect(empty.code == 200)
            for password: JSONValue in [.null, ""] {
                let answer = try await server.send("POST", path, ["username": "kim", "password": password])
                #expect(answer.status == 400)
                #expect(answer.code == 201)
                #expect(answer.error == "password is required")
            }
        }
    }

    @Test("A taken user name fails with 202, regardless of case")
    func takenName() async throws {
        try await TestServer.run { server in
            _ = try await server.signUp("Kim")
            for name in ["Kim", "kim", "KIM"] {
                let answer = try await server.send("POST", "/users", ["username": .string(name), "password": "pw"])
                #expect(answer.status == 400)
                #expect(answer.code == 202)
                #expect(answer.error == "Account already exists for this username.")
            }
        }
    }

    @Test("A taken email address fails with 203, regardless of case, and a malformed one with 125")
    func address() async throws {
        try await TestServer.run { server in
            _ = try await server.signUp("kim", ["email": "kim@example.com"])
            let taken = try await server.send(
                "POST", "/users", ["username": "lou", "password": "pw", "email": "KIM@example.com"])
            #expect(taken.status == 400)
            #expect(taken.code == 203)
            #expect(taken.error == "Account already exists for this email address.")
            for address in ["nonsense", "Lou <lou@example.com>", "<lou@example.com>"] {
                let malformed = try await server.send(
                    "POST", "/users", ["username": "lou", "password": "pw", "email": .string(address)])
                #expect(malformed.status == 400)
                #expect(malformed.code == 125, "\(address)")
                #expect(malformed.error == "Email address format is invalid.")
            }
        }
    }

    @Test("Clients can't set emailVerified at sign-up")
    func emailVerified() async throws {
        try await TestServer.run { server in
            let answer = try await server.send(
                "POST", "/users", ["username": "kim", "password": "pw", "emailVerified": true])
            #expect(answer.status == 400)
            #expect(answer.code == 119)
        }
    }

    @Test(
        "Sixteen concurrent sign-ups with one name, in any case, create one user",
        arguments: [["kim"], ["\u{FC}nal", "\u{DC}nal", "\u{FC}NAL", "\u{DC}NAL", "\u{DC}naL", "\u{FC}naL"]])
    func simultaneous(spellings: [String]) async throws {
        try await TestServer.run { server in
            let answers = try await concurrently(16) { index in
                let name = JSONValue.string(spellings[index % spellings.count])
                return try await server.send("POST", "/users", ["username": name, "password": "pw"])
            }
            #expect(answers.filter { $0.status == 201 }.count == 1)
            #expect(answers.filter { $0.code == 202 }.count == 15)
            #expect(try await server.find("_User", as: .master).results.count == 1)
        }
    }

    @Test("An anonymous user logs in by id, and becomes a regular user with a new session token")
    func anonymousUser() async throws {
        try await TestServer.run { server in
            let data: JSONValue = ["authData": ["anonymous": ["id": "b0f1c0de"]]]
            let created = try await server.send("POST", "/users", data)
            #expect(created.status == 201)
            let id = try created.string("objectId")
            let again = try await server.send("POST", "/users", data)
            #expect(again.status == 200)
            #expect(again["objectId"]?.stringValue == id)
            let token = try again.string("sessionToken")
            let converted = try await server.send(
                "PUT", "/classes/_User/\(id)",
                ["username": "kim", "password": "pw", "authData": ["anonymous": .null]], as: .session(token))
            #expect(converted.status == 200)
            let fresh = try converted.string("sessionToken")
            #expect(fresh != token)
            #expect(try await server.send("GET", "/users/me", as: .session(token)).code == 209)
            let me = try await server.send("GET", "/users/me", as: .session(fresh))
            #expect(me["username"] == "kim")
            #expect(me["authData"] == nil)
            let login = try await server.send("POST", "/login", ["username": "kim", "password": "pw"])
            #expect(login["objectId"]?.stringValue == id)
        }
    }
}
