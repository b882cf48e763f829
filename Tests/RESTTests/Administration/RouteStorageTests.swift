import JSON
import TestSupport
import Testing

/// Routes with their own storage: purges, audiences, hooks, job schedules and config.
@Suite struct RouteStorageTests {
    @Test("A purge deletes all objects but keeps the class, and succeeds for unknown classes")
    func purge() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            for _ in 0..<3 { _ = try await server.create("Note", ["text": "x", "ACL": [:]], as: .master) }
            #expect(try await server.send("DELETE", "/purge/Note").status == 403)
            for name in ["Note", "Note", "Nosuch", "not a name", "_Installation"] {
                let answer = try await server.send("DELETE", "/purge/\(SecurityProbe.encoded(name))", as: .master)
                #expect(answer.status == 200, "\(name): \(answer.text)")
                #expect(answer.json == [:], "\(name)")
            }
            #expect(try await server.find("Note", as: .master).results.isEmpty)
            #expect(try await server.send("GET", "/schemas/Note", as: .master)["fields"]?["text"] != nil)
            _ = try await server.send("DELETE", "/purge/_Session", as: .master).succeeded()
            #expect(try await server.send("GET", "/users/me", as: .session(kim.token)).code == 209)
        }
    }

    @Test("Purging roles revokes their permissions immediately")
    func purgeOfRoles() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            _ = try await server.create(
                "_Role",
                ["name": "Staff", "ACL": [:], "users": .operation("AddRelation", [.pointer("_User", kim.id)])],
                as: .master)
            _ = try await server.create("Note", ["ACL": ["role:Staff": ["read": true]]], as: .master)
            #expect(try await server.find("Note", as: .session(kim.token)).results.count == 1)
            _ = try await server.send("DELETE", "/purge/_Role", as: .master).succeeded()
            #expect(try await server.find("Note", as: .session(kim.token)).results.isEmpty)
        }
    }

    @Test("Push audiences store their query as text and return it as an object")
    func audiences() async throws {
        try await TestServer.run { server in
            let query: JSONValue = ["deviceType": ["$in": ["ios"]]]
            let made = try await server.send(
                "POST", "/push_audiences", ["name": "Phones", "query": .string(query.text)], as: .master
            ).succeeded()
            #expect(made.status == 201)
            let id = try made.string("objectId")
            let one = try await server.send("GET", "/push_audiences/\(id)", as: .master)
            #expect(same(one["query"], query), "\(one.text)")
            let list = try await server.send("GET", "/push_audiences?limit=1&count=1", as: .master)
            #expect(list["count"] == 1)
            #expect(same(list.results.first?["query"], query))
            #expect(same(try await server.find("_Audience", as: .master).results.first?["query"], .string(query.text)))
            _ = try await server.send(
                "PUT", "/push_audiences/\(id)", ["name": "Other", "timesUsed": .increment(1)], as: .master
            )
            .succeeded()
            #expect(try await server.send("GET", "/push_audiences/\(id)", as: .master)["timesUsed"] == 1)
            let odd = try await server.send(
                "POST", "/push_audiences", ["name": "Odd", "query": "{no json"], as: .master
            )
            .succeeded().string("objectId")
            #expect(try await server.send("GET", "/push_audiences/\(odd)", as: .master)["query"] == .null)
            #expect(try await server.send("POST", "/push_audiences", ["name": 1], as: .master).code == 111)
            for (method, path) in [("GET", ""), ("POST", ""), ("GET", "/\(id)"), ("DELETE", "/\(id)")] {
                #expect(try await server.send(method, "/push_audiences\(path)").status == 403, "\(method) \(path)")
            }
            #expect(try await server.send("DELETE", "/push_audiences/\(id)", as: .master).status == 200)
            #expect(try await server.send("GET", "/push_audiences/\(id)", as: .master).code == 101)
        }
    }

    /// Calls of the hooks' routes in order: method, path below `/hooks`, body, status or error code, response.
    private static let hooks: [(String, String, JSONValue?, Int, JSONValue?)] = [
        ("GET", "/functions", nil, 200, []), ("GET", "/triggers", nil, 200, []),
        (
            "POST", "/functions", ["functionName": "f", "url": "https://a"], 200,
            ["functionName": "f", "url": "https://a"]
        ),
        ("POST", "/functions", ["functionName": "f", "url": "https://b"], 143, nil),
        ("POST", "/functions", ["functionName": "g"], 143, nil),
        ("POST", "/functions", ["functionName": 1, "url": "https://b"], 143, nil),
        ("POST", "/functions", [:], 143, nil),
        ("GET", "/functions/f", nil, 200, ["functionName": "f", "url": "https://a"]),
        ("GET", "/functions/g", nil, 143, nil), ("PUT", "/functions/g", ["url": "https://b"], 143, nil),
        ("PUT", "/functions/f", ["url": "https://b"], 200, ["functionName": "f", "url": "https://b"]),
        ("GET", "/functions", nil, 200, [["functionName": "f", "url": "https://b"]]),
        (
            "POST", "/triggers", ["className": "Note", "triggerName": "beforeSave", "url": "https://a"], 200,
            ["className": "Note", "triggerName": "beforeSave", "url": "https://a"]
        ),
        ("POST", "/triggers", ["className": "Note", "triggerName": "beforeSave", "url": "https://a"], 143, nil),
        ("POST", "/triggers", ["className": "Note", "triggerName": "beforeNothing", "url": "https://a"], 143, nil),
        ("POST", "/triggers", ["className": "Note", "triggerName": "beforeLogin", "url": "https://a"], 143, nil),
        ("POST", "/triggers", ["className": "_Session", "triggerName": "beforeSave", "url": "https://a"], 143, nil),
        (
            "GET", "/triggers/Note/beforeSave", nil, 200,
            ["className": "Note", "triggerName": "beforeSave", "url": "https://a"]
        ),
        ("GET", "/triggers/Note/afterSave", nil, 143, nil),
        (
            "POST", "/triggers", ["className": "_User", "triggerName": "beforeConnect", "url": "https://a"], 200,
            ["className": "_User", "triggerName": "beforeConnect", "url": "https://a"]
        ),
        ("PUT", "/triggers/_User/beforeConnect", ["__op": "Delete"], 200, [:]),
        ("PUT", "/triggers/Note/beforeSave", ["__op": "Delete"], 200, [:]),
        ("GET", "/triggers", nil, 200, []), ("DELETE", "/functions/f", nil, 200, [:]),
        ("GET", "/functions", nil, 200, []),
    ]

    @Test("Creates, reads, updates and deletes hooks, with the master key only")
    func hooks() async throws {
        try await TestServer.run { server in
            for (method, path, body, status, expected) in Self.hooks {
                let answer = try await server.send(method, "/hooks" + path, body, as: .master)
                #expect((answer.code ?? answer.status) == status, "\(method) \(path): \(answer.text)")
                if let expected { #expect(same(answer.json, expected), "\(method) \(path): \(answer.text)") }
                #expect(try await server.send(method, "/hooks" + path, body).status == 403, "\(method) \(path)")
            }
            #expect(try await server.rows("SELECT \"url\" FROM \"_Hooks\"").isEmpty)
        }
    }

    @Test("Lists and deletes existing job schedules, but neither schedules nor runs undeployed jobs")
    func schedules() async throws {
        try await TestServer.run { server in
            try await server.execute(
                """
                INSERT INTO "_JobSchedule" ("objectId", "createdAt", "updatedAt", "jobName", "params", "daysOfWeek")
                VALUES ('s1', now(), now(), 'clean', '{}', '["1"]'), ('s2', now(), now(), 'count', '{}', NULL)
                """)
            let list = try await server.send("GET", "/cloud_code/jobs", as: .master)
            #expect(Set(list.json.arrayValue?.compactMap { $0["jobName"]?.stringValue } ?? []) == ["clean", "count"])
            let data = try await server.send("GET", "/cloud_code/jobs/data", as: .master)
            #expect(Set(data["in_use"]?.arrayValue?.compactMap(\.stringValue) ?? []) == ["clean", "count"])
            #expect(data["jobs"] == [])
            let schedule: JSONValue = ["job_schedule": ["jobName": "clean"]]
            for (method, path) in [("POST", "/cloud_code/jobs"), ("PUT", "/cloud_code/jobs/s1")] {
                SecurityProbe.expectRefused(try await server.send(method, path, schedule, as: .master), 141, method)
            }
            SecurityProbe.expectRefused(
                try await server.send("POST", "/jobs", ["jobName": "clean"], as: .master), 141, "a run")
            for (method, path) in [("GET", ""), ("GET", "/data"), ("POST", ""), ("DELETE", "/s1")] {
                #expect(try await server.send(method, "/cloud_code/jobs\(path)").status == 403, "\(method) \(path)")
            }
            #expect(try await server.send("DELETE", "/cloud_code/jobs/s1", as: .master).status == 200)
            #expect(try await server.send("DELETE", "/cloud_code/jobs/s1", as: .master).code == 101)
            #expect(try await server.send("GET", "/cloud_code/jobs", as: .master).json.arrayValue?.count == 1)
        }
    }

    @Test("Config writes set masterKeyOnly flags; clients see neither hidden parameters nor their flags")
    func parameters() async throws {
        try await TestServer.run { server in
            // The body, the parameters that clients see, and all `masterKeyOnly` flags.
            let steps: [(JSONValue, JSONValue, JSONValue)] = [
                (["params": ["a": 1, "b": 2], "masterKeyOnly": ["b": true]], ["a": 1], ["a": false, "b": true]),
                (["params": ["b": 3]], ["a": 1, "b": 3], ["a": false, "b": false]),
                (["params": ["a": .increment(2)], "masterKeyOnly": ["a": true]], ["b": 3], ["a": true, "b": false]),
                (["params": ["a": ["__op": "Delete"]]], ["b": 3], ["a": false, "b": false]),
                (["masterKeyOnly": ["b": true]], ["b": 3], ["a": false, "b": false]),
                ([:], ["b": 3], ["a": false, "b": false]),
                (["params": ["b": [1, "two"]], "masterKeyOnly": ["b": "yes"]], [:], ["a": false, "b": true]),
            ]
            for (body, visible, flags) in steps {
                let answer = try await server.send("PUT", "/config", body, as: .master)
                #expect(answer.status == 200, "\(body): \(answer.text)")
                #expect(answer["result"] == true)
                let client = try await server.send("GET", "/config")
                #expect(same(client["params"], visible), "\(body): \(client.text)")
                #expect(
                    client["masterKeyOnly"]?.objectValue?.values.allSatisfy { $0 == false } == true, "\(client.text)")
                let master = try await server.send("GET", "/config", as: .master)
                #expect(same(master["masterKeyOnly"], flags), "\(body): \(master.text)")
            }
            #expect(try await server.send("PUT", "/config", ["params": ["c": 1]]).status == 403)
        }
    }
}
