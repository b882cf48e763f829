import JSON
import TestSupport
import Testing

/// Each device has a single installation, whatever combination of installation id and token it sends.
@Suite struct InstallationTests {
    /// The existing rows, a request, and the remaining rows.
    private struct Scenario {
        let name: String
        /// Rows as `id:installationId/deviceToken` with `-` for a missing value, optionally followed by
        /// `/appIdentifier`.
        let rows: String
        let method: String
        let path: String
        let body: JSONObject
        var headers: [String: String] = [:]
        var isMaster = false
        /// The status or the error code.
        let answer: Int
        let left: String

        init(
            _ name: String, _ rows: String, _ method: String, _ path: String, _ body: JSONObject, _ answer: Int,
            _ left: String, headers: [String: String] = [:], isMaster: Bool = false
        ) {
            self.name = name
            self.rows = rows
            self.method = method
            self.path = path
            self.body = body
            self.answer = answer
            self.left = left
            self.headers = headers
            self.isMaster = isMaster
        }
    }

    private static let own = ["X-Parse-Installation-Id": "I1"]

    private static let scenarios: [Scenario] = [
        // New rows
        .init("an id alone", "", "POST", "", ["deviceType": "ios", "installationId": "I1"], 201, "+:i1/-"),
        .init("a token alone", "", "POST", "", ["deviceType": "ios", "deviceToken": "T"], 201, "+:-/T"),
        .init(
            "both", "", "POST", "", ["deviceType": "ios", "installationId": "i1", "deviceToken": "t"], 201, "+:i1/t"),
        .init("neither an id nor a token", "", "POST", "", ["deviceType": "ios"], 135, ""),
        .init(
            "an empty id and token", "", "POST", "", ["deviceType": "ios", "installationId": "", "deviceToken": ""],
            135, ""),
        .init(
            "empty tokens of two devices", "a:i1/", "POST", "",
            ["deviceType": "ios", "installationId": "i2", "deviceToken": ""], 201, "+:i2/ a:i1/"),
        .init(
            "empty ids of two devices", "a:/t1", "POST", "",
            ["deviceType": "ios", "installationId": "", "deviceToken": "t2"], 201, "+:/t2 a:/t1"),
        .init("no type", "", "POST", "", ["installationId": "i1"], 135, ""),
        .init(
            "the header's id, which isn't stored", "", "POST", "", ["deviceType": "ios"], 201, "+:-/-",
            headers: own),
        .init(
            "the header's id is ignored with the master key", "", "POST", "", ["deviceType": "ios"], 135, "",
            headers: own, isMaster: true),
        .init(
            "a non-string id", "a:i1/t1", "POST", "", ["deviceType": "ios", "installationId": ["$ne": .null]],
            111, "a:i1/t1"),
        .init(
            "a non-string token", "a:i1/t1", "POST", "",
            ["deviceType": "ios", "installationId": "i2", "deviceToken": ["$ne": .null]], 111, "a:i1/t1"),
        .init(
            "a non-string appIdentifier", "a:i1/t1", "POST", "",
            ["deviceType": "ios", "installationId": "i2", "deviceToken": "t1", "appIdentifier": ["$ne": .null]], 111,
            "a:i1/t1"),
        // Rows found by installation id
        .init("a known id", "a:i1/-", "POST", "", ["deviceType": "ios", "installationId": "I1"], 200, "a:i1/-"),
        .init(
            "a known id without a type", "a:i1/-", "POST", "", ["installationId": "i1", "deviceToken": "t"], 200,
            "a:i1/t"),
        .init("a known id in the header", "a:i1/-", "POST", "", ["deviceToken": "t"], 200, "a:i1/t", headers: own),
        .init(
            "a known id with a new token", "a:i1/t1", "POST", "", ["installationId": "i1", "deviceToken": "t2"], 200,
            "a:i1/t2"),
        .init(
            "a known id takes over the token of other rows", "a:i1/t1 b:i2/t2 c:i3/t2", "POST", "",
            ["installationId": "i1", "deviceToken": "t2"], 200, "a:i1/t2"),
        .init(
            "a header's known id leaves others' tokens", "a:i1/t1 b:i2/t2", "POST", "", ["deviceToken": "t2"], 200,
            "a:i1/t2 b:i2/t2", headers: own),
        .init(
            "a known id takes over the token within its app", "a:i1/t1/x b:i2/t2/x c:i3/t2/y", "POST", "",
            ["installationId": "i1", "deviceToken": "t2", "appIdentifier": "x"], 200, "a:i1/t2 c:i3/t2"),
        .init(
            "a row with only the token replaces that of the known id", "a:i1/t1 b:-/t2", "POST", "",
            ["installationId": "i1", "deviceToken": "t2"], 200, "b:i1/t2"),
        // Rows found by token
        .init("a known token alone", "a:-/t1", "POST", "", ["deviceType": "ios", "deviceToken": "t1"], 200, "a:-/t1"),
        .init("a known token without a type", "a:-/t1", "POST", "", ["deviceToken": "t1"], 135, "a:-/t1"),
        .init(
            "a known token gets an id", "a:-/t1", "POST", "",
            ["deviceType": "ios", "installationId": "i1", "deviceToken": "t1"], 200, "a:i1/t1"),
        .init(
            "a known token keeps its id", "a:i1/t1", "POST", "", ["deviceType": "ios", "deviceToken": "t1"], 200,
            "a:i1/t1"),
        .init(
            "a token moves to a new id", "a:i1/t1", "POST", "",
            ["deviceType": "ios", "installationId": "i2", "deviceToken": "t1"], 201, "+:i2/t1"),
        .init(
            "a token of several rows moves to a new id", "a:i1/t1 b:i3/t1", "POST", "",
            ["deviceType": "ios", "installationId": "i2", "deviceToken": "t1"], 201, "+:i2/t1"),
        .init(
            "a token moves within its app", "a:i1/t1/x b:i3/t1/y", "POST", "",
            ["deviceType": "ios", "installationId": "i2", "deviceToken": "t1", "appIdentifier": "y"], 201,
            "+:i2/t1 a:i1/t1"),
        .init(
            "a token of several rows without an id", "a:i1/t1 b:i2/t1", "POST", "",
            ["deviceType": "ios", "deviceToken": "t1"], 132, "a:i1/t1 b:i2/t1"),
        .init(
            "a token of several rows with an id in the header", "a:i2/t1 b:i3/t1", "POST", "",
            ["deviceType": "ios", "deviceToken": "t1"],
            132, "a:i2/t1 b:i3/t1", headers: own),
        // Updates
        .init("an update of another field", "a:i1/t1", "PUT", "/a", ["badge": 3], 200, "a:i1/t1"),
        .init("a new token", "a:i1/t1", "PUT", "/a", ["deviceToken": "t2"], 200, "a:i1/t2"),
        .init(
            "another row's token", "a:i1/t1 b:i2/t2", "PUT", "/a", ["deviceToken": "t2"], 200,
            "a:i1/t2 b:i2/t2"),
        .init(
            "another row's token with the installation id", "a:i1/t1 b:i2/t2", "PUT", "/a",
            ["deviceToken": "t2", "installationId": "i1"], 200, "a:i1/t2"),
        .init(
            "another row's token with the objectId", "a:i1/t1 b:i2/t2", "PUT", "/a",
            ["deviceToken": "t2", "objectId": "a"], 200, "a:i1/t2"),
        .init("a new token without any id", "a:-/t1", "PUT", "/a", ["deviceToken": "t2"], 136, "a:-/t1"),
        .init("a first id", "a:-/t1", "PUT", "/a", ["installationId": "i1"], 200, "a:i1/t1"),
        .init("another id", "a:i1/t1", "PUT", "/a", ["installationId": "i2"], 136, "a:i1/t1"),
        .init("the same id in upper case", "a:i1/t1", "PUT", "/a", ["installationId": "I1"], 200, "a:i1/t1"),
        .init("another type", "a:i1/t1", "PUT", "/a", ["deviceType": "android"], 136, "a:i1/t1"),
        .init("the same type", "a:i1/t1", "PUT", "/a", ["deviceType": "ios"], 200, "a:i1/t1"),
        .init("a deleted token", "a:i1/t1", "PUT", "/a", ["deviceToken": ["__op": "Delete"]], 200, "a:i1/-"),
        .init("a token for a missing row", "a:i1/t1", "PUT", "/b", ["deviceToken": "t2"], 101, "a:i1/t1"),
        .init("another field of a missing row", "a:i1/t1", "PUT", "/b", ["badge": 1], 101, "a:i1/t1"),
        .init(
            "the only row with its own token", "a:-/t1", "PUT", "/a", ["deviceToken": "t1", "badge": 1], 200, "a:-/t1"),
        // A rejected request must not delete rows.
        .init(
            "a badge of the wrong type", "a:i1/t1 b:-/t2", "POST", "",
            ["installationId": "i1", "deviceToken": "t2", "badge": "many"], 111, "a:i1/t1 b:-/t2"),
        .init(
            "a bad ACL", "a:i1/t1 b:-/t2", "POST", "",
            ["installationId": "i1", "deviceToken": "t2", "ACL": ["*unresolved": ["read": true]]], 123, "a:i1/t1 b:-/t2"
        ),
        .init(
            "a bad ACL for a new row", "a:i1/t1", "POST", "",
            ["deviceType": "ios", "installationId": "i2", "deviceToken": "t1", "ACL": ["*unresolved": ["read": true]]],
            123, "a:i1/t1"),
    ]

    private static func place(_ rows: String, _ server: TestServer, writers: String = "NULL") async throws {
        var script = "DELETE FROM \"_Installation\";"
        for row in rows.split(separator: " ") {
            let parts = row.split(separator: ":", maxSplits: 1)
            let values = parts[1].split(separator: "/", omittingEmptySubsequences: false).map {
                $0 == "-" ? "NULL" : "'\($0)'"
            }
            script += """
                INSERT INTO "_Installation" ("objectId", "createdAt", "updatedAt", "_wperm", "installationId",
                    "deviceToken", "appIdentifier", "deviceType", "channels")
                VALUES ('\(parts[0])', now(), now(), \(writers), \(values[0]), \(values[1]),
                    \(values.count > 2 ? values[2] : "NULL"), 'ios', '["news"]');
                """
        }
        try await server.execute(script)
    }

    /// The current rows in the format of a scenario. `+` stands for the id of a new row.
    private static func left(_ server: TestServer) async throws -> String {
        try await server.rows(
            """
            SELECT CASE WHEN length("objectId") > 1 THEN '+' ELSE "objectId" END || ':' || COALESCE("installationId", '-')
                || '/' || COALESCE("deviceToken", '-') FROM "_Installation" ORDER BY 1
            """
        ).compactMap { $0[0] }.joined(separator: " ")
    }

    private static func check(_ scenario: Scenario, _ server: TestServer) async throws {
        try await place(scenario.rows, server)
        let answer = try await server.send(
            scenario.method, "/installations" + scenario.path, .object(scenario.body),
            as: scenario.isMaster ? .master : .anonymous, headers: scenario.headers)
        #expect((answer.code ?? answer.status) == scenario.answer, "\(scenario.name): \(answer.text)")
        #expect(answer.status < 500, "\(scenario.name): \(answer.text)")
        if answer.status == 200 {
            let isKnown = scenario.method == "POST"
            #expect(answer["updatedAt"] != nil, "\(scenario.name): \(answer.text)")
            for name in ["objectId", "createdAt"] {
                #expect((answer[name] != nil) == isKnown, "\(scenario.name): \(answer.text)")
            }
        }
        if answer.status == 201 { #expect(answer["objectId"] != nil, "\(scenario.name)") }
        #expect(try await left(server) == scenario.left, "\(scenario.name)")
    }

    @Test("A write finds its device's row and removes the device's other rows")
    func deduplication() async throws {
        try await TestServer.run { server in
            for scenario in Self.scenarios { try await Self.check(scenario, server) }
        }
    }

    @Test("Registering a known device again returns its objectId and createdAt, but not up to preset 8")
    func knownDevice() async throws {
        for preset in [8, 9] {
            try await TestServer.run(["preset": .number(Double(preset))]) { server in
                let body: JSONValue = ["deviceType": "ios", "installationId": "i1"]
                let made = try await server.send("POST", "/installations", body).succeeded()
                let known = try await server.send("POST", "/installations", body)
                #expect(known.status == 200 && known["updatedAt"] != nil, "\(known.text)")
                for name in ["objectId", "createdAt"] {
                    #expect((known[name] == made[name]) == (preset >= 9), "\(known.text)")
                }
            }
        }
    }

    @Test("Stores 64-letter device tokens in lower case and shorter ones unchanged")
    func lowercase() async throws {
        try await TestServer.run { server in
            let long = String(repeating: "AB", count: 32)
            for (given, kept) in [(long, long.lowercased()), ("ABC", "ABC")] {
                let id = try await server.send(
                    "POST", "/installations", ["deviceType": "ios", "deviceToken": .string(given)]
                ).succeeded().string("objectId")
                #expect(try await server.send("GET", "/installations/\(id)")["deviceToken"] == .string(kept))
            }
        }
    }

    @Test("Clients can create installations and get or update them by id, but not find or delete them")
    func access() async throws {
        try await TestServer.run { server in
            let id = try await server.send("POST", "/installations", ["deviceType": "ios", "installationId": "i"])
                .succeeded().string("objectId")
            let kim = try await server.signUp("kim")
            for identity: TestServer.Identity in [.anonymous, .session(kim.token)] {
                for path in ["/installations", "/classes/_Installation"] {
                    SecurityProbe.expectRefused(try await server.send("GET", path, as: identity), 119, path)
                    SecurityProbe.expectRefused(
                        try await server.send("DELETE", "\(path)/\(id)", as: identity), 119, "DELETE \(path)")
                    #expect(try await server.send("GET", "\(path)/\(id)", as: identity).status == 200)
                    #expect(
                        try await server.send("PUT", "\(path)/\(id)", ["badge": .increment(1)], as: identity).status
                            == 200)
                }
            }
            #expect(try await server.send("GET", "/installations", as: .master).results.count == 1)
            #expect(try await server.send("DELETE", "/installations/\(id)", as: .master).status == 200)
        }
    }

    @Test("Concurrent registrations create one row per device")
    func concurrency() async throws {
        try await TestServer.run { server in
            _ = try await concurrently(12) { number in
                try await server.send(
                    "POST", "/installations",
                    [
                        "deviceType": "ios", "installationId": .string("i\(number % 3)"),
                        "deviceToken": .string("t\(number % 3)"),
                    ]
                ).succeeded()
            }
            let rows = try await server.rows("SELECT \"installationId\" FROM \"_Installation\" ORDER BY 1")
            #expect(rows == [["i0"], ["i1"], ["i2"]])
        }
    }

    /// Options for duplicate device tokens, and the resulting rows after a move and after a merge.
    private static let choices: [(options: JSONObject, moved: String, merged: String)] = [
        ([:], "+:i2/t1", "b:i1/t2"),
        (["duplicateDeviceTokenAction": "update"], "+:i2/t1 a:i1/-", "a:-/t1 b:i1/t2"),
        (["duplicateDeviceTokenMergePriority": "installationId"], "+:i2/t1", "a:i1/t2"),
        (
            ["duplicateDeviceTokenAction": "update", "duplicateDeviceTokenMergePriority": "installationId"],
            "+:i2/t1 a:i1/-", "a:i1/t2 b:-/-"
        ),
    ]

    @Test("duplicateDeviceToken options choose the kept row and whether duplicates are removed", arguments: 0..<4)
    func options(choice: Int) async throws {
        let (options, moved, merged) = Self.choices[choice]
        try await TestServer.run(["installation": .object(options)]) { server in
            try await Self.place("a:i1/t1", server)
            let body: JSONObject = ["deviceType": "ios", "installationId": "i2", "deviceToken": "t1"]
            _ = try await server.send("POST", "/installations", .object(body)).succeeded()
            #expect(try await Self.left(server) == moved)
            let channels = try await server.rows(
                "SELECT \"channels\"::text FROM \"_Installation\" WHERE \"objectId\" = 'a'")
            #expect(channels.allSatisfy { $0 == ["[\"news\"]"] })
            try await Self.place("a:i1/t1 b:-/t2", server)
            _ = try await server.send("POST", "/installations", ["installationId": "i1", "deviceToken": "t2"])
                .succeeded()
            #expect(try await Self.left(server) == merged)
        }
    }

    @Test("duplicateDeviceTokenActionEnforceAuth keeps rows that the caller can't write")
    func enforcement() async throws {
        try await TestServer.run(["installation": ["duplicateDeviceTokenActionEnforceAuth": true]]) { server in
            let body: JSONObject = ["deviceType": "ios", "installationId": "i2", "deviceToken": "t1"]
            let kim = try await server.signUp("kim")
            let callers: [(TestServer.Identity, String)] = [
                (.anonymous, "+:i2/t1 a:i1/t1"), (.session(kim.token), "+:i2/t1"), (.master, "+:i2/t1"),
            ]
            for (identity, left) in callers {
                try await Self.place("a:i1/t1", server, writers: "ARRAY['\(kim.id)']")
                _ = try await server.send("POST", "/installations", .object(body), as: identity).succeeded()
                #expect(try await Self.left(server) == left, "\(identity)")
            }
        }
    }
}
