import JSON
import TestSupport
import Testing

@Suite struct ClassPermissionTests {
    private static let everything: JSONObject = [
        "find": ["*": true], "get": ["*": true], "count": ["*": true], "create": ["*": true], "update": ["*": true],
        "delete": ["*": true], "addField": ["*": true],
    ]

    /// Creates the class `Note`, whose permissions allow everything except as given.
    private static func makeClass(_ server: TestServer, _ changes: JSONObject) async throws {
        let permissions = everything.merging(changes, uniquingKeysWith: { $1 })
        let fields: JSONObject = [
            "text": ["type": "String"], "secret": ["type": "String"],
            "owner": ["type": "Pointer", "targetClass": "_User"], "readers": ["type": "Array"],
        ]
        _ = try await server.send(
            "POST", "/schemas/Note",
            ["className": "Note", "fields": .object(fields), "classLevelPermissions": .object(permissions)], as: .master
        ).succeeded()
    }

    @Test("An operation granted to nobody returns 119 to clients and works with the master key")
    func closed() async throws {
        try await TestServer.run { server in
            try await Self.makeClass(server, ["find": [:], "count": [:], "create": [:], "update": [:], "delete": [:]])
            let kim = try await server.signUp("kim")
            let id = try await server.create("Note", ["text": "x"], as: .master)
            let requests: [(String, String, JSONValue?)] = [
                ("GET", "/classes/Note", nil), ("GET", "/classes/Note?count=1&limit=0", nil),
                ("POST", "/classes/Note", ["text": "y"]), ("PUT", "/classes/Note/\(id)", ["text": "y"]),
                ("DELETE", "/classes/Note/\(id)", nil),
            ]
            for (method, path, body) in requests {
                for identity: TestServer.Identity in [.anonymous, .session(kim.token)] {
                    let answer = try await server.send(method, path, body, as: identity)
                    #expect(answer.status == 400, "\(method) \(path)")
                    #expect(answer.code == 119, "\(method) \(path)")
                    #expect(answer.error == "Permission denied", "\(method) \(path)")
                }
            }
            #expect(try await server.send("GET", "/classes/Note/\(id)").status == 200)
            #expect(try await server.find("Note", as: .master).results.count == 1)
        }
    }

    @Test("Reports a missing find permission before any error in the condition")
    func permissionComesFirst() async throws {
        try await TestServer.run { server in
            try await Self.makeClass(server, ["find": [:], "count": [:]])
            for condition: JSONValue in [
                ["text": ["$in": "x"]], ["text": ["$regex": 1]], ["text": ["$nosuch": 1]], ["$or": "x"],
                ["$nosuch": 1], ["owner": ["$inQuery": ["className": "_User", "where": ["$or": 1]]]], ["secret": "x"],
                ["text": ["$select": [:]]], ["place": ["$nearSphere": "x"]],
            ] {
                for parameters: JSONObject in [["where": condition], ["where": condition, "count": 1, "limit": 0]] {
                    let answer = try await server.find("Note", parameters)
                    #expect(answer.code == 119 && answer.error == "Permission denied", "\(condition): \(answer.text)")
                }
            }
            // A limit of 0 without a count needs no query.
            let nothing = try await server.find("Note", ["where": ["text": ["$in": "x"]], "limit": 0])
            #expect(nothing.json == ["results": []], "\(nothing.text)")
            #expect(try await server.find("_Session", ["limit": 0]).code == 209)
            #expect(try await server.find("_Hooks", ["limit": 0]).code == 119)
            let master = try await server.find("Note", ["where": ["text": ["$in": "x"]]], as: .master)
            #expect(master.code == 107, "\(master.text)")
        }
    }

    @Test("Reports a condition on a protected field before malformed conditions")
    func protectedFieldsComeFirst() async throws {
        try await TestServer.run { server in
            try await Self.makeClass(server, ["protectedFields": ["*": ["secret"]]])
            let malformed: JSONValue = ["$in": "x"]
            for condition: JSONValue in [
                ["secret": "x", "text": malformed], ["text": malformed, "secret.a": 1],
                ["text": malformed, "$or": [["$and": [["secret": "x"]]]]], ["secret": malformed],
                ["$nor": [["text": malformed], ["secret": ["$exists": true]]]],
            ] {
                #expect(try await server.find("Note", ["where": condition]).code == 119, "\(condition)")
                #expect(try await server.find("Note", ["where": condition], as: .master).code == 107, "\(condition)")
            }
            let readable: JSONValue = ["text": malformed, "owner": ["$in": []]]
            #expect(try await server.find("Note", ["where": readable]).code == 107)
        }
    }

    @Test("Disabling enableSanitizedErrorResponse restores detailed permission errors")
    func detailedText() async throws {
        try await TestServer.run(["enableSanitizedErrorResponse": false]) { server in
            try await Self.makeClass(server, ["find": [:]])
            let answer = try await server.send("GET", "/classes/Note")
            #expect(answer.code == 119)
            #expect(answer.error == "Permission denied for action find on class Note.")
        }
    }

    @Test("requiresAuthentication allows every user and rejects anonymous callers with 404 and 101")
    func requiresAuthentication() async throws {
        try await TestServer.run { server in
            try await Self.makeClass(
                server, ["find": ["requiresAuthentication": true], "create": ["requiresAuthentication": true]])
            let kim = try await server.signUp("kim")
            let requests: [(String, JSONValue?)] = [("GET", .none), ("POST", ["text": "x"])]
            for (method, body) in requests {
                let refused = try await server.send(method, "/classes/Note", body)
                #expect(refused.status == 404)
                #expect(refused.code == 101)
                #expect(refused.error == "Permission denied")
                let allowed = try await server.send(method, "/classes/Note", body, as: .session(kim.token))
                #expect([200, 201].contains(allowed.status))
            }
        }
    }

    @Test("Allows the users and role members that a permission names, and nobody else")
    func named() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let lou = try await server.signUp("lou")
            let max = try await server.signUp("max")
            _ = try await server.create(
                "_Role",
                [
                    "name": "Writers", "ACL": ["*": ["read": true]],
                    "users": .operation("AddRelation", [.pointer("_User", lou.id)]),
                ], as: .master)
            try await Self.makeClass(server, ["create": .object([Name(kim.id): true, "role:Writers": true])])
            for token in [kim.token, lou.token] {
                let answer = try await server.send("POST", "/classes/Note", ["text": "x"], as: .session(token))
                #expect(answer.status == 201)
            }
            let refused = try await server.send("POST", "/classes/Note", ["text": "x"], as: .session(max.token))
            #expect(refused.code == 119)
        }
    }

    @Test("Counting by objectId requires the count permission, and finding by objectId the get permission")
    func countsById() async throws {
        try await TestServer.run { server in
            try await Self.makeClass(server, ["find": [:], "get": [:]])
            let id = try await server.create("Note", ["text": "x"])
            let byId: JSONObject = ["where": ["objectId": .string(id)], "count": 1, "limit": 0]
            let counted = try await server.find("Note", byId).succeeded()
            #expect(counted["count"] == 1)
            #expect(try await server.find("Note", byId.merging(["limit": 1], uniquingKeysWith: { $1 })).code == 119)
            _ = try await server.send(
                "PUT", "/schemas/Note", ["classLevelPermissions": ["get": ["*": true]]], as: .master
            ).succeeded()
            #expect(try await server.find("Note", byId).code == 119)
            #expect(try await server.find("Note", ["where": ["objectId": .string(id)]]).results.count == 1)
        }
    }

    @Test("Pointer permissions grant access only to objects that point to the caller")
    func pointerFields() async throws {
        try await TestServer.run { server in
            let rows: JSONValue = ["pointerFields": ["owner", "readers"]]
            try await Self.makeClass(
                server,
                [
                    "find": rows, "get": rows, "count": rows, "update": ["pointerFields": ["owner"]],
                    "delete": ["pointerFields": ["owner"]],
                ])
            let kim = try await server.signUp("kim")
            let lou = try await server.signUp("lou")
            let max = try await server.signUp("max")
            let readers: JSONValue = .array([.pointer("_User", lou.id)])
            let id = try await server.create(
                "Note", ["text": "x", "owner": .pointer("_User", kim.id), "readers": readers])
            let path = "/classes/Note/\(id)"
            for (token, sees, writes) in [(kim.token, true, true), (lou.token, true, false), (max.token, false, false)]
            {
                #expect(try await server.find("Note", as: .session(token)).results.count == (sees ? 1 : 0))
                #expect(try await server.send("GET", path, as: .session(token)).status == (sees ? 200 : 404))
                let written = try await server.send("PUT", path, ["text": "y"], as: .session(token))
                #expect(written.status == (writes ? 200 : 404))
                if !writes { #expect(try await server.send("DELETE", path, as: .session(token)).code == 101) }
            }
            #expect(try await server.find("Note").results.isEmpty)
            #expect(try await server.send("GET", path).code == 101)
            #expect(try await server.send("DELETE", path, as: .session(kim.token)).status == 200)
        }
    }

    @Test("Without the addField permission, only the master key can add fields")
    func addField() async throws {
        try await TestServer.run { server in
            try await Self.makeClass(server, ["addField": [:]])
            let refused = try await server.send("POST", "/classes/Note", ["text": "x", "fresh": 1])
            #expect(refused.status == 400)
            #expect(refused.code == 119)
            #expect(try await server.send("POST", "/classes/Note", ["text": "x"]).status == 201)
            #expect(try await server.send("POST", "/classes/Note", ["fresh": 1], as: .master).status == 201)
        }
    }

    @Test(
        "Reports a denied new field before a wrong type, also if addField is a pointer permission",
        arguments: [[:], ["pointerFields": ["owner"]]] as [JSONValue])
    func wrongTypeBesideNewField(rule: JSONValue) async throws {
        try await TestServer.run { server in
            try await Self.makeClass(server, ["addField": rule])
            let refused = try await server.send("POST", "/classes/Note", ["text": 1, "fresh": 1])
            #expect(refused.code == 119, "\(refused.text)")
            #expect(try await server.send("POST", "/classes/Note", ["text": 1]).code == 111)
        }
    }

    @Test("Protected fields differ for anonymous callers, users, owners and the master key")
    func protectedFields() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let lou = try await server.signUp("lou")
            try await Self.makeClass(
                server,
                [
                    "protectedFields": [
                        "*": ["secret", "text"], "authenticated": ["secret"], "userField:owner": [],
                    ]
                ])
            let id = try await server.create(
                "Note", ["text": "t", "secret": "s", "owner": .pointer("_User", kim.id)], as: .master)
            let foreign = try await server.create("Note", ["text": "t", "secret": "s"], as: .master)
            let path = "/classes/Note/\(foreign)"
            let nobody = try await server.send("GET", path)
            #expect(nobody["text"] == nil)
            #expect(nobody["secret"] == nil)
            let authenticated = try await server.send("GET", path, as: .session(lou.token))
            #expect(authenticated["text"] == "t")
            #expect(authenticated["secret"] == nil)
            let owner = try await server.send("GET", "/classes/Note/\(id)", as: .session(kim.token))
            #expect(owner["secret"] == "s")
            #expect(try await server.send("GET", path, as: .master)["secret"] == "s")
        }
    }

    @Test("Rejects conditions and sorting on a protected field with 119, also in $or and by a path into it")
    func guessing() async throws {
        try await TestServer.run { server in
            try await Self.makeClass(server, ["protectedFields": ["*": ["secret"]]])
            _ = try await server.create("Note", ["secret": "s"], as: .master)
            let parameters: [JSONObject] = [
                ["where": ["secret": "s"]], ["where": ["secret": ["$exists": true]]],
                ["where": ["$or": [["secret": "s"], ["text": "x"]]]],
                ["where": ["$and": [["$nor": [["secret": "s"]]]]]],
                ["where": ["secret.part": "s"]], ["order": "-secret"], ["order": "secret.part"],
            ]
            for parameter in parameters {
                let answer = try await server.find("Note", parameter)
                #expect(answer.status == 400, "\(parameter)")
                #expect(answer.code == 119, "\(parameter)")
            }
            #expect(try await server.find("Note", ["where": ["secret": "s"]], as: .master).results.count == 1)
        }
    }

    @Test("With allowClientClassCreation off, clients can't create classes; they can't read internal ones")
    func classCreation() async throws {
        try await TestServer.run(["allowClientClassCreation": false]) { server in
            let created = try await server.send("POST", "/classes/Fresh", ["a": 1])
            #expect(created.status == 400)
            #expect(created.code == 119)
            #expect(try await server.send("POST", "/classes/Fresh", ["a": 1], as: .master).status == 201)
            #expect(try await server.send("POST", "/classes/Fresh", ["a": 1]).status == 201)
            for name in ["_Hooks", "_GlobalConfig", "_JobStatus", "_PushStatus", "_Idempotency", "_Audience"] {
                #expect(try await server.send("GET", "/classes/\(name)").code == 119, "\(name)")
            }
        }
    }
}
