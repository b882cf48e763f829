import JSON
import TestSupport
import Testing

/// Responses whose format differs between presets 9 and 7.
@Suite struct PresetShapeTests {
    private static func run(
        _ preset: Int, _ options: JSONObject = [:], _ body: @escaping @Sendable (TestServer) async throws -> Void
    )
        async throws
    {
        try await TestServer.run(options.merging(["preset": .number(Double(preset))], uniquingKeysWith: { $1 }), body)
    }

    @Test("users/me includes __type and className with preset 7 only", arguments: [9, 7])
    func ownRecord(preset: Int) async throws {
        try await Self.run(preset) { server in
            let kim = try await server.signUp("kim")
            let me = try await server.send("GET", "/users/me", as: .session(kim.token)).succeeded()
            #expect((me["__type"] == "Object") == (preset == 7))
            #expect((me["className"] == "_User") == (preset == 7))
            #expect(me["sessionToken"]?.stringValue == kim.token)
        }
    }

    @Test("With preset 9 only, a log-in returns just the fields that the user can read", arguments: [9, 7])
    func login(preset: Int) async throws {
        try await Self.run(preset) { server in
            let kim = try await server.signUp("kim", ["note": "n"])
            _ = try await server.send(
                "PUT", "/schemas/_User", ["classLevelPermissions": ["find": [:], "get": [:]]], as: .master
            ).succeeded()
            for path in ["/login", "/verifyPassword"] {
                let answer = try await server.send("POST", path, ["username": "kim", "password": "secret"]).succeeded()
                #expect(answer["objectId"]?.stringValue == kim.id)
                #expect((answer["note"] == "n") == (preset == 7), "\(path): \(answer.text)")
                #expect((answer["sessionToken"] != nil) == (path == "/login"))
            }
        }
    }

    @Test("A master-key sign-up creates a session with preset 7, or with an installation id", arguments: [9, 7])
    func masterSignUp(preset: Int) async throws {
        try await Self.run(preset) { server in
            let plain = try await server.send("POST", "/users", ["username": "kim", "password": "x"], as: .master)
                .succeeded()
            #expect((plain["sessionToken"] != nil) == (preset == 7))
            let installed = try await server.send(
                "POST", "/users", ["username": "lou", "password": "x"], as: .master,
                headers: ["X-Parse-Installation-Id": "i"]
            ).succeeded()
            #expect(installed["sessionToken"] != nil)
            let client = try await server.send("POST", "/users", ["username": "max", "password": "x"]).succeeded()
            #expect(client["sessionToken"] != nil)
        }
    }

    @Test(
        "Sign-up, log-in and linking by authData return an empty authDataResponse with preset 7 only",
        arguments: [9, 7])
    func loginData(preset: Int) async throws {
        try await Self.run(preset) { server in
            let body: JSONValue = ["authData": ["anonymous": ["id": "device"]]]
            for status in [201, 200] {
                let answer = try await server.send("POST", "/users", body).succeeded()
                #expect(answer.status == status)
                #expect((answer["authDataResponse"] == [:]) == (preset == 7), "\(answer.text)")
            }
            let kim = try await server.signUp("kim")
            let linked = try await server.send(
                "PUT", "/users/\(kim.id)", ["authData": ["anonymous": ["id": "other"]]], as: .session(kim.token)
            ).succeeded()
            #expect((linked["authDataResponse"] == [:]) == (preset == 7), "\(linked.text)")
        }
    }

    @Test(
        "Schemas include the default ACL with preset 9 only, and a configured ACL with both presets", arguments: [9, 7])
    func schemas(preset: Int) async throws {
        try await Self.run(preset) { server in
            let made = try await server.send("POST", "/schemas/Note", ["fields": [:]], as: .master).succeeded()
            let everybody: JSONValue = ["*": ["read": true, "write": true]]
            let all = try await server.send("GET", "/schemas", as: .master).succeeded()
            for schema in [made.json] + all.results {
                let shown = schema["classLevelPermissions"]?["ACL"]
                #expect(preset == 9 ? same(shown, everybody) : shown == nil, "\(schema)")
            }
            let set = try await server.send(
                "PUT", "/schemas/Note",
                ["classLevelPermissions": ["create": ["*": true], "ACL": ["*": ["read": true]]]], as: .master
            ).succeeded()
            #expect(same(set["classLevelPermissions"]?["ACL"], ["*": ["read": true]]))
            let created = try await server.send("POST", "/classes/Note", [:]).succeeded()
            #expect(same(created["ACL"], ["*": ["read": true]]))
        }
    }

    @Test("With preset 9 only, relation members are hidden if the owning object is", arguments: [9, 7])
    func relations(preset: Int) async throws {
        try await Self.run(preset) { server in
            let song = try await server.create("Song", ["title": "a"])
            let list = try await server.create(
                "Playlist", ["songs": .operation("AddRelation", [.pointer("Song", song)]), "ACL": [:]], as: .master)
            let condition: JSONValue = ["$relatedTo": ["object": .pointer("Playlist", list), "key": "songs"]]
            let found = try await server.find("Song", ["where": condition, "count": 1]).succeeded()
            #expect(found.results.count == (preset == 7 ? 1 : 0))
            #expect(found["count"] == (preset == 7 ? 1 : 0))
            #expect(try await server.find("Song", ["where": condition], as: .master).results.count == 1)
        }
    }

    @Test("sessions/me hides protected fields with preset 9 only", arguments: [9, 7])
    func currentSession(preset: Int) async throws {
        try await Self.run(preset, ["protectedFields": ["_Session": ["*": ["createdWith"]]]]) { server in
            let kim = try await server.signUp("kim")
            let session = try await server.send("GET", "/sessions/me", as: .session(kim.token)).succeeded()
            #expect((session["createdWith"] != nil) == (preset == 7))
            #expect(session["sessionToken"]?.stringValue == kim.token)
        }
    }

    @Test("Anonymous counts under pointer permissions are [] with preset 7 and 0 with preset 9", arguments: [9, 7])
    func counts(preset: Int) async throws {
        try await Self.run(preset) { server in
            let kim = try await server.signUp("kim")
            let rows: JSONValue = ["pointerFields": ["owner"]]
            for (name, isOpen, permissions) in [
                ("Pointed", false, ["find": rows, "count": rows, "create": ["*": true]]),
                ("Fields", false, ["readUserFields": ["owner"], "find": [:], "count": [:], "create": ["*": true]]),
                ("Counted", true, ["find": rows, "count": ["*": true], "create": ["*": true]]),
            ] as [(String, Bool, JSONValue)] {
                let fields: JSONValue = ["owner": ["type": "Pointer", "targetClass": "_User"]]
                _ = try await server.send(
                    "POST", "/schemas/\(name)", ["fields": fields, "classLevelPermissions": permissions], as: .master
                ).succeeded()
                _ = try await server.create(name, ["owner": .pointer("_User", kim.id)])
                let old: JSONValue = ["createdAt": ["$lt": .date("2020-01-01T00:00:00.000Z")]]
                for (condition, count) in [([:], 1), (old, 0)] as [(JSONValue, JSONValue)] {
                    for limit in (isOpen ? [0] : [0, 1]) as [JSONValue] {
                        let parameters: JSONObject = ["where": condition, "count": 1, "limit": limit]
                        let nobody = try await server.find(name, parameters).succeeded()
                        #expect(nobody["count"] == (isOpen ? count : preset == 7 ? [] : 0), "\(name): \(nobody.text)")
                        #expect(nobody.results.isEmpty)
                        for identity: TestServer.Identity in [.session(kim.token), .master] {
                            let other = try await server.find(name, parameters, as: identity).succeeded()
                            #expect(other["count"] == count, "\(name): \(other.text)")
                        }
                    }
                }
            }
        }
    }

    @Test("Groups by several date parts are merged with preset 9, and one per date with preset 7", arguments: [9, 7])
    func dateParts(preset: Int) async throws {
        try await Self.run(preset) { server in
            for (kind, day) in [("a", "05"), ("a", "05"), ("b", "05"), ("a", "20")] {
                _ = try await server.create(
                    "Sale", ["kind": .string(kind), "at": .date("2020-01-\(day)T10:20:30.400Z")])
            }
            _ = try await server.create("Sale", ["kind": "a"])
            let sorted: JSONValue = ["$sort": ["n": 1, "_id": 1]]
            let month: JSONValue = ["year": ["$year": "$at"], "month": ["$month": "$at"]]
            let months = try await Sales.aggregate(
                server, [["$match": ["at": ["$exists": true]]], ["$group": ["_id": month, "n": ["$sum": 1]]], sorted]
            ).succeeded()
            let january: JSONValue = ["year": 2020, "month": 1]
            let numbers: [JSONValue] = preset == 7 ? [1, 3] : [4]
            #expect(
                same(.array(months.results), .array(numbers.map { ["objectId": january, "n": $0] })), "\(months.text)")
            let kinds = try await Sales.aggregate(
                server,
                [["$group": ["_id": ["kind": "$kind", "second": ["$second": "$at"]], "n": ["$sum": 1]]], sorted]
            ).succeeded()
            let found = kinds.results.map { [$0["objectId"]?["kind"], $0["objectId"]?["second"], $0["n"]] }
            #expect(
                found
                    == (preset == 7
                        ? [["a", .null, 1], ["a", 30, 1], ["b", 30, 1], ["a", 30, 2]]
                        : [["a", .null, 1], ["b", 30, 1], ["a", 30, 3]]),
                "\(kinds.text)")
            // A single date part forms the same groups as any other expression.
            let years = try await Sales.aggregate(
                server, [["$match": ["kind": "a"]], ["$group": ["_id": ["$year": "$at"], "n": ["$sum": 1]]], sorted]
            ).succeeded()
            #expect(
                same(.array(years.results), [["objectId": .null, "n": 1], ["objectId": 2020, "n": 3]]), "\(years.text)")
        }
    }

    /// File names, and whether users may upload them with preset 9 and with preset 7.
    private static let files: [(String, Bool, Bool)] = [
        ("a.png", true, true), ("a.txt", true, true), ("a.html", false, false), ("a.HTM", false, false),
        ("a.svg", false, true), ("a.xml", false, true), ("a.xsl", false, true), ("a.mathml", false, true),
        ("a.svg.", false, true), ("a", true, true),
    ]

    @Test("Rejects HTML uploads, with preset 9 also SVG and XML types; serves others with nosniff", arguments: [9, 7])
    func files(preset: Int) async throws {
        try await Self.run(preset) { server in
            let kim = try await server.signUp("kim")
            for (name, nine, seven) in Self.files {
                let answer = try await server.send(
                    "POST", "/files/\(name)", bytes: Array("content".utf8), as: .session(kim.token),
                    headers: ["Content-Type": "application/octet-stream"])
                let isAllowed = preset == 9 ? nine : seven
                #expect(answer.status == (isAllowed ? 201 : 400), "\(name): \(answer.text)")
                #expect(answer.code == (isAllowed ? nil : 130), "\(name): \(answer.text)")
                guard isAllowed, let url = answer["url"]?.stringValue else { continue }
                let read = try await server.send("GET", url, as: .nobody)
                #expect(read.headers["x-content-type-options"] == "nosniff", "\(name)")
            }
        }
    }

    @Test("Reports the preset's parse-server version, and more security checks with preset 9", arguments: [9, 7])
    func reports(preset: Int) async throws {
        try await Self.run(preset, ["security": ["enableCheck": true]]) { server in
            let information = try await server.send("GET", "/serverInfo", as: .master)
            #expect(information["parseServerVersion"] == (preset == 9 ? "9.10.4" : "7.5.4"))
            let report = try await server.send("GET", "/security", as: .master)
            let titles = (report["report"]?["groups"]?.arrayValue ?? [])
                .flatMap { $0["checks"]?.arrayValue ?? [] }.compactMap { $0["title"]?.stringValue }
            #expect(titles.contains("Client class creation disabled"))
            #expect(titles.contains("Request complexity limits enabled") == (preset == 9), "\(titles)")
        }
    }

    /// Checks that only preset 9 reports, with options that make them fail, or nil if they can't fail.
    private static let laterChecks: [(title: String, failing: JSONObject?)] = [
        ("Insecure auth adapters disabled", ["enableInsecureAuthAdapters": true]),
        ("GraphQL public introspection disabled", nil), ("GraphQL Playground disabled", nil),
        ("Public database explain disabled", ["databaseOptions": ["allowPublicExplain": true]]),
        ("Request complexity limits enabled", ["requestComplexity": .object(complexity(subqueryDepth: -1))]),
        (
            "Password reset endpoint user enumeration mitigated",
            ["passwordPolicy": ["resetPasswordSuccessOnInvalidEmail": false]]
        ),
        ("Email verification endpoint user enumeration mitigated", ["emailVerifySuccessOnInvalidEmail": false]),
        ("LiveQuery regex timeout enabled", nil),
    ]

    private static func complexity(subqueryDepth: Double) -> JSONObject {
        ["includeDepth": 10, "includeCount": 100, "subqueryDepth": .number(subqueryDepth), "queryDepth": -1]
    }

    @Test(
        "Security checks added in preset 9 fail if their options are insecure",
        arguments: [(7, true), (9, true), (9, false)])
    func laterReports(preset: Int, isWell: Bool) async throws {
        var options: JSONObject = [
            "security": ["enableCheck": true], "requestComplexity": .object(Self.complexity(subqueryDepth: 10)),
        ]
        if !isWell { for check in Self.laterChecks { options.merge(check.failing ?? [:]) { $1 } } }
        try await Self.run(preset, options) { server in
            let report = try await server.send("GET", "/security", as: .master)
            let checks = (report["report"]?["groups"]?.arrayValue ?? []).flatMap { $0["checks"]?.arrayValue ?? [] }
            for (title, failing) in Self.laterChecks {
                let check = checks.first { $0["title"]?.stringValue == title }
                let fails = !isWell && failing != nil
                let state = fails ? "fail" : "success"
                #expect(check?["state"]?.stringValue == (preset == 9 ? state : nil), "\(title): \(report.text)")
                #expect((check?["solution"] != nil) == fails, "\(title)")
            }
        }
    }

    @Test(
        "Security checks fail if a list of master-key addresses includes every address",
        arguments: [
            (["::/0"], "fail"), (["::"], "fail"), (["1.2.3.4/0", "127.0.0.1"], "fail"), (["127.0.0.1"], "success"),
        ])
    func reportOnAddresses(addresses: [String], state: String) async throws {
        let list = JSONValue.array((addresses + ["127.0.0.1"]).map { .string($0) })
        let options: JSONObject = [
            "security": ["enableCheck": true], "masterKeyIps": list, "readOnlyMasterKey": "readOnly",
            "readOnlyMasterKeyIps": list,
        ]
        try await Self.run(9, options) { server in
            let report = try await server.send("GET", "/security", as: .master)
            let checks = (report["report"]?["groups"]?.arrayValue ?? []).flatMap { $0["checks"]?.arrayValue ?? [] }
            for title in ["Master key IP range restricted", "Read-only master key IP range restricted"] {
                let check = checks.first { $0["title"]?.stringValue == title }
                #expect(check?["state"]?.stringValue == state, "\(title): \(report.text)")
            }
        }
    }

    @Test("With preset 9 only, batch paths may be below /1 or have no mount path", arguments: [9, 7])
    func batch(preset: Int) async throws {
        try await Self.run(preset) { server in
            for path in ["/1/classes/Note", "/classes/Note"] {
                let answer = try await server.send(
                    "POST", "/batch", ["requests": [["method": "POST", "path": .string(path), "body": [:]]]])
                #expect(answer.status == (preset == 9 ? 200 : 400), "\(path): \(answer.text)")
                #expect(answer.code == (preset == 9 ? nil : 107), "\(path)")
            }
        }
    }
}
