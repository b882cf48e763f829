import Doctor
import JSON
import ParseModel
import ParseStorage
import Postgres
import TestSupport
import Testing

/// Classes whose rows Citus distributes over its workers (`distribution`, mode `rows`).
@Suite(
    "Classes distributed by Citus", .enabled("PostgreSQL has no Citus here") { try await CitusCluster.isInstalled() })
struct CitusRowsTests {
    static func distribution(_ classes: JSONObject, _ others: JSONObject = [:]) -> JSONObject {
        let rows: JSONObject = ["engine": "citus", "mode": "rows", "classes": .object(classes)]
        return [
            "distribution": .object(rows.merging(others) { $1 }), "liveQuery": ["classNames": ["Song", "Message"]],
            "startLiveQueryServer": true,
        ]
    }

    private static func placements(_ server: TestServer) async throws -> [[String?]] {
        try await server.rows(
            """
            SELECT c.relname::text, t.citus_table_type, t.distribution_column, t.shard_count::text FROM citus_tables t
            JOIN pg_class c ON c.oid = t.table_name WHERE c.relname !~ '^_roost' ORDER BY 1
            """)
    }

    @Test(
        "Most routes respond as on plain PostgreSQL, with all classes local or distributed by objectId",
        arguments: ["local", ["by": "objectId"]] as [JSONValue])
    func routes(placement: JSONValue) async throws {
        let isLocal = placement == "local"
        let expected = try await TestServer.run { try await RouteSteps.answers(of: $0, withUniqueIndex: isLocal) }
        try await CitusCluster.run { cluster in
            let options = Self.distribution(["*": placement])
            let seen = try await TestServer.run(on: cluster.uri, options) { server in
                let answers = try await RouteSteps.answers(of: server, withUniqueIndex: isLocal)
                _ = try await server.create("Song", ["title": "a"])
                let spread = try await Self.placements(server)
                #expect(spread == (isLocal ? [] : [["Song", "distributed", "objectId", "4"]]))
                return answers
            }
            for (seen, expected) in zip(seen, expected) { #expect(seen.answer == expected.answer, "\(seen.request)") }
        }
    }

    @Test("Concurrent transactions across three shards are atomic and don't deadlock")
    func transactions() async throws {
        try await CitusCluster.run { cluster in
            let options = Self.distribution(["Account": ["by": "objectId"]])
            try await TestServer.run(on: cluster.uri, options) { server in
                var ids: [Int: String] = [:]
                while ids.count < 3 {
                    let id = try await server.create("Account", ["n": 0])
                    let shard = try await server.texts(
                        "SELECT get_shard_id_for_distribution_column('\"Account\"', '\(id)')::text")
                    ids[Int(shard[0]) ?? 0] = id
                }
                let accounts = Array(ids.values)
                let done = try await concurrently(8) { client in
                    var done = 0
                    for round in 0..<12 {
                        // In varying order, and every third transaction fails at its last object.
                        let order = (0..<3).map { accounts[($0 + client + round) % 3] }
                        let fails = round % 3 == 2
                        let requests = order.enumerated().map { index, id -> JSONValue in
                            let change = fails && index == 2 ? "text" : JSONValue.increment(1)
                            return [
                                "method": "PUT", "path": .string("/parse/classes/Account/\(id)"),
                                "body": ["n": change],
                            ]
                        }
                        let answer = try await server.send(
                            "POST", "/batch", ["transaction": true, "requests": .array(requests)])
                        #expect((answer.status == 200) == !fails, "\(answer.json.text)")
                        if answer.status == 200 { done += 1 }
                    }
                    return done
                }
                let total = done.reduce(0, +)
                #expect(total == 64)
                let ours: JSONValue = ["objectId": ["$in": .array(accounts.map { .string($0) })]]
                let results = try await server.find("Account", ["where": ours]).results
                #expect(results.map { $0["n"]?.numberValue } == [Double(total), Double(total), Double(total)])
            }
        }
    }

    /// If one of several objects created together is rejected, the others are created exactly once. The same applies to
    /// increments.
    static func isWhole(_ server: TestServer, _ className: String) async throws {
        _ = try await server.create(className, ["objectId": "known"])
        let bodies: [JSONObject] = [["objectId": "a", "n": 0], ["objectId": "b", "text": "x"], ["objectId": "known"]]
        let requests = bodies.map { body -> JSONValue in
            ["method": "POST", "path": .string("/parse/classes/\(className)"), "body": .object(body)]
        }
        let made = try await server.send("POST", "/batch", ["requests": .array(requests)])
        let codes = made.json.arrayValue?.map { $0["error"]?["code"]?.numberValue }
        #expect(codes == [nil, nil, 137], "\(made.text)")
        // Some of the concurrent requests fail.
        let answers = try await concurrently(48) { index in
            if index % 6 == 5 { return try await server.send("POST", "/classes/\(className)", ["objectId": "known"]) }
            let path = "/classes/\(className)/\(index % 2 == 0 ? "a" : "b")"
            return try await server.send("PUT", path, ["n": .increment(1)])
        }
        #expect(answers.count { $0.status == 200 } == 40)
        let sum = try await server.find(className).results.reduce(0) { $0 + ($1["n"]?.numberValue ?? 0) }
        #expect(sum == 40)
    }

    @Test("A rejected request doesn't affect those processed with it, and none is applied twice")
    func atOnce() async throws {
        try await CitusCluster.run { cluster in
            let options = Self.distribution(["*": ["by": "objectId"]]).merging(["allowCustomObjectId": true]) { $1 }
            try await TestServer.run(on: cluster.uri, options) { try await Self.isWhole($0, "Song") }
        }
    }

    private static let message: JSONObject = ["room": "one", "text": "hello"]

    @Test("A custom distribution field is required and can't be changed; other operations work")
    func byField() async throws {
        try await CitusCluster.run { cluster in
            let options = Self.distribution(["Message": ["by": "room"], "Country": "reference"], ["shards": 2])
            try await TestServer.run(on: cluster.uri, options) { server in
                let first = try await server.send("POST", "/classes/Message", ["text": "a"])
                #expect(first.json == ["code": 142, "error": "room is required: Message is distributed by it"])
                let number = try await server.send("POST", "/classes/Message", ["room": 1])
                #expect(number.code == 111)
                let id = try await server.create("Message", Self.message)
                let other = try await server.create("Message", ["room": "two", "text": "b"])
                #expect(try await server.send("POST", "/classes/Message", ["text": "a"]).code == 142)
                _ = try await server.create("Country", ["name": "x"])
                let path = "/classes/Message/\(id)"
                let moved = try await server.send("PUT", path, ["room": "two"])
                #expect(moved.json == ["code": 119, "error": "room can't be changed: Message is distributed by it"])
                _ = try await server.send("PUT", path, ["room": "one", "text": "c"]).succeeded()
                try await Self.changes(server, path)
                let batch = try await server.send(
                    "POST", "/batch",
                    [
                        "transaction": true,
                        "requests": .array(
                            [id, other].map {
                                [
                                    "method": "PUT", "path": .string("/parse/classes/Message/\($0)"),
                                    "body": ["n": .increment(1)],
                                ]
                            }),
                    ])
                #expect(batch.status == 200, "\(batch.json.text)")
                #expect(try await server.find("Message", ["where": ["n": 1]]).results.count == 2)
                #expect(try await server.send("PUT", "/classes/Message/none", ["text": "x"]).code == 101)
                #expect(try await server.send("DELETE", path).status == 200)
                #expect(try await server.send("GET", path).code == 101)
                let placements = try await Self.placements(server)
                #expect(
                    placements == [
                        ["Country", "reference", "<none>", "1"], ["Message", "distributed", "room", "2"],
                        ["_Join:readers:Message", "distributed", "owningId", "2"],
                    ])
            }
        }
    }

    private static func rows(_ routes: ConsoleRoutes) async throws -> [[String]] {
        var rows: [[String]] = []
        for table in ["Song", "Message", "Country", "_Join:fans:Song", "_Join:fans:Message"] {
            rows.append(try await routes.texts("SELECT _row::text FROM \"\(table)\" AS _row ORDER BY 1"))
        }
        return rows
    }

    @Test("Restores objects that operators deleted from distributed classes, with their relations")
    func trash() async throws {
        try await CitusCluster.run { cluster in
            let distribution = Distribution(
                isBySchema: false, classes: ["Message": .rows(by: "room"), "Country": .reference],
                others: .rows(by: "objectId"))
            try await ConsoleRoutes.run(on: cluster.uri, distribution) { routes in
                let store = routes.backend.store
                try await store.prepareChangeNumbers()
                var objects: [(className: String, id: String)] = []
                for className in ["Song", "Message", "Country"] {
                    var body: JSONObject = ["room": "one", "n": -0.0, "tags": [1, ["a": .null]], "meta": ["b": 1]]
                    if className != "Country" {
                        body["fans"] = .operation("AddRelation", [.pointer("_User", "u"), .pointer("_User", "v")])
                    }
                    objects.append((className, try await routes.create("/classes/\(className)", body).id))
                    _ = try await routes.create("/classes/\(className)", ["room": "two"])
                }
                let before = try await Self.rows(routes)
                var kept: [String] = []
                for (className, id) in objects {
                    let one = try await store.trash.move(className, id, for: "Kim", wants: [.former, .number])
                    let (trashId, change) = try #require(one)
                    #expect(try #require(change).number != nil)
                    kept.append(trashId)
                    #expect(try await store.trash.move(className, id, for: "Kim") == nil)
                    #expect(try await routes.send(.get, "/classes/\(className)/\(id)").code == 101)
                }
                for table in ["_Join:fans:Song", "_Join:fans:Message"] {
                    _ = try await routes.client.query("DELETE FROM \"\(table)\"")
                }
                #expect(try await store.trash.list(className: "Song", objectId: nil, limit: 9).count == 1)
                for id in kept { _ = try await routes.backend.trash.restore(id, routes.context) }
                #expect(try await Self.rows(routes) == before)
                #expect(try await store.trash.list(className: nil, objectId: nil, limit: 9).isEmpty)
            }
        }
    }

    @Test("An update doesn't change a protected object with the same id but another distribution value")
    func twins() async throws {
        try await CitusCluster.run { cluster in
            let options = Self.distribution(["Message": ["by": "room"]]).merging(["allowCustomObjectId": true]) { $1 }
            try await TestServer.run(on: cluster.uri, options) { server in
                let body: JSONObject = ["objectId": "same", "room": "two", "n": 1, "ACL": [:]]
                _ = try await server.send("POST", "/classes/Message", .object(body), as: .master).succeeded()
                _ = try await server.create("Message", ["objectId": "same", "room": "one", "n": 1])
                for _ in 0..<8 { _ = try await server.send("PUT", "/classes/Message/same", ["n": 666]) }
                let changed = try await server.texts("SELECT n::text FROM \"Message\" WHERE room = 'two'")
                #expect(changed == ["1"])
            }
        }
    }

    private static func changes(_ server: TestServer, _ path: String) async throws {
        let (user, _) = try await server.signUp("lena")
        try await server.liveQuery { client in
            _ = try await client.connect()
            _ = try await client.subscribe(1, "Message")
            let reader = JSONValue.pointer("_User", user)
            _ = try await server.send("PUT", path, ["text": "new", "readers": .operation("AddRelation", [reader])])
                .succeeded()
            #expect(try await client.next()["object"]?["text"] == "new")
            #expect(try await server.find("Message", ["where": ["readers": reader]]).results.count == 1)
            let object = JSONValue.pointer("Message", String(path.split(separator: "/").last ?? ""))
            let related: JSONValue = ["$relatedTo": ["object": object, "key": "readers"]]
            #expect(try await server.find("_User", ["where": related]).results.count == 1)
        }
    }

    @Test("Adds and deletes fields, relations and classes; unique indexes need the distribution field")
    func schemas() async throws {
        try await CitusCluster.run { cluster in
            let options = Self.distribution(["*": ["by": "objectId"], "Message": ["by": "room"]])
            try await TestServer.run(on: cluster.uri, options) { server in
                func change(_ method: String, _ name: String, _ body: JSONObject) async throws -> TestAnswer {
                    try await server.send(method, "/schemas/\(name)", .object(body), as: .master)
                }
                _ = try await change("POST", "Message", ["fields": ["room": ["type": "String"]]]).succeeded()
                #expect(try await change("POST", "Reading", [:]).status == 200)
                for name in ["Message", "Reading"] {
                    _ = try await change(
                        "PUT", name,
                        [
                            "fields": [
                                "n": ["type": "Number"], "at": ["type": "GeoPoint"],
                                "many": ["type": "Relation", "targetClass": "Reading"],
                            ], "indexes": ["byN": ["n": 1]],
                        ]
                    ).succeeded()
                    let refused = try await change("PUT", name, ["indexes": ["one": ["n": 1, "$unique": true]]])
                    #expect(refused.code == 102 && refused.status == 400)
                    #expect(refused.error?.contains("A unique index on") == true)
                }
                // More rows than a class may have to get its indexes within the class change.
                try await server.execute(
                    """
                    INSERT INTO "Message" ("objectId", "room", "n", "createdAt")
                    SELECT 'm' || i, CASE WHEN i % 20 = 0 THEN 'r' || i ELSE 'busy' END, i, now() FROM generate_series(1, 80000) i
                    """)
                let unique: JSONObject = ["indexes": ["two": ["room": 1, "n": 1, "$unique": true]]]
                _ = try await change("PUT", "Message", unique).succeeded()
                let again = try await server.send("POST", "/classes/Message", ["room": "busy", "n": 1])
                #expect(again.code == 137)
                #expect(try await server.find("Message", ["where": ["n": 40]]).results.count == 1)
                let kept = try await change("PUT", "Message", ["fields": ["room": ["__op": "Delete"]]])
                #expect(kept.code == 119)
                try await Self.diagnose(server)
                for name in ["many", "n"] {
                    _ = try await change("PUT", "Message", ["fields": [Name(name): ["__op": "Delete"]]]).succeeded()
                }
                #expect(try await change("DELETE", "Message", [:]).code == 255)
                _ = try await server.send("DELETE", "/purge/Message", as: .master).succeeded()
                _ = try await change("DELETE", "Message", [:]).succeeded()
                _ = try await change("DELETE", "Reading", [:]).succeeded()
                #expect(try await Self.placements(server) == [])
            }
        }
    }

    /// Checks the doctor's findings for a class in which one room has most of the messages.
    private static func diagnose(_ server: TestServer) async throws {
        let client = PostgresClient(
            configuration: PostgresConfiguration(connectionString: server.databaseURI), logger: TestServer.quietLogger)
        let report = try await Doctor(client: client).examine()
        await client.shutdown()
        #expect(report.findings.filter { $0.kind == .skew }.map(\.subject) == ["Message"])
        let size = report.classes.first { $0.name == "Message" }
        #expect(size?.rows == 80_000 && size?.bytes ?? 0 > 4_000_000)
        #expect(report.findings.filter { $0.severity == .error && $0.kind != .setting } == [])
    }

    @Test("Classes keep their distribution when the option changes; startup without the option fails")
    func later() async throws {
        try await CitusCluster.run { cluster in
            let id = try await TestServer.run(on: cluster.uri, Self.distribution(["Song": ["by": "objectId"]])) {
                server in
                _ = try await server.create("Tune", ["n": 1])
                return try await server.create("Song", ["n": 1])
            }
            let others = Self.distribution(["*": "reference", "Tune": ["by": "objectId"]])
            try await TestServer.run(on: cluster.uri, others) { server in
                _ = try await server.send("PUT", "/classes/Song/\(id)", ["n": 2, "new": 1]).succeeded()
                _ = try await server.create("Tune", ["m": 1])
                #expect(try await Self.placements(server) == [["Song", "distributed", "objectId", "4"]])
            }
            await #expect(
                performing: {
                    try await TestServer.run(on: cluster.uri) { _ in }
                }, throws: { "\($0)".contains("Song is distributed by Citus") })
        }
    }
}

/// A distribution requires a database with Citus.
@Suite struct DistributionStartTests {
    @Test("Refuses to start with a distribution if the database has no Citus", arguments: [nil, "shop"] as [String?])
    func refused(schema: String?) async throws {
        var options: JSONObject = ["distribution": ["engine": "citus", "mode": schema == nil ? "rows" : "schema"]]
        if let schema { options["databaseSchema"] = .string(schema) }
        let refusing = options
        await #expect(
            performing: {
                try await TestServer.run(refusing) { _ in }
            }, throws: { "\($0)".contains("option distribution requires Citus") })
    }
}
