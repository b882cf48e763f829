import JSON
import OrderedCollections
import ParseModel
import ParseStorage
import Postgres
import Testing

@Suite("Several processes on one database")
struct CatalogTests {
    @Test("A process reads and writes fields that another added, without a notification")
    func changesAreSeen() async throws {
        try await TestStore.run { first in
            try await TestStore.open(first.uri) { second in
                try await second.catalog.reload()
                try await first.create("T", "a", #"{"n":1}"#)
                try await second.create("T", "b", #"{"n":2,"s":"x"}"#)
                try await first.create("T", "c", #"{"s":"y","n":3}"#)
                #expect(try await first.ids("T", #"{"n":{"$gt":0}}"#) == ["a", "b", "c"])
                try await first.catalog.reload()
                #expect(try await first.value("T", "b", "s") == "x")
                #expect(try await second.ids("T", #"{"s":"y"}"#) == ["c"])
            }
        }
    }

    @Test("The type that any process gave a field first wins; writes of other types fail with 111")
    func typesAreOne() async throws {
        try await TestStore.run { first in
            try await TestStore.open(first.uri) { second in
                try await second.catalog.reload()
                try await first.create("T", "a", #"{"f":1}"#)
                #expect(try await parseCode { try await second.create("T", "b", #"{"f":"x"}"#) } == 111)
                #expect(try await parseCode { try await first.create("T", "b", #"{"f":"x"}"#) } == 111)
            }
        }
    }

    @Test("Columns and classes removed by another process cause no errors and can be created again")
    func removalsAreSeen() async throws {
        try await TestStore.run { first in
            try await first.create("T", "a", #"{"n":1,"s":"x"}"#)
            try await TestStore.open(first.uri) { second in
                try await second.catalog.reload()
                #expect(try await second.ids("T", #"{"n":1}"#) == ["a"])
                try await first.catalog.change("T") { current in
                    var schema = try #require(current)
                    schema.fields["n"] = nil
                    return schema
                }
                #expect(try await second.ids("T", #"{"n":1}"#) == [])
                #expect(try await second.object("T", "a")?["s"] == "x")
                try await first.catalog.drop("T")
                #expect(try await second.ids("T", "{}") == [])
                #expect(try await second.store.delete("T", objectId: "a") == false)
                try await second.create("T", "new", #"{"n":"text"}"#)
                #expect(try await second.value("T", "new", "n") == "text")
            }
        }
    }

    @Test("Concurrent writers that add the same and different fields all succeed")
    func concurrentFields() async throws {
        try await TestStore.run { first in
            try await TestStore.open(first.uri) { second in
                try await second.catalog.reload()
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    for number in 0..<30 {
                        let test = number % 2 == 0 ? first : second
                        tasks.addTask {
                            try await test.create("T", "id\(number)", #"{"same":\#(number),"f\#(number % 7)":"x"}"#)
                        }
                    }
                    try await tasks.waitForAll()
                }
                try await second.catalog.reload()
                #expect(try await second.ids("T", #"{"same":{"$gte":0}}"#).count == 30)
                for number in 0..<7 { #expect(second.catalog.schema("T")?.type(of: "f\(number)") == .string) }
            }
        }
    }

    @Test("After concurrent class changes, a process knows every added field")
    func concurrentChanges() async throws {
        try await TestStore.run { test in
            try await test.create("T", "a", "{}")
            for round in 0..<30 {
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    for number in 0..<16 {
                        tasks.addTask {
                            try await test.catalog.change("T") { current in
                                var schema = try #require(current)
                                schema.fields["f\(round)_\(number)"] = Field(.string)
                                return schema
                            }
                        }
                    }
                    try await tasks.waitForAll()
                }
                let known = try #require(test.catalog.schema("T"))
                for number in 0..<16 { #expect(known.fields["f\(round)_\(number)"] != nil, "\(round) \(number)") }
            }
        }
    }

    @Test("Announces a schema change with the sender's id")
    func announcements() async throws {
        try await TestStore.run { test in
            var iterator = test.client.listen(channels: ["schema.change"]).makeAsyncIterator()
            guard case .connected = await iterator.next() else {
                Issue.record("the first event must be that the connection stands")
                return
            }
            try await test.create("T", "a", #"{"n":1}"#)
            guard case .notification(let channel, let payload) = await iterator.next() else {
                Issue.record("the change must be announced")
                return
            }
            #expect(channel == "schema.change")
            #expect(try JSONValue(parsing: payload) == ["senderId": "test"])
        }
    }

    @Test("Concurrent installers on an empty database all succeed")
    func installers() async throws {
        try await TestStore.withDatabase { uri in
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for _ in 0..<4 {
                    tasks.addTask {
                        try await TestStore.open(uri) { test in
                            let installer = DatabaseInstaller(
                                client: test.client, catalog: test.catalog, logger: TestStore.logger)
                            try await installer.install()
                            #expect(test.catalog.schema("_User") != nil)
                        }
                    }
                }
                try await tasks.waitForAll()
            }
            try await TestStore.open(uri) { test in
                try await DatabaseInstaller(client: test.client, catalog: test.catalog, logger: TestStore.logger)
                    .install()
                let rows = try await test.client.query("SELECT count(*) FROM \"_SCHEMA\"")
                #expect(rows.int(0, 0) == 4)
            }
        }
    }

    @Test("Schema definitions create classes and fields but keep permissions that an administrator changed")
    func definitions() async throws {
        try await TestStore.run { test in
            let installer = DatabaseInstaller(client: test.client, catalog: test.catalog, logger: TestStore.logger)
            func definition(_ fields: String) -> [UInt8] {
                Array(
                    #"[{"className":"Song","fields":{\#(fields)},"classLevelPermissions":{"find":{"*":true}},"indexes":{"byTitle":{"title":1}}}]"#
                        .utf8)
            }
            try await installer.define(definition(#""title":{"type":"String"}"#))
            #expect(test.catalog.schema("Song")?.permissions?.source == ["find": ["*": true]])
            try await test.catalog.change("Song") { current in
                var schema = try #require(current)
                schema.permissions = ClassLevelPermissions(json: ["get": ["*": true]])
                return schema
            }
            try await installer.define(definition(#""title":{"type":"String"},"length":{"type":"Number"}"#))
            #expect(test.catalog.schema("Song")?.permissions?.source == ["get": ["*": true]])
            #expect(test.catalog.schema("Song")?.type(of: "length") == .number)
            let index = try await test.client.query("SELECT count(*) FROM pg_indexes WHERE indexname = 'byTitle'")
            #expect(index.int(0, 0) == 1)
        }
    }

    @Test("Reads rows and schema entries in the forms that parse-server leaves")
    func foreignForms() async throws {
        try await TestStore.run { test in
            try await test.client.execute(
                script: """
                    CREATE TABLE "Old" ("objectId" text PRIMARY KEY, "createdAt" timestamptz, "updatedAt" timestamptz,
                        "s" text, "o" jsonb, "stray" text, "_rperm" text[], "_wperm" text[]);
                    INSERT INTO "_SCHEMA" VALUES ('Old', '{"fields":{"objectId":{"type":"String"},"createdAt":{"type":"Date"},
                        "updatedAt":{"type":"Date"},"ACL":{"type":"ACL"},"s":{"type":"String"},"o":{"type":"map"},
                        "ghost":{"type":"Number"},"rel":{"type":"Relation","targetClass":"Old"}},
                        "classLevelPermissions":{"find":{"*":true}}}', true);
                    INSERT INTO "Old" VALUES ('a', now(), NULL, 'x', '{"n":{"__op":"Increment","amount":1}}', 'y', NULL, NULL);
                    INSERT INTO "_User" ("objectId", "username", "authData") VALUES ('u', 'ada', '{"gone":null,"here":{"id":"1"}}');
                    """)
            try await test.catalog.reload()
            #expect(test.catalog.schema("Old")?.type(of: "o") == .object)
            #expect(test.catalog.schema("Old")?.permissions?.admits(["*"], to: .get) == false)
            let user = try await test.object("_User", "u")
            #expect(user?["authData"] == ["here": ["id": "1"]])
            // Schema entries without a column, and relations without a table, are missing from every object.
            let ghost = #"{"ghost":{"$exists":true}}"#
            #expect(try await test.ids("Old", ghost) == [])
            #expect(try await test.ids("Old", #"{"s":"x"}"#) == ["a"])
            #expect(try await test.value("Old", "a", "o")?["n"]?["__op"] == "Increment")
            #expect(try await test.value("Old", "a", "stray") == nil)
        }
    }

    @Test("Stores permissions, field options and indexes in _SCHEMA")
    func schemaForms() async throws {
        try await TestStore.run { test in
            let permissions: JSONObject = ["find": ["*": true], "protectedFields": ["*": ["s"]]]
            try await test.catalog.change("C") { _ in
                ClassSchema(
                    name: "C", fields: ["s": Field(.string, required: true, defaultValue: "x")],
                    permissions: ClassLevelPermissions(json: permissions),
                    indexes: ["_id_": ["_id": 1], "byS": ["s": 1]])
            }
            try await test.catalog.reload()
            let schema = try #require(test.catalog.schema("C"))
            #expect(schema.fields["s"] == Field(.string, required: true, defaultValue: "x"))
            #expect(schema.permissions?.protectedFields == ["*": ["s"]])
            #expect(Set(schema.indexes.keys) == ["_id_", "byS"])
            let row = try await LayoutTests.schemaRow("C", test)
            #expect(row["indexes"]?["byS"] == ["s": 1])
            #expect(row["fields"]?["s"]?["required"] == true)
        }
    }
}
