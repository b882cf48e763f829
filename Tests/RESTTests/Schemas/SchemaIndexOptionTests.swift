import JSON
import TestSupport
import Testing

@Suite struct SchemaIndexOptionTests {
    private static let posts = IndexedClass(
        name: "Post",
        fields: [
            "email": ["type": "String"], "state": ["type": "String"], "votes": ["type": "Number"],
            "open": ["type": "Boolean"], "due": ["type": "Date"], "tags": ["type": "Array"],
            "place": ["type": "GeoPoint"], "author": ["type": "Pointer", "targetClass": "_User"],
            "fans": ["type": "Relation", "targetClass": "_User"],
        ])

    @Test("A unique index rejects duplicate creates and updates, is listed after a restart and can be removed")
    func unique() async throws {
        try await Self.posts.run { server in
            let index: JSONValue = ["email": 1, "state": -1, "$unique": true]
            _ = try await Self.posts.put(["one": index], server).succeeded()
            #expect(
                try await Self.posts.definitions(server) == [
                    #"CREATE UNIQUE INDEX one ON public."Post" USING btree (email, state DESC)"#
                ])
            _ = try await server.create("Post", ["email": "a", "state": "x"])
            let other = try await server.create("Post", ["email": "a", "state": "y"])
            let refused = try await server.send("POST", "/classes/Post", ["email": "a", "state": "x"])
            #expect(refused.code == 137)
            #expect(refused.error == "A duplicate value for a field with unique values was provided")
            #expect(try await server.send("PUT", "/classes/Post/\(other)", ["state": "x"]).code == 137)
            // Objects without the field are not duplicates.
            _ = try await server.create("Post", ["email": "a"])
            _ = try await server.create("Post", ["email": "a"])
            try await server.alongside { restarted in
                let listed = try await Self.posts.listed(restarted)
                #expect(same(listed, ["_id_": ["_id": 1], "one": index]))
                _ = try await Self.posts.put(["one": ["__op": "Delete"]], restarted).succeeded()
            }
            #expect(try await Self.posts.definitions(server) == [])
            _ = try await server.create("Post", ["email": "a", "state": "x"])
        }
    }

    @Test("A partial unique index allows duplicates that don't match its condition")
    func partialUnique() async throws {
        try await Self.posts.run { server in
            _ = try await Self.posts.put(
                ["one": ["email": 1, "$unique": true, "$where": ["state": "open", "votes": ["$gte": 1]]]], server
            ).succeeded()
            _ = try await server.create("Post", ["email": "a", "state": "open", "votes": 1])
            let free = try await server.create("Post", ["email": "a", "state": "open", "votes": 0.5])
            let closed = try await server.create("Post", ["email": "a", "state": "closed", "votes": 5])
            _ = try await server.create("Post", ["email": "a", "state": "open"])
            #expect(
                try await server.send("POST", "/classes/Post", ["email": "a", "state": "open", "votes": 2]).code == 137)
            #expect(try await server.send("PUT", "/classes/Post/\(free)", ["votes": 3]).code == 137)
            #expect(try await server.send("PUT", "/classes/Post/\(closed)", ["state": "open"]).code == 137)
            #expect(try await server.send("PUT", "/classes/Post/\(closed)", ["votes": 9]).status == 200)
        }
    }

    @Test("Index conditions accept constants of every type and keep their exact values")
    func constants() async throws {
        try await Self.posts.run { server in
            let text = #"it's "a" \ $1"#
            let cases: [(JSONValue, String)] = [
                (["state": .string(text)], #"WHERE (state = 'it''s "a" \ $1'::text)"#),
                (["votes": ["$lt": -1.5]], "WHERE (votes < '-1.5'::double precision)"),
                (["open": true], "WHERE (open = true)"),
                (["due": ["$gt": .date("2020-01-02T03:04:05.678Z")]], "2020-01-02 03:04:05.678+00"),
                (["tags": ["$exists": true]], "WHERE (tags IS NOT NULL)"),
                (["author": .null], "WHERE (author IS NULL)"),
                (["createdAt": ["$lte": .date("1999-12-31T00:00:00.000Z")]], "1999-12-31 00:00:00+00"),
            ]
            for (number, (condition, _)) in cases.enumerated() {
                let index: JSONValue = ["email": 1, "$where": condition]
                _ = try await Self.posts.put(["i\(number)": index], server).succeeded()
            }
            let listed = try await Self.posts.listed(server)
            let definitions = try await server.texts(
                "SELECT pg_get_indexdef(x.indexrelid) FROM pg_index x WHERE x.indrelid = '\"Post\"'::regclass "
                    + "AND x.indpred IS NOT NULL ORDER BY 1")
            #expect(definitions.count == cases.count)
            for (number, (condition, sql)) in cases.enumerated() {
                #expect(same(listed?["i\(number)"], ["email": 1, "$where": condition]))
                let definition = definitions.first { $0.contains("INDEX i\(number) ") } ?? ""
                #expect(definition.contains(sql), "\(definition)")
            }
            let id = try await server.create("Post", ["email": "x", "state": .string(text), "votes": -2])
            let found = try await server.find("Post", ["where": ["state": .string(text), "votes": ["$lt": -1.5]]])
            #expect(found.results.map { $0["objectId"] } == [.string(id)])
        }
    }

    @Test("Finds that contain the condition of a partial index use it")
    func plan() async throws {
        try await Self.posts.run { server in
            try await server.execute(
                """
                INSERT INTO "Post" ("objectId", state, author, votes, "createdAt")
                SELECT 'o' || n, CASE WHEN n % 50 = 0 THEN 'open' ELSE 'closed' END, 'user' || n % 7, n, now()
                FROM generate_series(1, 10000) n;
                """)
            _ = try await Self.posts.put(
                ["openPosts": ["author": 1, "votes": -1, "$where": ["state": "open"]]], server
            ).succeeded()
            try await server.execute("ANALYZE \"Post\"")
            var find: JSONObject = [
                "where": ["state": "open", "author": .pointer("_User", "user1")], "order": "-votes", "limit": 1000,
            ]
            let expected = (1...200).map { $0 * 50 }.filter { $0 % 7 == 1 }.reversed().map {
                JSONValue.string("o\($0)")
            }
            // After five executions, PostgreSQL may switch to a generic plan.
            for _ in 0..<8 {
                let found = try await server.find("Post", find, as: .master).results.compactMap { $0["objectId"] }
                #expect(found == expected)
            }
            find["explain"] = true
            #expect(try await server.find("Post", find, as: .master).text.contains(#""openPosts""#))
            find["where"] = ["state": "closed", "author": .pointer("_User", "user1")]
            #expect(try await !server.find("Post", find, as: .master).text.contains(#""openPosts""#))
        }
    }

    @Test("Rejects a unique index over duplicates with 137 and changes nothing")
    func duplicates() async throws {
        try await Self.posts.run { server in
            for _ in 0..<2 { _ = try await server.create("Post", ["email": "a"]) }
            let body: JSONValue = [
                "fields": ["fresh": ["type": "String"]],
                "indexes": ["plain": ["votes": 1], "one": ["email": 1, "$unique": true]],
            ]
            let answer = try await server.send("PUT", "/schemas/Post", body, as: .master)
            #expect(answer.status == 400)
            #expect(answer.code == 137)
            #expect(try await Self.posts.definitions(server) == [])
            let schema = try await server.send("GET", "/schemas/Post", as: .master)
            #expect(schema["indexes"] == nil)
            #expect(schema["fields"]?["fresh"] == nil)
        }
    }

    @Test("On a large table, rejects a unique index over duplicates and leaves no index behind")
    func largeTable() async throws {
        try await Self.posts.run { server in
            try await server.execute(
                """
                INSERT INTO "Post" ("objectId", email, state)
                SELECT 'o' || n, repeat(md5((n % 39999)::text), 3), CASE WHEN n > 39998 THEN 'new' ELSE 'old' END
                FROM generate_series(1, 40000) n;
                """)
            let refused = try await Self.posts.put(
                ["plain": ["votes": 1], "one": ["email": 1, "$unique": true]], server)
            #expect(refused.status == 400)
            #expect(refused.code == 137)
            #expect(try await Self.posts.definitions(server) == [])
            let listed = try await Self.posts.listed(server)
            #expect(listed?["plain"] == nil)
            #expect(listed?["one"] == nil)
            let index: JSONValue = ["email": 1, "$unique": true, "$where": ["state": "old"]]
            _ = try await Self.posts.put(["one": index], server).succeeded()
            #expect(same(try await Self.posts.listed(server), ["_id_": ["_id": 1], "one": index]))
            #expect(
                try await Self.posts.definitions(server) == [
                    #"CREATE UNIQUE INDEX one ON public."Post" USING btree (email) WHERE (state = 'old'::text)"#
                ])
            let taken = try await server.texts("SELECT email FROM \"Post\" WHERE \"objectId\" = 'o5'")
            let copy: JSONValue = ["email": .string(taken.first ?? ""), "state": "old"]
            #expect(try await server.send("POST", "/classes/Post", copy).code == 137)
        }
    }

    @Test("Rejects unknown and unsupported index options and changes nothing")
    func refusals() async throws {
        let cases: [(String, Int, String?)] = [
            (#"{"email": 1, "$foo": 1}"#, 102, "Invalid index option: $foo does not exist."),
            (#"{"email": 1, "$unique": 1}"#, 102, "Invalid index option: $unique must be a boolean."),
            (
                #"{"tags": 1, "$unique": true}"#, 102,
                "Invalid index option: $unique can't be used with the Array field tags."
            ),
            (#"{"email": "text", "$unique": true}"#, 102, nil), (#"{"place": 1, "$unique": true}"#, 102, nil),
            (#"{"ACL": 1, "$unique": true}"#, 102, nil), (#"{"fans": 1, "$unique": true}"#, 102, nil),
            (#"{"fans": 1, "$where": {"state": "x"}}"#, 102, nil), (#"{"email": 1, "$where": 1}"#, 102, nil),
            (#"{"email": 1, "$where": {}}"#, 102, nil), (#"{"email": 1, "$where": []}"#, 102, nil),
            (#"{"email": 1, "$where": {"none": 1}}"#, 102, "Field none does not exist, cannot add index."),
            (#"{"email": 1, "$where": {"fans": {"$exists": true}}}"#, 102, nil),
            (#"{"email": 1, "$where": {"state": {"$regex": "^a"}}}"#, 102, nil),
            (#"{"email": 1, "$where": {"state": {"$foo": "a"}}}"#, 102, nil),
            (#"{"email": 1, "$where": {"state": {"$in": ["a"]}}}"#, 102, nil),
            (#"{"email": 1, "$where": {"state": {"$ne": "a"}}}"#, 102, nil),
            (#"{"email": 1, "$where": {"state": 1}}"#, 102, nil),
            (#"{"email": 1, "$where": {"votes": "1"}}"#, 102, nil),
            (#"{"email": 1, "$where": {"due": {"$lt": {"$relativeTime": "1 day ago"}}}}"#, 102, nil),
            (#"{"email": 1, "$where": {"due": {"__type": "Date", "iso": "-000001-01-01T00:00:00.000Z"}}}"#, 102, nil),
            (#"{"email": 1, "$where": {"tags": "a"}}"#, 102, nil),
            (#"{"email": 1, "$where": {"tags.0": "a"}}"#, 102, nil),
            (#"{"email": 1, "$where": {"$or": [{"state": "a"}, {"state": "b"}]}}"#, 102, nil),
            (#"{"email": 1, "$where": {"$and": [{"$and": [{"state": "a"}]}]}}"#, 102, nil),
            (#"{"email": 1, "$where": {"_rperm": null}}"#, 105, nil),
            (#"{"email": 1, "$where": {"a b": 1}}"#, 105, nil), (#"{"$where": {"state": "a"}}"#, 107, nil),
            (#"{"$foo": 1}"#, 102, "Invalid index option: $foo does not exist."),
            (#"{"$unique": true}"#, 107, #"Index a has no fields. Add one, such as {"title": 1}."#),
        ]
        try await Self.posts.run { server in
            for (definition, code, error) in cases {
                let index = try JSONValue(parsing: Array(definition.utf8))
                let body: JSONValue = ["fields": ["fresh": ["type": "String"]], "indexes": ["a": index]]
                let answer = try await server.send("PUT", "/schemas/Post", body, as: .master)
                #expect(answer.status == 400)
                #expect(answer.code == code, "\(definition): \(answer.text)")
                if let error { #expect(answer.error == error) }
                let made = try await server.send("POST", "/schemas/Fresh", body, as: .master)
                #expect(made.status == 400, "\(definition)")
            }
            #expect(try await server.send("GET", "/schemas/Fresh", as: .master).code == 103)
            let schema = try await server.send("GET", "/schemas/Post", as: .master)
            #expect(schema["indexes"] == nil)
            #expect(schema["fields"]?["fresh"] == nil)
        }
    }

    @Test("Deleting a field removes the partial indexes whose condition uses it")
    func removedField() async throws {
        try await Self.posts.run { server in
            _ = try await Self.posts.put(["a": ["email": 1, "$where": ["state": "open"]], "b": ["votes": 1]], server)
                .succeeded()
            let answer = try await server.send(
                "PUT", "/schemas/Post", ["fields": ["state": ["__op": "Delete"]]], as: .master
            ).succeeded()
            #expect(same(answer["indexes"], ["_id_": ["_id": 1], "b": ["votes": 1]]))
            #expect(
                try await Self.posts.definitions(server) == [#"CREATE INDEX b ON public."Post" USING btree (votes)"#])
        }
    }

    @Test("Definitions accept index options, and a restart rebuilds an index only if they changed")
    func declared() async throws {
        @Sendable func options(_ state: String) -> JSONObject {
            [
                "schema": [
                    "definitions": [
                        [
                            "className": "Post",
                            "fields": ["email": ["type": "String"], "state": ["type": "String"]],
                            "indexes": [
                                "one": [
                                    "email": 1, "$unique": true,
                                    "$where": ["state": .string(state), "email": ["$exists": true]],
                                ]
                            ],
                        ]
                    ]
                ]
            ]
        }
        let number = "SELECT oid::text FROM pg_class WHERE relname = 'one'"
        try await TestServer.run(options("open")) { server in
            let definitions = try await Self.posts.definitions(server)
            #expect(definitions.count == 1)
            #expect(definitions.first?.hasPrefix("CREATE UNIQUE INDEX one ") == true)
            let first = try await server.texts(number)
            try await server.alongside(options("open")) { other in
                let second = try await other.texts(number)
                #expect(second == first)
            }
            try await server.alongside(options("closed")) { other in
                let third = try await other.texts(number)
                #expect(third != first)
                let definitions = try await Self.posts.definitions(other)
                #expect(definitions.first?.contains("'closed'") == true)
            }
        }
    }
}
