import JSON
import TestSupport
import Testing

/// Advisories of class E: access to classes by key and route.
@Suite struct SecurityAccessTests {
    private static let masterOnly = [
        "_JobStatus", "_PushStatus", "_Hooks", "_GlobalConfig", "_GraphQLConfig", "_JobSchedule", "_Audience",
        "_Idempotency", "_Join:users:_Role", "_Join:roles:_Role",
    ]

    @Test("GHSA-5f92-jrq3-28rc, GHSA-7xg7-rqf6-pw6c: clients can't access internal classes by any method")
    func internalClasses() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let role = try await server.create("_Role", ["name": "Crew", "ACL": ["*": ["read": true]]], as: .master)
            let body: JSONValue = ["relatedId": .string(kim.id), "owningId": .string(role), "name": "x"]
            for className in Self.masterOnly {
                let requests: [(String, String, JSONValue?)] = [
                    ("GET", "", nil), ("GET", "/x", nil), ("GET", "?count=1&limit=0", nil), ("POST", "", body),
                    ("PUT", "/x", body), ("DELETE", "/x", nil),
                ]
                for (method, rest, body) in requests {
                    for identity: TestServer.Identity in [.anonymous, .session(kim.token)] {
                        let path = "/classes/\(className)\(rest)"
                        SecurityProbe.expectRefused(
                            try await server.send(method, path, body, as: identity), 119, "\(method) \(path)")
                    }
                }
                let inner: JSONValue = ["$inQuery": ["className": .string(className), "where": [:]]]
                let nested = try await server.find("_User", ["where": ["username": inner]], as: .session(kim.token))
                SecurityProbe.expectRefused(nested, 119, "inner \(className)")
            }
            let crew: JSONValue = ["users": .pointer("_User", kim.id)]
            #expect(try await server.find("_Role", ["where": crew], as: .master).results.isEmpty)
        }
    }

    @Test("GHSA-fcv6-fg5r-jm9q, GHSA-6r2j-cxgf-495f: pointers expose no internal class and no other user's session")
    func pointers() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let lou = try await server.signUp("lou")
            let session = try await server.send("GET", "/sessions/me", as: .session(lou.token)).string("objectId")
            let audience = try await server.send(
                "POST", "/push_audiences", ["name": "hidden-crowd", "query": "{}"], as: .master
            ).succeeded().string("objectId")
            _ = try await server.create(
                "Link",
                [
                    "session": .pointer("_Session", session), "audience": .pointer("_Audience", audience),
                    "list": [.pointer("_Session", session)],
                ])
            for parameters: JSONObject in [
                ["include": "session"], ["include": "audience"], ["include": "list"], ["include": "session.user"],
                ["includeAll": true], ["redirectClassNameForKey": "session"], ["redirectClassNameForKey": "audience"],
                ["keys": "session.sessionToken,audience.name"],
            ] {
                for identity: TestServer.Identity in [.anonymous, .session(kim.token)] {
                    let answer = try await server.find("Link", parameters, as: identity)
                    SecurityProbe.expectHarmless(answer, "\(parameters)")
                    #expect(!answer.text.contains(lou.token), "\(parameters): \(answer.text)")
                    #expect(!answer.text.contains("hidden-crowd"), "\(parameters): \(answer.text)")
                }
            }
            let inner: JSONValue = [
                "$inQuery": ["className": "_Session", "where": ["sessionToken": ["$regex": "^r:"]]]
            ]
            let oracle = try await server.find("Link", ["where": ["session": inner]], as: .session(kim.token))
            #expect(oracle.results.isEmpty, "\(oracle.text)")
        }
    }

    @Test("GHSA-fcv6-fg5r-jm9q: the relation of a hidden owner matches nothing, also in a subquery")
    func relations() async throws {
        try await TestServer.run { server in
            let song = try await server.create("Song", ["title": "alpha"])
            let owner = try await server.create(
                "List", ["ACL": [:], "songs": .operation("AddRelation", [.pointer("Song", song)])], as: .master)
            _ = try await server.create("Play", ["song": .pointer("Song", song)])
            let related: JSONValue = ["$relatedTo": ["object": .pointer("List", owner), "key": "songs"]]
            let inner: JSONValue = ["$inQuery": ["className": "Song", "where": related]]
            let queries: [(String, JSONValue)] = [
                ("Song", related), ("Song", ["$or": [related, ["title": "none"]]]), ("Play", ["song": inner]),
            ]
            for (className, condition) in queries {
                let found = try await server.find(className, ["where": condition])
                #expect(found.results.isEmpty, "\(condition): \(found.text)")
                let master = try await server.find(className, ["where": condition], as: .master)
                #expect(master.results.count == 1, "\(condition): \(master.text)")
            }
        }
    }

    @Test("GHSA-8xq9-g7ch-35hg: rejects a user whose id reads as a role")
    func roleIds() async throws {
        try await TestServer.run(["allowCustomObjectId": true]) { server in
            let note = try await server.create("Note", ["ACL": ["role:admin": ["read": true]]], as: .master)
            for path in ["/users", "/classes/_User"] {
                let body: JSONValue = ["objectId": "role:admin", "username": "eve", "password": "x"]
                let answer = try await server.send("POST", path, body)
                SecurityProbe.expectRefused(answer, 119, path)
                #expect(answer["sessionToken"] == nil)
            }
            #expect(try await server.send("GET", "/classes/Note/\(note)").status == 404)
            #expect(try await server.send("GET", "/users", as: .master).results.isEmpty)
        }
    }

    @Test("GHSA-p49q-9w65-f9p7: a rejected update or deletion reveals nothing about the user")
    func foreignUsers() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim", ["email": "kim@example.com"])
            let lou = try await server.signUp("lou")
            let bodies: [JSONValue] = [
                ["note": "x"], ["password": "new"], ["username": "kim"], ["email": "kim@example.com"],
                ["authData": ["anonymous": ["id": "a"]]], ["emailVerified": true], ["ACL": ["*": ["write": true]]],
            ]
            for identity: TestServer.Identity in [.anonymous, .session(lou.token)] {
                for body in bodies {
                    let known = try await server.send("PUT", "/users/\(kim.id)", body, as: identity)
                    let unknown = try await server.send("PUT", "/users/unknown", body, as: identity)
                    SecurityProbe.expectRefused(known, 206, "\(body)")
                    #expect(known.text == unknown.text, "\(body)")
                }
                let known = try await server.send("DELETE", "/users/\(kim.id)", as: identity)
                SecurityProbe.expectRefused(known, 206, "DELETE")
                let unknown = try await server.send("DELETE", "/users/unknown", as: identity)
                #expect(known.text == unknown.text)
            }
            let login = try await server.send("POST", "/login", ["username": "kim", "password": "secret"])
            #expect(login.status == 200)
        }
    }

    @Test("GHSA-23r4-5mxp-c7g5: an anonymous user's session has the authProvider anonymous")
    func anonymousSession() async throws {
        try await TestServer.run { server in
            let token = try await server.send("POST", "/users", ["authData": ["anonymous": ["id": "a1"]]])
                .string("sessionToken")
            let session = try await server.send("GET", "/sessions/me", as: .session(token))
            #expect(session["createdWith"]?["authProvider"] == "anonymous", "\(session.text)")
        }
    }

    /// Aggregations that try to read session tokens, of users and of their posts.
    private static let tokenReaders: [(String, JSONValue)] = [
        ("_User", [["$limit": 1]]), ("_User", [["$project": ["x": "$sessionToken"]]]),
        ("_User", [["$project": ["x": ["$concat": ["$sessionToken", "!"]]]]]),
        ("_User", [["$project": ["x": "$$ROOT"]]]), ("_User", [["$group": ["_id": "$sessionToken"]]]),
        ("_User", [["$group": ["_id": .null, "x": ["$push": "$$ROOT"]]]]),
        ("_User", [["$group": ["_id": .null, "x": ["$max": "$sessionToken"]]]]),
        ("_User", [["$sortByCount": "$sessionToken"]]), ("_User", [["$unwind": "$sessionToken"]]),
        ("_User", [["$sort": ["sessionToken": 1]], ["$replaceRoot": ["newRoot": ["x": "$sessionToken"]]]]),
        (
            "Post",
            [["$lookup": ["from": "_User", "localField": "author", "foreignField": "_id", "as": "x"]]]
        ),
        (
            "Post",
            [["$lookup": ["from": "_User", "as": "x", "pipeline": [["$project": ["y": "$sessionToken"]]]]]]
        ),
    ]

    @Test("A sessionToken field from early versions is never returned and matches no query")
    func tokensOfEarlyVersions() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let field: JSONValue = ["fields": ["sessionToken": ["type": "String"]]]
            _ = try await server.send("PUT", "/schemas/_User", field, as: .master).succeeded()
            try await server.execute("UPDATE \"_User\" SET \"sessionToken\" = 'r:early'")
            _ = try await server.create("Post", ["author": .pointer("_User", kim.id), "guess": "r:early"])
            for path in ["/users", "/users/\(kim.id)", "/classes/Post?include=author&excludeKeys=guess"] {
                for sender in [TestServer.Identity.session(kim.token), .master] {
                    let answer = try await server.send("GET", path, as: sender)
                    #expect(answer.status == 200 && !answer.text.contains("r:early"), "\(path): \(answer.text)")
                }
            }
            for (className, pipeline) in Self.tokenReaders {
                let shown: JSONValue = .array((pipeline.arrayValue ?? []) + [["$unset": "guess"]])
                let answer = try await Sales.aggregate(server, shown, className)
                #expect(answer.status == 200, "\(pipeline): \(answer.text)")
                #expect(!answer.text.contains("r:early"), "\(pipeline): \(answer.text)")
            }
            let users: JSONValue = ["sessionToken": ["$regex": "^r:"]]
            let inner: JSONValue = ["author": ["$inQuery": ["className": "_User", "where": users]]]
            let joined: JSONValue = [
                "$lookup": ["from": "_User", "localField": "guess", "foreignField": "sessionToken", "as": "x"]
            ]
            for (className, pipeline) in [
                ("_User", [["$match": users]]),
                ("_User", [["$match": ["$expr": ["$eq": ["$sessionToken", "r:early"]]]]]),
                ("Post", [["$match": inner]]), ("Post", [joined, ["$unwind": "$x"]]),
            ] as [(String, JSONValue)] {
                let answer = try await Sales.aggregate(server, pipeline, className)
                #expect(answer.status == 200 && answer.results.isEmpty, "\(pipeline): \(answer.text)")
            }
            for body: JSONObject in [["distinct": "sessionToken"], ["distinct": "username", "where": users]] {
                let parameters = body.merging(["_method": "GET"]) { $1 }
                let answer = try await server.send("POST", "/aggregate/_User", .object(parameters), as: .master)
                #expect(answer.json == ["results": []], "\(body): \(answer.text)")
            }
        }
    }
}
