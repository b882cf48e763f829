import JSON
import TestSupport
import Testing

extension CloudScenario {
    private static let login = "Validation failed. Please login to continue."

    /// Validators of functions and triggers. The functions return `ran`.
    static let validators: [CloudScenario] = [
        // Requires a user.
        CloudScenario(18, "needsUser") { server async throws in
            try await refuses(server, "needsUser", with: login)
            let kim = try await server.signUp("needs-kim")
            try await runs(server, "needsUser", as: .session(kim.token))
        },
        CloudScenario(19, "needsUser") { server async throws in
            try await runs(server, "needsUser", as: .master)
        },
        // Requires the parameter `foo`, also with the master key.
        CloudScenario(20, "needsFoo") { server async throws in
            try await refuses(server, "needsFoo", as: .master, with: "Validation failed. Please specify data for foo.")
            try await runs(server, "needsFoo", ["foo": 1], as: .master)
        },
        // Requires the role `Admins`.
        CloudScenario(21, "needsRole") { server async throws in
            try await refuses(server, "needsRole", with: login)
            let kim = try await server.signUp("role-kim")
            try await refuses(
                server, "needsRole", as: .session(kim.token),
                with: "Validation failed. User does not match the required roles.")
        },
        CloudScenario(22, "needsRole") { server async throws in
            let kim = try await server.signUp("role-lea")
            func role(_ name: String, _ members: String, _ objects: JSONValue) async throws -> String {
                var role: JSONObject = ["name": .string(name), "ACL": ["*": ["read": true]]]
                role[Name(members)] = .operation("AddRelation", [objects])
                return try await server.create("_Role", role, as: .master)
            }
            // Members of `Owners` inherit `Admins`.
            let owners = try await role("Owners", "users", .pointer("_User", kim.id))
            _ = try await role("Admins", "roles", .pointer("_Role", owners))
            try await runs(server, "needsRole", as: .session(kim.token))
        },
        // Requires the parameter `n` to be a number.
        CloudScenario(23, "needsNumber") { server async throws in
            for wrong: JSONValue in ["1", true, [1], ["a": 1], .null] {
                try await refuses(
                    server, "needsNumber", ["n": wrong], with: "Validation failed. Invalid type for n. Expected: number"
                )
            }
            try await runs(server, "needsNumber", ["n": 1])
            try await runs(server, "needsNumber")
        },
        // Requires the parameter `o` to be `a` or `b`.
        CloudScenario(24, "needsOption") { server async throws in
            try await refuses(
                server, "needsOption", ["o": "c"], with: "Validation failed. Invalid option for o. Expected: a, b")
            try await runs(server, "needsOption", ["o": "b"])
        },
        // On saves, `x` is constant with the default 5.
        CloudScenario(25, "Constant") { server async throws in
            let created = try await server.send("POST", "/classes/Constant", ["x": 9])
            #expect(created["x"] == 5)
            let id = try created.string("objectId")
            let updated = try await server.send("PUT", "/classes/Constant/\(id)", ["x": 9])
            #expect(updated["x"] == 5)
            #expect(try await server.send("GET", "/classes/Constant/\(id)")["x"] == 5)
        },
        // Requires the user to have a `nickname`.
        CloudScenario(26, "needsNickname") { server async throws in
            try await refuses(server, "needsNickname", with: "Please login to make this request.")
            let kim = try await server.signUp("nick-kim")
            try await refuses(
                server, "needsNickname", as: .session(kim.token),
                with: "Validation failed. Please set data for nickname on your account.")
        },
        // Limited to two calls per minute and address, including this machine's.
        CloudScenario(0, "twice") { server async throws in
            try await runs(server, "twice")
            try await runs(server, "twice", as: .master)
            try await runs(server, "twice")
            let refused = try await server.send("POST", "/functions/twice", [:])
            #expect(refused.status == 429)
            #expect(refused.json == ["code": 100, "error": "Too many requests."])
            try await runs(server, "twice", as: .master)
            #expect(try await server.send("POST", "/functions/Twice", [:]).code == 141)
            let call: JSONValue = ["method": "POST", "path": "/parse/functions/twice", "body": [:]]
            #expect(try await server.send("POST", "/batch", ["requests": [call]]).status == 429)
        },
        // Saves are limited to one per minute and address, including this machine's, with the error text `slower`.
        CloudScenario(0, "Once") { server async throws in
            let id = try await server.create("Once", ["a": 1])
            for (method, path) in [
                ("POST", "/classes/Once"), ("PUT", "/classes/Once/\(id)"), ("POST", "/Classes/Once"),
            ] {
                let refused = try await server.send(method, path, ["a": 2])
                #expect(refused.status == 429)
                #expect(refused.json == ["code": 100, "error": "slower"])
            }
            // Other requests aren't counted, even if sent as POST.
            #expect(try await server.send("GET", "/classes/Once/\(id)")["a"] == 1)
            #expect(try await server.send("POST", "/classes/Once", ["_method": "GET"]).results.count == 1)
            #expect(try await server.send("POST", "/classes/OnceMore", [:]).status == 201)
            #expect(try await server.send("DELETE", "/classes/Once/\(id)").status == 200)
        },
    ]

    private static func refuses(
        _ server: TestServer, _ function: String, _ params: JSONValue = [:],
        as identity: TestServer.Identity = .anonymous, with error: String
    ) async throws {
        let answer = try await server.send("POST", "/functions/\(function)", params, as: identity)
        #expect(answer.status == 400)
        #expect(answer.json == ["code": 142, "error": .string(error)], "\(function) \(params)")
    }

    private static func runs(
        _ server: TestServer, _ function: String, _ params: JSONValue = [:],
        as identity: TestServer.Identity = .anonymous
    ) async throws {
        let answer = try await server.send("POST", "/functions/\(function)", params, as: identity)
        #expect(answer["result"] == "ran", "\(function) \(params): \(answer.text)")
    }
}
