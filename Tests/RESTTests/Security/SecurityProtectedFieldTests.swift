import JSON
import TestSupport
import Testing

/// Advisories of class C: a protected field can't be read, and no response depends on its value.
@Suite struct SecurityProtectedFieldTests {
    /// Creates the class `Person` with two people. Only the master key can read `secret` and `vault`.
    private static func makePeople(_ server: TestServer) async throws -> String {
        let open: JSONValue = ["*": true]
        _ = try await server.send(
            "POST", "/schemas/Person",
            [
                "className": "Person",
                "fields": ["name": ["type": "String"], "secret": ["type": "String"], "vault": ["type": "Object"]],
                "classLevelPermissions": [
                    "find": open, "get": open, "count": open, "create": open, "update": open, "delete": open,
                    "addField": open, "protectedFields": ["*": ["secret", "vault"]],
                ],
            ], as: .master
        ).succeeded()
        _ = try await server.create("Person", ["name": "a", "secret": "s-one", "vault": ["pin": "1111"]], as: .master)
        return try await server.create(
            "Person", ["name": "b", "secret": "s-two", "vault": ["pin": "2222"]], as: .master)
    }

    private static func expectHidden(
        _ answer: TestAnswer, _ what: String, location: SourceLocation = #_sourceLocation
    ) {
        for word in ["s-one", "s-two", "1111", "2222"] {
            #expect(!answer.text.contains(word), "\(what): \(answer.text)", sourceLocation: location)
        }
    }

    @Test("GHSA-mmg8-87c5-jrc2: omits protected fields from every response")
    func reading() async throws {
        try await TestServer.run { server in
            let id = try await Self.makePeople(server)
            let kim = try await server.signUp("kim")
            let friend = try await server.create("Friend", ["person": .pointer("Person", id), "tags": ["x"]])
            let paths = [
                "/classes/Person", "/classes/Person/\(id)", "/classes/Person?keys=secret,vault.pin",
                "/classes/Person/\(id)?keys=secret", "/classes/Person?excludeKeys=name",
                "/classes/Friend?include=person",
                "/classes/Friend/\(friend)?include=person.vault", "/classes/Friend?includeAll=true",
                "/classes/Friend?keys=person.secret,person.vault", "/classes/Friend?redirectClassNameForKey=person",
            ]
            for path in paths {
                for identity: TestServer.Identity in [.anonymous, .session(kim.token)] {
                    let answer = try await server.send("GET", path, as: identity)
                    #expect(answer.status == 200, "\(path): \(answer.text)")
                    Self.expectHidden(answer, path)
                }
                let calls: JSONValue = ["requests": [SecurityProbe.call("GET", path)]]
                Self.expectHidden(try await server.send("POST", "/batch", calls), "batch \(path)")
            }
            let master = try await server.send("GET", "/classes/Person/\(id)", as: .master)
            #expect(master["secret"] == "s-two")
        }
    }

    private static let conditions: [JSONValue] = [
        ["secret": "s-two"], ["secret": ["$regex": "^s"]], ["secret": ["$exists": true]],
        ["secret": ["$in": ["s-two"]]],
        ["secret": ["$ne": "x"]], ["secret": ["$gt": "a"]], ["vault": ["pin": "2222"]], ["vault.pin": "2222"],
        ["vault.pin": ["$regex": "^2"]], ["$or": [["secret": "s-two"], ["name": "x"]]],
        ["$and": [["name": "b"], ["secret": "s-two"]]], ["$nor": [["secret": "s-two"]]],
        ["$or": [["$and": [["$nor": [["vault.pin": "1111"]]]]]]], ["name": "b", "secret": "s-two"],
    ]

    @Test("GHSA-72hp-qff8-4pvv, GHSA-r2m8-pxm9-9c4g: rejects any condition on a protected field with 119")
    func filtering() async throws {
        try await TestServer.run { server in
            let id = try await Self.makePeople(server)
            let kim = try await server.signUp("kim")
            _ = try await server.create("Friend", ["person": .pointer("Person", id), "text": "s-two"])
            for condition in Self.conditions {
                let inner: JSONValue = ["className": "Person", "where": condition]
                let requests: [(String, JSONObject)] = [
                    ("Person", ["where": condition]), ("Person", ["where": condition, "count": 1, "limit": 0]),
                    ("Person", ["where": condition, "keys": "name"]),
                    ("Friend", ["where": ["person": ["$inQuery": inner]]]),
                    ("Friend", ["where": ["person": ["$notInQuery": inner]]]),
                    ("Friend", ["where": ["$or": [["person": ["$inQuery": inner]], ["text": "x"]]]]),
                    ("Friend", ["where": ["text": ["$select": ["query": inner, "key": "name"]]]]),
                    ("Friend", ["where": condition, "redirectClassNameForKey": "person"]),
                ]
                for (className, parameters) in requests {
                    for identity: TestServer.Identity in [.anonymous, .session(kim.token)] {
                        let answer = try await server.find(className, parameters, as: identity)
                        SecurityProbe.expectRefused(answer, 119, "\(className) \(parameters)")
                        #expect(answer.error == "Permission denied", "\(parameters)")
                    }
                }
            }
        }
    }

    @Test("GHSA-r2m8-pxm9-9c4g: rejects sorting, selecting and aggregating by a protected field")
    func ordering() async throws {
        try await TestServer.run { server in
            let id = try await Self.makePeople(server)
            _ = try await server.create("Friend", ["person": .pointer("Person", id), "text": "s-two"])
            for order in ["secret", "-secret", "vault.pin", "-vault.pin", "name,secret"] {
                SecurityProbe.expectRefused(try await server.find("Person", ["order": .string(order)]), 119, order)
                let inner: JSONValue = [
                    "className": "Person", "where": [:], "order": .string(order), "limit": 1,
                ]
                let nested = try await server.find("Friend", ["where": ["person": ["$inQuery": inner]]])
                SecurityProbe.expectRefused(nested, 119, "inner \(order)")
            }
            for key in ["secret", "vault.pin", "vault"] {
                for name in ["$select", "$dontSelect"] {
                    let query: JSONValue = [
                        "query": ["className": "Person", "where": [:]], "key": .string(key),
                    ]
                    let answer = try await server.find("Friend", ["where": ["text": .object([Name(name): query])]])
                    SecurityProbe.expectRefused(answer, 119, "\(name) \(key)")
                }
            }
            let aggregated = try await server.send("GET", "/aggregate/Person?distinct=secret")
            #expect(aggregated.status == 403)
            Self.expectHidden(aggregated, "aggregate")
        }
    }

    @Test("GHSA-mmg8-87c5-jrc2: rejects array-like objects where operators require a list")
    func arrayLike() async throws {
        try await TestServer.run { server in
            _ = try await Self.makePeople(server)
            let leaf: JSONValue = ["secret": ["$regex": "^s"]]
            for name in ["$or", "$and", "$nor"] {
                for value: JSONValue in [["0": leaf, "length": 1], ["length": 1], "x", 1, .null, true, leaf] {
                    let answer = try await server.find("Person", ["where": .object([Name(name): value])])
                    SecurityProbe.expectRefused(answer, 102, "\(name) \(value)")
                }
            }
            let negated = try await server.find("Person", ["where": ["secret": ["$not": ["$regex": "^s"]]]])
            SecurityProbe.expectRefused(negated, 119, "$not")
        }
    }

    @Test("GHSA-37mj-c2wf-cx96, GHSA-wp76-gg32-8258: clients can't read or query another user's authData")
    func loginData() async throws {
        try await TestServer.run { server in
            let body: JSONValue = ["username": "kim", "authData": ["anonymous": ["id": "device-secret"]]]
            let kim = try await server.send("POST", "/users", body).succeeded().string("objectId")
            let lou = try await server.signUp("lou")
            _ = try await server.create("Friend", ["user": .pointer("_User", kim)])
            for identity: TestServer.Identity in [.anonymous, .session(lou.token)] {
                for path in [
                    "/users/\(kim)", "/users", "/classes/_User/\(kim)?keys=authData", "/classes/Friend?include=user",
                    "/classes/Friend?keys=user.authData", "/classes/Friend?redirectClassNameForKey=user",
                ] {
                    let answer = try await server.send("GET", path, as: identity)
                    #expect(answer.status == 200, "\(path)")
                    #expect(!answer.text.contains("device-secret"), "\(path): \(answer.text)")
                }
                for condition: JSONValue in [
                    ["authData.anonymous.id": "device-secret"], ["authData": ["$exists": true]],
                    ["$or": [["authData.anonymous.id": ["$regex": "^d"]]]],
                ] {
                    let answer = try await server.find("_User", ["where": condition], as: identity)
                    SecurityProbe.expectRefused(answer, 119, "\(condition)")
                }
                let order = try await server.find("_User", ["order": "authData.anonymous.id"], as: identity)
                SecurityProbe.expectRefused(order, 119, "order")
            }
            for path in ["/login", "/verifyPassword"] {
                let answer = try await server.send("POST", path, ["username": "lou", "password": "secret"])
                #expect(answer.status == 200)
                #expect(!answer.text.contains("device-secret"))
                #expect(answer["_hashed_password"] == nil && answer["password"] == nil)
            }
        }
    }

    @Test("GHSA-75v4-m273-5j49: a log-in returns no user fields that class-level permissions deny")
    func loginWithoutGet() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim", ["email": "kim@example.com", "note": "private"])
            _ = try await server.send(
                "PUT", "/schemas/_User", ["classLevelPermissions": ["get": [:], "find": [:]]], as: .master
            ).succeeded()
            for path in ["/login", "/verifyPassword"] {
                let answer = try await server.send("POST", path, ["username": "kim", "password": "secret"])
                #expect(answer.status == 200, "\(answer.text)")
                #expect(answer["objectId"]?.stringValue == kim.id)
                #expect(answer["email"] == nil && answer["note"] == nil && answer["authData"] == nil, "\(answer.text)")
            }
        }
    }

    @Test("GHSA-g4v2-qx3q-4p64: session routes omit the protected fields of sessions")
    func currentSession() async throws {
        try await TestServer.run(["protectedFields": ["_Session": ["*": ["createdWith"]]]]) { server in
            let kim = try await server.signUp("kim")
            for path in ["/sessions", "/sessions/me", "/classes/_Session"] {
                let answer = try await server.send("GET", path, as: .session(kim.token))
                #expect(answer.status == 200, "\(path)")
                #expect(answer.text.contains(kim.id), "\(path)")
                #expect(!answer.text.contains("createdWith"), "\(path): \(answer.text)")
            }
        }
    }
}
