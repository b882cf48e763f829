import JSON
import ParseModel
import ParseStorage
import Testing

@Suite struct TrashTests {
    private static func rows(_ test: TestStore, _ table: String) async throws -> [String] {
        let rows = try await test.client.query("SELECT _r::text FROM \"\(table)\" AS _r ORDER BY 1")
        return (0..<rows.rowCount).compactMap { rows.string($0, 0) }
    }

    private static func restore(_ test: TestStore, _ id: String) async throws {
        try await test.store.transaction { store in
            let entry = try #require(try await store.trash.entry(id))
            _ = try await store.trash.restore(entry)
        }
    }

    @Test("A restored object is exactly the same, with its dates, permissions and relations")
    func exact() async throws {
        try await TestStore.run { test in
            try await ConsoleTables(client: test.client).prepare()
            try await ConsoleTables(client: test.client).prepare()
            try await test.create(
                "Song", "a",
                """
                {"title":"x\\n\\"\\\\","plays":1,"tags":[1,1e21,{"b":null}],"meta":{"z":1,"a":2},"none":{"a":1},
                "at":{"__type":"GeoPoint","latitude":1.1,"longitude":2},"live":true,
                "area":{"__type":"Polygon","coordinates":[[0,0],[1,1],[0.1,2]]},
                "on":{"__type":"Date","iso":"2026-01-01T00:00:00.001Z"},
                "cover":{"__type":"File","name":"c.png"},"by":{"__type":"Pointer","className":"_User","objectId":"u"},
                "fans":{"__op":"AddRelation","objects":[{"__type":"Pointer","className":"_User","objectId":"u"},
                {"__type":"Pointer","className":"_User","objectId":"v"}]}}
                """, acl: ACL(readers: ["*"], writers: ["role:A b", "u"]))
            try await test.create("Song", "b")
            try await test.client.execute(
                script: """
                    UPDATE "Song" SET "plays" = '-0', "updatedAt" = '275760-09-13 00:00:00.123456+00', "none" = 'null',
                        "createdAt" = '0001-01-01 BC' WHERE "objectId" = 'a'
                    """)
            let before = [try await Self.rows(test, "Song"), try await Self.rows(test, "_Join:fans:Song")]
            let first = try #require(try await test.store.trash.move("Song", "a", for: "Kim"))
            let second = try #require(try await test.store.trash.move("Song", "b", for: "Lou"))
            #expect(try await Self.rows(test, "Song").isEmpty)
            try await test.client.execute(script: "DELETE FROM \"_Join:fans:Song\"")
            let listed = try await test.store.trash.list(className: "Song", objectId: nil, limit: 10)
            #expect(listed.map(\.objectId) == ["b", "a"] && listed.map(\.operatorName) == ["Lou", "Kim"])
            let objects = try await test.store.trash.objects([first.id], of: "Song", shorten: 256, links: .none)
            #expect(objects[Name(first.id)]?["title"] == "x\n\"\\")
            for id in [first.id, second.id] { try await Self.restore(test, id) }
            let after = [try await Self.rows(test, "Song"), try await Self.rows(test, "_Join:fans:Song")]
            #expect(after == before)
            #expect(try await test.store.trash.list(className: nil, objectId: nil, limit: 10).isEmpty)
        }
    }

    @Test("Restoring an object reports the fields that its class no longer has")
    func dropped() async throws {
        try await TestStore.run { test in
            try await ConsoleTables(client: test.client).prepare()
            let user =
                "{\"__op\":\"AddRelation\",\"objects\":[{\"__type\":\"Pointer\",\"className\":\"_User\",\"objectId\":\"u\"}]}"
            try await test.create("Song", "a", "{\"title\":\"x\",\"plays\":1,\"tags\":[1],\"fans\":\(user)}")
            let kept = try #require(try await test.store.trash.move("Song", "a", for: "Kim"))
            try await test.store.catalog.change("Song") { current in
                var schema = try #require(current)
                for field: Name in ["plays", "fans"] { schema.fields[field] = nil }
                return schema
            }
            let dropped = try await test.store.transaction { store in
                let entry = try #require(try await store.trash.entry(kept.id))
                return try await store.trash.restore(entry).dropped
            }
            #expect(dropped == ["fans", "plays"])
        }
    }

    @Test("Restoring leaves out and reports values that no longer fit the types of their fields")
    func misfits() async throws {
        try await TestStore.run { test in
            try await ConsoleTables(client: test.client).prepare()
            try await test.create("Song", "a", "{\"title\":\"x\",\"plays\":\"many\",\"tags\":{\"a\":1}}")
            let kept = try #require(try await test.store.trash.move("Song", "a", for: "Kim"))
            try await test.store.catalog.change("Song") { current in
                var schema = try #require(current)
                for field: Name in ["plays", "tags"] { schema.fields[field] = nil }
                return schema
            }
            try await test.create("Song", "b", "{\"plays\":1,\"tags\":[1]}")
            let entry = try #require(try await test.store.trash.entry(kept.id))
            let misfits = try await test.store.trash.misfits(entry)
            #expect(misfits == ["plays", "tags"])
            let dropped = try await test.store.transaction { store in
                try await store.trash.restore(entry, without: Set(misfits)).dropped
            }
            #expect(dropped == ["plays", "tags"])
            let object = try #require(try await test.object("Song", "a"))
            #expect(object["title"] == "x" && object["plays"] == nil && object["tags"] == nil)
        }
    }

    @Test("Restores columns outside the schema, and leaves fields added meanwhile empty")
    func hidden() async throws {
        try await TestStore.run { test in
            try await ConsoleTables(client: test.client).prepare()
            try await test.create("_User", "u", "{\"username\":\"kim\"}")
            try await test.client.execute(
                script: """
                    UPDATE "_User" SET "_hashed_password" = 'hash', "_failed_login_count" = 3,
                        "_password_history" = '["a"]', "authData" = '{"x":{"id":"1"}}'
                    """)
            let before = try await Self.rows(test, "_User")
            let kept = try #require(try await test.store.trash.move("_User", "u", for: "Kim"))
            try await Self.restore(test, kept.id)
            #expect(try await Self.rows(test, "_User") == before)
            try await test.create("Song", "s", "{\"title\":\"x\",\"old\":1}")
            let song = try #require(try await test.store.trash.move("Song", "s", for: "Kim"))
            try await test.create("Song", "t", "{\"new\":1}")
            try await test.catalog.change("Song") { schema in
                var schema = schema ?? ClassSchema(name: "Song")
                schema.fields["old"] = nil
                return schema
            }
            try await Self.restore(test, song.id)
            let object = try #require(try await test.object("Song", "s"))
            #expect(object["title"] == "x" && object["new"] == nil && object["old"] == nil)
        }
    }

    @Test("An object stays in the trash if its id is taken or its class is gone")
    func taken() async throws {
        try await TestStore.run { test in
            try await ConsoleTables(client: test.client).prepare()
            try await test.create("Song", "a")
            let kept = try #require(try await test.store.trash.move("Song", "a", for: "Kim"))
            #expect(try await test.store.trash.move("Song", "a", for: "Kim") == nil)
            try await test.create("Song", "a")
            let taken = try await parseCode { try await Self.restore(test, kept.id) }
            #expect(taken == ParseError.duplicateValue)
            try await test.catalog.drop("Song")
            let gone = try await parseCode { try await Self.restore(test, kept.id) }
            #expect(gone == ParseError.invalidClassName)
            let left = try await test.store.trash.list(className: nil, objectId: "a", limit: 10)
            #expect(left.map(\.id) == [kept.id])
        }
    }

    @Test("Deletes old objects from the trash, and the oldest ones beyond its size limit")
    func bounds() async throws {
        try await TestStore.run { test in
            // The table doesn't exist yet.
            try await test.store.trash.sweep(days: 30, maxBytes: 1)
            try await ConsoleTables(client: test.client).prepare()
            for index in 0..<4 {
                try await test.create("Song", "s\(index)", "{\"title\":\"\(String(repeating: "x", count: 1_000))\"}")
                _ = try await test.store.trash.move("Song", "s\(index)", for: "Kim")
            }
            try await test.client.execute(
                script: "UPDATE \"_roost_trash\" SET \"_deleted\" = now() - interval '31 days' WHERE \"_object\" = 's3'"
            )
            try await test.store.trash.sweep(days: 30, maxBytes: 2_900)
            let left = try await test.store.trash.list(className: nil, objectId: nil, limit: 10).map(\.objectId)
            #expect(left == ["s2", "s1"])
        }
    }
}
