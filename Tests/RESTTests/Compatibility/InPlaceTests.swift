import JSON
import Postgres
import TestSupport
import Testing

/// Roost on parse-server's database, and parse-server on the same database afterward.
@Suite struct InPlaceTests {
    private static let kim = TestServer.Identity.session(ParseServerDatabase.token)

    @Test("Sessions, passwords, roles and permissions of a parse-server database keep working")
    func people() async throws {
        try await TestServer.run(inPlaceOf: ParseServerDatabase.script) { server in
            let me = try await server.send("GET", "/users/me", as: Self.kim).succeeded()
            #expect(me["objectId"] == "kimkimkim1")
            #expect(me["email"] == "kim@example.com")
            #expect(me["authData"] == nil || me["authData"] == [:], "\(me.text)")
            #expect(me["createdAt"] == "2024-05-06T07:08:09.123Z")
            let expired = try await server.send("GET", "/users/me", as: .session(ParseServerDatabase.expiredToken))
            #expect(expired.code == 209)
            #expect(expired.error == "Session token is expired.")
            for name in ["kim", "lou"] {
                let login = try await server.send(
                    "POST", "/login", ["username": .string(name), "password": .string(ParseServerDatabase.password)])
                #expect(login.status == 200, "\(name): \(login.text)")
            }
            #expect(try await server.find("Draft").code == 119)
            #expect(try await server.find("Draft", as: Self.kim).results.map { $0["text"] } == ["draft"])
            #expect(try await server.find("_Role", as: Self.kim).results.count == 2)
            try await ParseServerLayout.expect(server)
        }
    }

    @Test("Reads and writes values of every type in parse-server's format")
    func values() async throws {
        try await TestServer.run(inPlaceOf: ParseServerDatabase.script) { server in
            let path = "/classes/Everything/everything"
            let read = try await server.send("GET", path + "?include=p", as: Self.kim).succeeded()
            let expected: JSONObject = [
                "s": "text", "n": 1.5, "b": true, "d": .date("2020-02-03T04:05:06.789Z"),
                "o": ["a": ["__op": "Increment", "amount": 1], "b": [1, .null]],
                "l": [1, "two", .pointer("_User", "kimkimkim1")], "y": ["__type": "Bytes", "base64": "AQID"],
                "g": ["__type": "GeoPoint", "latitude": 52.5, "longitude": 13.4],
                "q": ["__type": "Polygon", "coordinates": [[0, 0], [0, 10], [10, 10], [0, 0]]],
                "r": ["__type": "Relation", "className": "_User"],
                "ACL": ["kimkimkim1": ["read": true, "write": true]],
            ]
            for (field, value) in expected { #expect(same(read[field.text], value), "\(field): \(read.text)") }
            #expect(read["f"]?["name"] == "abc_photo.png")
            #expect(read["p"]?["username"] == "kim")
            #expect(try await server.send("GET", path).status == 404)
            let empty = try await server.send("GET", "/classes/Everything/nothing000").succeeded()
            #expect(
                Set(empty.json.objectValue?.keys.map { $0 } ?? []) == ["objectId", "createdAt", "updatedAt", "r"],
                "\(empty.text)")
            let members = try await server.find(
                "_User", ["where": ["$relatedTo": ["object": .pointer("Everything", "everything"), "key": "r"]]],
                as: Self.kim)
            #expect(members.results.map { $0["objectId"] } == ["kimkimkim1"])

            var fields = expected
            fields["ACL"] = nil
            fields["r"] = .operation("AddRelation", [.pointer("_User", "oldoldold1")])
            fields["p"] = .pointer("_User", "oldoldold1")
            fields["f"] = ["__type": "File", "name": "new.png", "url": "http://elsewhere/new.png"]
            _ = try await server.send("PUT", path, .object(fields), as: Self.kim).succeeded()
            let created = try await server.create("Everything", fields, as: Self.kim)
            _ = try await server.send(
                "PUT", path,
                [
                    "n": .increment(2), "l": .operation("Add", [1]), "o.b": .operation("Add", [2]),
                    "y": ["__type": "Bytes", "base64": "BAUG"], "fresh": "new field",
                ], as: Self.kim
            ).succeeded()
            let columns = try await server.rows(
                """
                SELECT "s", "n"::text, "p", "f", "g"::text, "q"::text, "l"::text, "o"->>'b', "fresh"
                FROM "Everything" WHERE "objectId" = 'everything'
                """)
            #expect(
                columns == [
                    [
                        "text", "3.5", "oldoldold1", "new.png", "(13.4,52.5)", "((0,0),(10,0),(10,10),(0,0))",
                        "[1, \"two\", {\"__type\": \"Pointer\", \"objectId\": \"kimkimkim1\", \"className\": \"_User\"}, 1]",
                        "[1, null, 2]", "new field",
                    ]
                ])
            #expect(
                try await server.rows(
                    "SELECT \"relatedId\"::text FROM \"_Join:r:Everything\" WHERE \"owningId\" = $1",
                    [
                        created
                    ]) == [["oldoldold1"]])
            try await ParseServerLayout.expect(server)
        }
    }

    @Test("Reads config, hooks and schedules; updating a hook leaves a single row for it")
    func administration() async throws {
        try await TestServer.run(inPlaceOf: ParseServerDatabase.script + ParseServerDatabase.changedHook) { server in
            let config = try await server.send("GET", "/config").succeeded()
            #expect(same(config["params"], ["greeting": "hello"]))
            _ = try await server.send("PUT", "/config", ["params": ["greeting": "hi"]], as: .master).succeeded()
            #expect(try await server.send("GET", "/config", as: .master)["params"]?["secret"] == 1)
            let hook = try await server.send(
                "PUT", "/hooks/functions/f", ["url": "https://newest.example"], as: .master
            ).succeeded()
            #expect(hook["url"] == "https://newest.example")
            #expect(try await server.send("GET", "/hooks/functions", as: .master).json.arrayValue?.count == 1)
            #expect(try await server.send("GET", "/hooks/triggers", as: .master).json.arrayValue?.count == 1)
            let schedules = try await server.send("GET", "/cloud_code/jobs", as: .master)
            #expect(schedules.json.arrayValue?.map { $0["jobName"] } == ["clean"])
            let schema = try await server.send("GET", "/schemas/Side", as: .master).succeeded()
            #expect(schema["fields"]?["text"] == ["type": "String"])
            try await ParseServerLayout.expect(server)
        }
    }

    @Test("All kinds of writes preserve parse-server's database layout")
    func returning() async throws {
        try await TestServer.run(
            inPlaceOf: ParseServerDatabase.script, ["idempotencyOptions": ["paths": [".*"], "ttl": 60]]
        ) { server in
            let lou = try await server.signUp("max", ["email": "max@example.com", "age": 3])
            let signedUp = TestServer.Identity.session(lou.token)
            let calls: [(String, String, JSONValue?, TestServer.Identity)] = [
                ("PUT", "/users/\(lou.id)", ["password": "another", "tags": ["a"]], signedUp),
                ("POST", "/users", ["authData": ["anonymous": ["id": "device"]]], .anonymous),
                ("PUT", "/users/kimkimkim1", ["authData": ["anonymous": ["id": "kims"]]], Self.kim),
                ("PUT", "/users/kimkimkim1", ["authData": ["anonymous": .null]], Self.kim),
                (
                    "POST", "/classes/Fresh", ["a": 1, "o": ["b": 1], "at": .date("2020-01-01T00:00:00.000Z")],
                    .anonymous
                ),
                ("POST", "/classes/Fresh", ["links": .operation("AddRelation", [.pointer("Fresh", "x")])], .anonymous),
                (
                    "POST", "/classes/Fresh", ["place": ["__type": "GeoPoint", "latitude": 1, "longitude": 2]],
                    .anonymous
                ),
                (
                    "POST", "/schemas/Made",
                    [
                        "className": "Made",
                        "fields": [
                            "t": ["type": "String", "required": true, "defaultValue": "x"], "u": ["type": "Number"],
                            "m": ["type": "Relation", "targetClass": "Made"],
                        ],
                        "classLevelPermissions": ["find": ["*": true], "ACL": ["*": ["read": true]]],
                    ], .master
                ),
                ("PUT", "/schemas/Made", ["indexes": ["byText": ["t": 1]]], .master),
                ("PUT", "/schemas/Made", ["fields": ["u": ["__op": "Delete"]]], .master),
                ("PUT", "/schemas/Made", ["fields": ["m": ["__op": "Delete"], "v": ["type": "Polygon"]]], .master),
                ("PUT", "/schemas/_User", ["fields": ["nickname": ["__op": "Delete"]]], .master),
                ("POST", "/classes/Made", ["v": .null], .master),
                (
                    "POST", "/installations", ["installationId": "a", "deviceType": "ios", "channels": ["c"]],
                    .anonymous
                ),
                (
                    "POST", "/roles",
                    [
                        "name": "Guests", "ACL": ["*": ["read": true]],
                        "roles": .operation("AddRelation", [.pointer("_Role", "role000001")]),
                    ],
                    .master
                ),
                ("PUT", "/config", ["params": ["n": .increment(1)], "masterKeyOnly": ["n": true]], .master),
                ("PUT", "/graphql-config", ["params": ["enabledForClasses": ["Fresh"]]], .master),
                ("POST", "/hooks/functions", ["functionName": "g", "url": "https://g.example"], .master),
                ("PUT", "/hooks/functions/f", ["url": "https://f.example"], .master),
                ("POST", "/push_audiences", ["name": "all", "query": "{\"deviceType\":\"ios\"}"], .master),
                ("POST", "/sessions", ["note": "further"], signedUp),
                ("DELETE", "/purge/Draft", nil, .master), ("DELETE", "/schemas/Draft", nil, .master),
                (
                    "POST", "/batch",
                    [
                        "transaction": true,
                        "requests": [
                            ["method": "POST", "path": "/parse/classes/Fresh", "body": ["a": 2]],
                            ["method": "POST", "path": "/parse/classes/Fresh", "body": ["a": 3]],
                        ],
                    ], .anonymous
                ),
            ]
            for (number, call) in calls.enumerated() {
                // Changing the password revoked the sign-up's session.
                var identity = call.3
                if case .session(let token) = identity, token == lou.token, number > 0 {
                    let login = try await server.send("POST", "/login", ["username": "max", "password": "another"])
                    identity = .session(try login.string("sessionToken"))
                }
                let answer = try await server.send(
                    call.0, call.1, call.2, as: identity, headers: ["X-Parse-Request-Id": "request-\(number)"])
                #expect((200..<300).contains(answer.status), "\(call.0) \(call.1): \(answer.text)")
            }
            try await ParseServerLayout.expect(server)
        }
    }

    @Test("Picks up schema changes announced by parse-server without a restart")
    func announcement() async throws {
        try await TestServer.run(inPlaceOf: ParseServerDatabase.script) { server in
            #expect(try await server.send("GET", "/classes/Side").results.isEmpty)
            let change = """
                BEGIN;
                ALTER TABLE "Side" ADD COLUMN IF NOT EXISTS "count" double precision;
                UPDATE "_SCHEMA" SET "schema" = jsonb_set("schema", '{fields,count}', '{"type":"Number"}')
                WHERE "className" = 'Side';
                INSERT INTO "Side" ("objectId", "createdAt", "updatedAt", "count") VALUES ('side000001', now(), now(), 7);
                NOTIFY "schema.change", '{"senderId":"4b7c2a52-3c3a-4c06-9ad4-0a3b7d2c1f00"}';
                COMMIT;
                """
            var isChanged = false
            while !isChanged {
                do {
                    try await server.execute(change)
                    isChanged = true
                } catch let error as PostgresError where error.sqlState == "40P01" {
                    // The server is building the table's date index, and PostgreSQL resolved a deadlock with it.
                }
            }
            // Readers learn of the new field only by the announcement, which takes a moment.
            let clock = ContinuousClock()
            let deadline = clock.now + .seconds(10)
            var seen: JSONValue?
            while seen == nil, clock.now < deadline {
                seen = try await server.send("GET", "/classes/Side/side000001")["count"]
            }
            #expect(seen == 7)
        }
    }

    @Test("Log-ins, failed log-ins and reads work on the tables of an older parse-server")
    func oldTables() async throws {
        let aged = """
            ALTER TABLE "_User" DROP COLUMN "_password_history", DROP COLUMN "_password_changed_at",
                DROP COLUMN "_account_lockout_expires_at", DROP COLUMN "_failed_login_count";
            ALTER TABLE "_JobStatus" DROP COLUMN "params";
            UPDATE "_SCHEMA" SET "schema" = jsonb_set("schema", '{fields,o,type}', '"map"')
            WHERE "className" = 'Everything';
            """
        try await TestServer.run(
            inPlaceOf: ParseServerDatabase.script + "\n" + aged, ["accountLockout": ["threshold": 3, "duration": 5]]
        ) { server in
            let login = try await server.send(
                "POST", "/login", ["username": "kim", "password": .string(ParseServerDatabase.password)])
            #expect(login.status == 200, "\(login.text)")
            let wrong = try await server.send("POST", "/login", ["username": "kim", "password": "wrong"])
            #expect(wrong.code == 101, "\(wrong.text)")
            let read = try await server.send("GET", "/classes/Everything/everything", as: Self.kim)
            #expect(read["o"]?["b"] == [1, .null], "\(read.text)")
        }
    }
}
