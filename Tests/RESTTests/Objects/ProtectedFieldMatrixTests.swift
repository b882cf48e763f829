import JSON
import TestSupport
import Testing

/// The visibility of protected fields in every kind of read.
@Suite struct ProtectedFieldMatrixTests {
    private static let open: JSONObject = [
        "find": ["*": true], "get": ["*": true], "count": ["*": true], "create": ["*": true], "update": ["*": true],
        "delete": ["*": true], "addField": ["*": true],
    ]

    /// The columns of the table: no session, the user in the object's pointer, a member of `Staff`, a user in the
    /// object's list.
    private static let callers = ["nobody", "owner", "member", "listed"]

    /// Protected fields (`OWNER` stands for the owner's id), and the fields among `s` and `t` that each caller sees.
    private static let sets: [(JSONObject, [String])] = [
        (["*": []], ["st", "st", "st", "st"]),
        (["*": ["s"]], ["t", "t", "t", "t"]),
        (["*": ["s", "t"]], ["", "", "", ""]),
        (["authenticated": ["s"]], ["st", "t", "t", "t"]),
        (["*": ["s", "t"], "authenticated": ["s"]], ["", "t", "t", "t"]),
        (["*": ["s", "t"], "authenticated": []], ["", "st", "st", "st"]),
        (["*": ["s"], "authenticated": ["t"]], ["t", "st", "st", "st"]),
        (["role:Staff": ["s", "t"]], ["st", "st", "", "st"]),
        (["*": ["s", "t"], "role:Staff": ["t"]], ["", "", "s", ""]),
        (["*": ["s", "t"], "role:Staff": ["t"], "authenticated": ["s"]], ["", "t", "st", "t"]),
        (["*": ["s", "t"], "role:Nosuch": []], ["", "", "", ""]),
        (["*": ["s", "t"], "OWNER": []], ["", "st", "", ""]),
        (["*": ["s", "t"], "OWNER": ["s"], "authenticated": ["s", "t"]], ["", "t", "", ""]),
        (["*": ["s", "t"], "userField:owner": []], ["", "st", "", ""]),
        (["*": ["s", "t"], "userField:owner": ["t"]], ["", "s", "", ""]),
        (["*": ["s", "t"], "userField:list": ["s"]], ["", "", "", "t"]),
        (["*": ["s", "t"], "userField:owner": ["s"], "userField:list": ["t"]], ["", "t", "", "s"]),
        (["*": ["s", "t"], "authenticated": ["s"], "userField:list": ["t"]], ["", "t", "t", "st"]),
        (["*": ["s"], "userField:owner": ["t"]], ["t", "st", "t", "t"]),
    ]

    private struct Setting {
        let server: TestServer
        var identities: [TestServer.Identity] = [.anonymous]
        var ids: [String] = [""]
        var person = ""
        var friend = ""

        init(_ server: TestServer) async throws {
            self.server = server
            for name in ProtectedFieldMatrixTests.callers.dropFirst() {
                let user = try await server.signUp(name)
                identities.append(.session(user.token))
                ids.append(user.id)
            }
            _ = try await server.create(
                "_Role",
                [
                    "name": "Staff", "ACL": [:], "users": .operation("AddRelation", [.pointer("_User", ids[2])]),
                ], as: .master)
            let fields: JSONObject = [
                "name": ["type": "String"], "s": ["type": "String"], "t": ["type": "Object"],
                "owner": ["type": "Pointer", "targetClass": "_User"], "list": ["type": "Array"],
            ]
            _ = try await server.send("POST", "/schemas/Person", ["fields": .object(fields)], as: .master).succeeded()
            person = try await server.create(
                "Person",
                [
                    "name": "n", "s": "secret", "t": ["pin": 1], "owner": .pointer("_User", ids[1]),
                    "list": .array([.pointer("_User", ids[3])]),
                ], as: .master)
            friend = try await server.create(
                "Friend",
                [
                    "person": .pointer("Person", person), "people": .array([.pointer("Person", person)]),
                    "crowd": .operation("AddRelation", [.pointer("Person", person)]), "text": "secret",
                ], as: .master)
        }

        func protect(_ sets: JSONObject) async throws {
            var fields: JSONObject = [:]
            for (entity, names) in sets { fields[entity == "OWNER" ? Name(ids[1]) : entity] = names }
            var permissions = ProtectedFieldMatrixTests.open
            permissions["protectedFields"] = .object(fields)
            _ = try await server.send(
                "PUT", "/schemas/Person", ["classLevelPermissions": .object(permissions)], as: .master
            ).succeeded()
        }

        func readings(as identity: TestServer.Identity) async throws -> [(String, JSONValue?)] {
            var readings: [(String, JSONValue?)] = []
            for path in [
                "/classes/Person/\(person)", "/classes/Person/\(person)?keys=s,t",
                "/classes/Person/\(person)?excludeKeys=name",
                "/classes/Person/\(person)?include=owner", "/classes/Person/\(person)?keys=name,s,t.pin",
            ] { readings.append((path, try await server.send("GET", path, as: identity).succeeded().json)) }
            for path in [
                "/classes/Person", "/classes/Person?keys=s,t", "/classes/Person?excludeKeys=owner,list",
                "/classes/Person?order=name", "/classes/Friend?redirectClassNameForKey=person",
            ] { readings.append((path, try await server.send("GET", path, as: identity).succeeded().results.first)) }
            for path in [
                "/classes/Friend?include=person", "/classes/Friend?includeAll=1",
                "/classes/Friend?keys=person.s,person.t",
                "/classes/Friend?include=person.owner",
            ] {
                let found = try await server.send("GET", path, as: identity).succeeded()
                readings.append((path, found.results.first?["person"]))
            }
            let listed = try await server.send("GET", "/classes/Friend/\(friend)?include=people", as: identity)
                .succeeded()
            readings.append(("people", listed["people"]?.arrayValue?.first))
            let related = try await server.find(
                "Person", ["where": ["$relatedTo": ["object": .pointer("Friend", friend), "key": "crowd"]]],
                as: identity)
            readings.append(("crowd", related.results.first))
            let calls: JSONValue = ["requests": [SecurityProbe.call("GET", "/classes/Person/\(person)")]]
            let batch = try await server.send("POST", "/batch", calls, as: identity).succeeded()
            readings.append(("batch", batch.json.arrayValue?.first?["success"]))
            return readings
        }
    }

    @Test("Every kind of read hides a field if all protected-field sets that apply to the caller contain it")
    func reading() async throws {
        try await TestServer.run { server in
            let setting = try await Setting(server)
            for (sets, visible) in Self.sets {
                try await setting.protect(sets)
                for (caller, expected) in visible.enumerated() {
                    for (way, object) in try await setting.readings(as: setting.identities[caller]) {
                        let seen = ["s", "t"].filter { object?[$0] != nil }.joined()
                        #expect(seen == expected, "\(sets) \(Self.callers[caller]) \(way): \(object ?? .null)")
                        #expect(object?["objectId"]?.stringValue == setting.person, "\(way)")
                    }
                }
                #expect(try await server.send("GET", "/classes/Person/\(setting.person)", as: .master)["s"] != nil)
            }
        }
    }

    @Test("Only callers who can see a field can filter, count, sort or select by it")
    func asking() async throws {
        try await TestServer.run { server in
            let setting = try await Setting(server)
            // Rules that depend on the object can't apply to a query, so they are ignored for it.
            for (sets, visible) in Self.sets where !sets.keys.contains(where: { $0.hasPrefix("userField:") }) {
                try await setting.protect(sets)
                let inner: JSONValue = ["className": "Person", "where": ["s": "secret"]]
                let selection: JSONValue = ["query": ["className": "Person", "where": [:]], "key": "s"]
                let requests: [(String, JSONObject)] = [
                    ("Person", ["where": ["s": "secret"]]),
                    ("Person", ["where": ["s": "secret"], "count": 1, "limit": 0]),
                    ("Person", ["order": "s"]), ("Friend", ["where": ["person": ["$inQuery": inner]]]),
                    ("Friend", ["where": ["text": ["$select": selection]]]),
                ]
                for (caller, expected) in visible.enumerated() {
                    for (className, parameters) in requests {
                        let answer = try await server.find(className, parameters, as: setting.identities[caller])
                        if expected.contains("s") {
                            #expect(
                                answer.status == 200, "\(sets) \(Self.callers[caller]) \(parameters): \(answer.text)")
                            #expect(answer["count"] == 1 || answer.results.count == 1, "\(parameters): \(answer.text)")
                        } else {
                            SecurityProbe.expectRefused(answer, 119, "\(sets) \(Self.callers[caller]) \(parameters)")
                        }
                    }
                }
            }
        }
    }

    @Test(
        "Save responses show hidden protected fields only with protectedFieldsSaveResponseExempt",
        arguments: [true, false])
    func saving(isExempt: Bool) async throws {
        try await TestServer.run(["protectedFieldsSaveResponseExempt": .bool(isExempt)]) { server in
            let kim = try await server.signUp("kim")
            let fields: JSONObject = [
                "hits": ["type": "Number"], "open": ["type": "Number"],
                "owner": ["type": "Pointer", "targetClass": "_User"],
                "code": ["type": "String", "defaultValue": "c-1"],
            ]
            var permissions = Self.open
            permissions["protectedFields"] = ["*": ["hits", "code"], "userField:owner": []]
            _ = try await server.send(
                "POST", "/schemas/Page",
                ["fields": .object(fields), "classLevelPermissions": .object(permissions)], as: .master
            ).succeeded()
            let created = try await server.send("POST", "/classes/Page", ["open": 1]).succeeded()
            #expect((created["code"] == "c-1") == isExempt, "\(created.text)")
            let change: JSONValue = ["hits": .increment(1), "open": .increment(1)]
            let path = "/classes/Page/\(try created.string("objectId"))"
            let changed = try await server.send("PUT", path, change).succeeded()
            #expect(changed["open"] == 2)
            #expect(changed["updatedAt"] != nil)
            #expect((changed["hits"] == 1) == isExempt, "\(changed.text)")
            let batch = try await server.send(
                "POST", "/batch",
                [
                    "requests": [
                        SecurityProbe.call("POST", "/classes/Page", ["open": 1]),
                        SecurityProbe.call("POST", "/classes/Page", ["open": 2]),
                    ]
                ]
            ).succeeded()
            for element in batch.json.arrayValue ?? [] {
                #expect(element["success"]?["objectId"] != nil)
                #expect((element["success"]?["code"] != nil) == isExempt, "\(batch.text)")
            }
            let own = try await server.create("Page", ["owner": .pointer("_User", kim.id)], as: .master)
            let counted = try await server.send("PUT", "/classes/Page/\(own)", change, as: .session(kim.token))
                .succeeded()
            #expect(counted["hits"] == 1)
            #expect(try await server.send("PUT", path, change, as: .master)["hits"] == 2)
        }
    }

    @Test("Users see their own protected fields only with protectedFieldsOwnerExempt", arguments: [true, false])
    func ownRecord(isExempt: Bool) async throws {
        let options: JSONObject = [
            "protectedFieldsOwnerExempt": .bool(isExempt), "protectedFields": ["_User": ["*": ["phone"]]],
        ]
        try await TestServer.run(options) { server in
            let kim = try await server.signUp("kim", ["email": "kim@example.com", "phone": "call 555", "city": "Bonn"])
            let identity = TestServer.Identity.session(kim.token)
            _ = try await server.create("Friend", ["user": .pointer("_User", kim.id)])
            let found: [(String, JSONValue?)] = [
                ("me", try await server.send("GET", "/users/me", as: identity).json),
                ("get", try await server.send("GET", "/users/\(kim.id)", as: identity).json),
                ("class", try await server.send("GET", "/classes/_User/\(kim.id)", as: identity).json),
                ("find", try await server.find("_User", as: identity).results.first),
                (
                    "by id",
                    try await server.find("_User", ["where": ["objectId": .string(kim.id)]], as: identity).results.first
                ),
                (
                    "include",
                    try await server.send("GET", "/classes/Friend?include=user", as: identity).results.first?["user"]
                ),
                ("session", try await server.send("GET", "/sessions/me?include=user", as: identity).json["user"]),
                ("login", try await server.send("POST", "/login", ["username": "kim", "password": "secret"]).json),
                (
                    "verify",
                    try await server.send("POST", "/verifyPassword", ["username": "kim", "password": "secret"]).json
                ),
            ]
            for (way, record) in found where way != "session" {
                #expect(record?["city"] == "Bonn", "\(way): \(record ?? .null)")
                #expect((record?["phone"] == "call 555") == isExempt, "\(way): \(record ?? .null)")
                #expect((record?["email"] == "kim@example.com") == isExempt, "\(way): \(record ?? .null)")
            }
            let strangers = try await server.find("_User")
            #expect(strangers.results.first?["phone"] == nil)
            #expect(strangers.results.first?["city"] == "Bonn")
            #expect(!(try await server.send("GET", "/sessions/me", as: identity).text.contains("call 555")))
        }
    }
}
