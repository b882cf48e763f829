import JSON
import TestSupport
import Testing

@Suite struct SchemaIndexTests {
    private static let songs = IndexedClass(
        name: "Song",
        fields: [
            "title": ["type": "String"], "plays": ["type": "Number"], "tags": ["type": "Array"],
            "more": ["type": "Object"], "place": ["type": "GeoPoint"], "area": ["type": "Polygon"],
            "owner": ["type": "Pointer", "targetClass": "_User"], "fans": ["type": "Relation", "targetClass": "_User"],
        ])

    @Test("Creates the PostgreSQL index type that suits each field type")
    func kinds() async throws {
        try await Self.songs.run { server in
            let indexes: JSONValue = [
                "a": ["title": 1, "plays": -1], "b": ["_p_owner": 1], "c": ["tags": 1], "d": ["place": "2dsphere"],
                "e": ["title": "text"], "f": ["more": 1], "g": ["area": "2d"], "h": ["ACL": 1], "i": ["fans": 1],
            ]
            let answer = try await Self.songs.put(indexes, server).succeeded()
            #expect(answer["indexes"]?["_id_"] == ["_id": 1])
            #expect(answer["indexes"]?["a"] == ["title": 1, "plays": -1])
            #expect(
                try await Self.songs.definitions(server) == [
                    #"CREATE INDEX a ON public."Song" USING btree (title, plays DESC)"#,
                    #"CREATE INDEX b ON public."Song" USING btree (owner)"#,
                    #"CREATE INDEX c ON public."Song" USING gin (tags jsonb_path_ops)"#,
                    #"CREATE INDEX d ON public."Song" USING gist (place)"#,
                    #"CREATE INDEX e ON public."Song" USING gin (to_tsvector('english'::regconfig, title))"#,
                    #"CREATE INDEX f ON public."Song" USING gin (more jsonb_path_ops)"#,
                    #"CREATE INDEX g ON public."Song" USING gist (area)"#,
                    #"CREATE INDEX h ON public."Song" USING gin (_rperm)"#,
                ])
            #expect(
                try await Self.songs.definitions(server, table: "_Join:fans:Song") == [
                    #"CREATE INDEX i ON public."_Join:fans:Song" USING btree ("owningId", "relatedId")"#
                ])
        }
    }

    @Test("An index over fields of several types becomes one PostgreSQL index per type, removed together")
    func severalKinds() async throws {
        try await Self.songs.run { server in
            _ = try await Self.songs.put(["mixed": ["title": 1, "tags": 1]], server).succeeded()
            let made = try await Self.songs.definitions(server)
            #expect(made.count == 2)
            #expect(made.contains(#"CREATE INDEX mixed ON public."Song" USING btree (title)"#))
            #expect(made.contains { $0.hasSuffix("USING gin (tags jsonb_path_ops)") })
            _ = try await Self.songs.put(["mixed": ["__op": "Delete"]], server).succeeded()
            #expect(try await Self.songs.definitions(server) == [])
        }
    }

    @Test("Finds use the indexes")
    func plans() async throws {
        try await Self.songs.run { server in
            try await server.execute(
                """
                INSERT INTO "Song" ("objectId", title, plays, tags, owner)
                SELECT 'o' || n, 'title' || n || ' word' || n, n, jsonb_build_array('tag' || n), 'user' || n
                FROM generate_series(1, 5000) n;
                """)
            let indexes: JSONValue = [
                "byTitle": ["title": 1], "byTags": ["tags": 1], "byWords": ["title": "text"],
                "byOwner": ["owner": 1, "plays": -1],
            ]
            _ = try await Self.songs.put(indexes, server).succeeded()
            try await server.execute("ANALYZE \"Song\"")
            let cases: [(JSONObject, String)] = [
                (["where": ["title": "title7 word7"]], "byTitle"), (["where": ["tags": "tag7"]], "byTags"),
                (["where": ["title": ["$text": ["$search": ["$term": "word7"]]]]], "byWords"),
                (["where": ["owner": .pointer("_User", "user7")], "order": "-plays"], "byOwner"),
            ]
            for (find, index) in cases {
                var find = find
                find["explain"] = true
                let plan = try await server.find("Song", find, as: .master).succeeded()
                #expect(plan.text.contains(#""\#(index)""#), "\(plan.text)")
                find["explain"] = nil
                #expect(try await server.find("Song", find, as: .master).results.map { $0["objectId"] } == ["o7"])
            }
        }
    }

    @Test("Rejects invalid index changes with 102 and changes nothing")
    func refusals() async throws {
        try await Self.songs.run { server in
            _ = try await Self.songs.put(["a": ["title": 1]], server).succeeded()
            let cases: [(JSONValue, String)] = [
                (["a": ["plays": 1]], "Index a exists, cannot update."),
                (["none": ["__op": "Delete"]], "Index none does not exist, cannot delete."),
                (["b": ["nosuch": 1]], "Field nosuch does not exist, cannot add index."),
            ]
            for (indexes, error) in cases {
                let body: JSONValue = ["indexes": indexes, "fields": ["fresh": ["type": "String"]]]
                let answer = try await server.send("PUT", "/schemas/Song", body, as: .master)
                #expect(answer.status == 400)
                #expect(answer.code == 102)
                #expect(answer.error == error)
            }
            let user = try await server.send(
                "PUT", "/schemas/_User", ["indexes": ["p": ["password": 1]]], as: .master)
            #expect(user.error == "Field password does not exist, cannot add index.")
            let schema = try await server.send("GET", "/schemas/Song", as: .master)
            #expect(same(schema["indexes"], ["_id_": ["_id": 1], "a": ["title": 1]]))
            #expect(schema["fields"]?["fresh"] == nil)
        }
    }

    @Test("Classes can share index names and use names that PostgreSQL can't store")
    func names() async throws {
        try await Self.songs.run { server in
            let long = String(repeating: "long", count: 40)
            let names = ["same", long, "", "a\"b", "roost_x", "_User_unique_email"]
            var indexes: JSONObject = [:]
            var removals: JSONObject = [:]
            for name in names {
                indexes[name] = ["title": 1]
                removals[name] = ["__op": "Delete"]
            }
            let body: JSONValue = ["fields": ["title": ["type": "String"]], "indexes": .object(indexes)]
            _ = try await server.send("POST", "/schemas/Album", body, as: .master).succeeded()
            _ = try await Self.songs.put(["same": ["title": 1]], server).succeeded()
            #expect(try await Self.songs.definitions(server, table: "Album").count == names.count)
            #expect(try await Self.songs.definitions(server).count == 1)
            let left = try await server.send(
                "PUT", "/schemas/Album", ["indexes": .object(removals)], as: .master
            ).succeeded()
            #expect(left["indexes"] == ["_id_": ["_id": 1]])
            #expect(try await Self.songs.definitions(server, table: "Album") == [])
            #expect(try await Self.songs.definitions(server).count == 1)
            let unique = try await server.texts("SELECT 1::text FROM pg_class WHERE relname = '_User_unique_email'")
            #expect(unique.count == 1)
        }
    }

    @Test("Deleting a field removes its indexes")
    func removedField() async throws {
        try await Self.songs.run { server in
            _ = try await Self.songs.put(["a": ["title": 1, "tags": 1], "b": ["plays": 1]], server).succeeded()
            let answer = try await server.send(
                "PUT", "/schemas/Song", ["fields": ["title": ["__op": "Delete"]]], as: .master
            ).succeeded()
            #expect(same(answer["indexes"], ["_id_": ["_id": 1], "b": ["plays": 1]]))
            #expect(
                try await Self.songs.definitions(server) == [#"CREATE INDEX b ON public."Song" USING btree (plays)"#])
        }
    }

    @Test("Lists and removes indexes created in PostgreSQL, and reports their duplicates with 137")
    func handmade() async throws {
        try await Self.songs.run { server in
            try await server.execute(
                """
                CREATE UNIQUE INDEX "byHand" ON "Song" (title, plays DESC);
                CREATE INDEX words ON "Song" USING gin (to_tsvector('german', title));
                CREATE INDEX around ON "Song" USING gist (place);
                """)
            let first = try await server.create("Song", ["title": "x", "plays": 1])
            let second = try await server.create("Song", ["title": "x", "plays": 2])
            let inserted = try await server.send("POST", "/classes/Song", ["title": "x", "plays": 1])
            #expect(inserted.code == 137)
            #expect(inserted.error == "A duplicate value for a field with unique values was provided")
            #expect(try await server.send("PUT", "/classes/Song/\(second)", ["plays": 1]).code == 137)
            #expect(try await server.send("PUT", "/classes/Song/\(first)", ["plays": 3]).status == 200)
            let expected: JSONValue = [
                "_id_": ["_id": 1], "byHand": ["title": 1, "plays": -1], "words": ["title": "text"],
                "around": ["place": "2dsphere"],
            ]
            #expect(same(try await server.send("GET", "/schemas/Song", as: .master)["indexes"], expected))
            let all = try await server.send("GET", "/schemas", as: .master)
            #expect(same(all.results.first { $0["className"] == "Song" }?["indexes"], expected))
            #expect(
                try await Self.songs.put(["byHand": ["title": 1]], server).error
                    == "Index byHand exists, cannot update.")
            _ = try await Self.songs.put(["byHand": ["__op": "Delete"]], server).succeeded()
            #expect(try await server.send("POST", "/classes/Song", ["title": "x", "plays": 2]).status == 201)
        }
    }

    @Test("Builds all or none of the indexes of a large table, and only once under concurrent requests")
    func largeTable() async throws {
        try await Self.songs.run { server in
            try await server.execute(
                """
                INSERT INTO "Song" ("objectId", title, plays)
                SELECT 'o' || n, repeat(md5(n::text), 3), n FROM generate_series(1, 40000) n;
                """)
            let answers = try await concurrently(3) { _ in
                try await Self.songs.put(["byTitle": ["title": 1], "byPlays": ["plays": -1]], server)
            }
            #expect(answers.filter { $0.status == 200 }.count == 1)
            #expect(answers.filter { $0.status != 200 }.allSatisfy { $0.code == 102 })
            #expect(
                try await Self.songs.definitions(server) == [
                    #"CREATE INDEX "byPlays" ON public."Song" USING btree (plays DESC)"#,
                    #"CREATE INDEX "byTitle" ON public."Song" USING btree (title)"#,
                ])
            _ = try await Self.songs.put(["byTitle": ["__op": "Delete"]], server).succeeded()
            // A text too long for an index makes the build fail halfway.
            try await server.execute(
                """
                INSERT INTO "Song" ("objectId", title)
                SELECT 'long', string_agg(md5(n::text), '') FROM generate_series(1, 2000) n;
                """)
            let failed = try await Self.songs.put(["again": ["title": 1]], server)
            #expect(failed.status == 400)
            #expect(failed.code == 102)
            #expect(
                try await Self.songs.definitions(server) == [
                    #"CREATE INDEX "byPlays" ON public."Song" USING btree (plays DESC)"#
                ])
            let listed = try await server.send("GET", "/schemas/Song", as: .master)
            #expect(same(listed["indexes"], ["_id_": ["_id": 1], "byPlays": ["plays": -1]]))
            _ = try await server.send("DELETE", "/classes/Song/long", as: .master).succeeded()
            _ = try await Self.songs.put(["again": ["title": 1]], server).succeeded()
        }
    }

    @Test("A server start removes a partly built index that a crashed process left behind")
    func leftBehind() async throws {
        try await Self.songs.run { server in
            try await server.execute("CREATE INDEX \"roost_building:0:0\" ON \"Song\" (title)")
            try await server.alongside { other in
                let isGone = try await eventually { try await Self.songs.definitions(other) == [] }
                #expect(isGone)
                let listed = try await other.send("GET", "/schemas/Song", as: .master)
                #expect(listed["indexes"] == nil)
            }
        }
    }

    @Test("A class can take the name of another class's index, which remains usable")
    func nameOfAnIndex() async throws {
        try await Self.songs.run { server in
            _ = try await Self.songs.put(["Album": ["title": 1]], server).succeeded()
            let id = try await server.create("Album", ["name": "x"])
            #expect(try await server.send("GET", "/classes/Album/\(id)")["name"] == "x")
            #expect(try await Self.songs.definitions(server).contains { $0.contains("(title)") })
            _ = try await Self.songs.put(["Album": ["__op": "Delete"]], server).succeeded()
            #expect(try await !Self.songs.definitions(server).contains { $0.contains("(title)") })
        }
    }

    @Test("Rejects schema changes in a transaction with 107")
    func insideTransaction() async throws {
        try await Self.songs.run { server in
            let answer = try await server.send(
                "POST", "/batch",
                [
                    "transaction": true,
                    "requests": [
                        ["method": "PUT", "path": "/parse/schemas/Song", "body": ["indexes": ["x": ["title": 1]]]]
                    ],
                ], as: .master)
            #expect(answer.status == 400)
            #expect(answer["code"] == 107)
        }
    }
}
