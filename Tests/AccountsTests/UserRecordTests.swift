import JSON
import TestSupport
import Testing

/// The visibility of a user's fields, and permission to change them.
@Suite struct UserRecordTests {
    @Test(
        "Only the owner can update a user; others don't even learn whether a name is taken",
        arguments: ["/users/", "/classes/_User/"])
    func updates(path: String) async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let lou = try await server.signUp("lou")
            let own = try await server.send("PUT", path + kim.id, ["age": 3], as: .session(kim.token))
            #expect(own.status == 200)
            for identity: TestServer.Identity in [.session(lou.token), .anonymous] {
                let foreign = try await server.send("PUT", path + kim.id, ["age": 4], as: identity)
                #expect(foreign.status == 400)
                #expect(foreign.code == 206)
                #expect(foreign.error == "Permission denied")
            }
            // Callers without write access must not learn that a name is taken.
            let probing = try await server.send(
                "PUT", path + kim.id, ["username": "lou"], as: .session(lou.token))
            #expect(probing.code == 206)
            let record = try await server.send("GET", "/users/\(kim.id)", as: .master)
            #expect(record["age"] == 3)
        }
    }

    @Test("Only the owner can delete a user")
    func deletion() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let lou = try await server.signUp("lou")
            let foreign = try await server.send("DELETE", "/users/\(kim.id)", as: .session(lou.token))
            #expect(foreign.status == 400)
            #expect(foreign.code == 206)
            let anonymous = try await server.send("DELETE", "/users/\(kim.id)")
            #expect(anonymous.code == 206)
            #expect(anonymous.error == "Insufficient auth to delete user")
            let own = try await server.send("DELETE", "/users/\(kim.id)", as: .session(kim.token))
            #expect(own.status == 200)
            #expect(own.json == [:])
            #expect(try await server.send("GET", "/users/\(kim.id)", as: .master).status == 404)
        }
    }

    @Test("Hides the email address from others in gets, finds, keys and includes, but not from its owner")
    func address() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim", ["email": "kim@example.com"])
            let lou = try await server.signUp("lou")
            let post = try await server.create("Post", ["author": .pointer("_User", kim.id)])
            for identity: TestServer.Identity in [.session(lou.token), .anonymous] {
                let record = try await server.send("GET", "/users/\(kim.id)", as: identity)
                #expect(record["username"] == "kim")
                #expect(record["email"] == nil)
                let found = try await server.find("_User", ["where": ["username": "kim"]], as: identity)
                #expect(found.results.count == 1)
                #expect(found.results.first?["email"] == nil)
                let asked = try await server.find("_User", ["keys": "email"], as: identity)
                #expect(asked.results.allSatisfy { $0["email"] == nil })
                let included = try await server.send("GET", "/classes/Post/\(post)?include=author", as: identity)
                #expect(included["author"]?["username"] == "kim")
                #expect(included["author"]?["email"] == nil)
            }
            let own = try await server.send("GET", "/users/\(kim.id)", as: .session(kim.token))
            #expect(own["email"] == "kim@example.com")
            let master = try await server.send("GET", "/users/\(kim.id)", as: .master)
            #expect(master["email"] == "kim@example.com")
        }
    }

    @Test("Rejects conditions and sort orders on the email address with 119")
    func guessing() async throws {
        try await TestServer.run { server in
            _ = try await server.signUp("kim", ["email": "kim@example.com"])
            let parameters: [JSONObject] = [
                ["where": ["email": "kim@example.com"]], ["where": ["email": ["$regex": "^k"]]],
                ["where": ["$or": [["email": "kim@example.com"], ["username": "x"]]]], ["order": "email"],
                ["order": "-email"],
            ]
            for parameter in parameters {
                let answer = try await server.find("_User", parameter)
                #expect(answer.status == 400, "\(parameter)")
                #expect(answer.code == 119, "\(parameter)")
                #expect(answer.error == "Permission denied", "\(parameter)")
            }
        }
    }

    @Test("No response contains a password, its hash or another user's session token")
    func secrets() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let lou = try await server.signUp("lou")
            let answers = [
                try await server.send("GET", "/users/\(kim.id)", as: .session(kim.token)),
                try await server.send("GET", "/users/\(kim.id)", as: .master),
                try await server.find("_User", as: .master), try await server.find("_User", as: .session(lou.token)),
            ]
            for answer in answers {
                #expect(answer.status == 200)
                #expect(!answer.text.contains("password"))
            }
            #expect(!answers[3].text.contains(kim.token))
        }
    }

    @Test("With enforcePrivateUsers, users can see only themselves")
    func privateUsers() async throws {
        try await TestServer.run(["enforcePrivateUsers": true]) { server in
            let kim = try await server.signUp("kim")
            let lou = try await server.signUp("lou")
            #expect(try await server.send("GET", "/users/\(kim.id)", as: .session(lou.token)).code == 101)
            let found = try await server.find("_User", as: .session(lou.token))
            #expect(found.results.map { $0["username"] } == ["lou"])
        }
    }
}
