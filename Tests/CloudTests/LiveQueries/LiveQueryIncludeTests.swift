import JSON
import TestSupport
import Testing

/// Subscriptions with `include`, and their permissions.
@Suite struct LiveQueryIncludeTests {
    private static let options = TestServer.publishing("Song")
    private static let withMaster: JSONObject = [
        "liveQuery": ["classNames": ["Song"]], "startLiveQueryServer": true,
        "liveQueryServerOptions": ["keyPairs": ["masterKey": "testMaster", "clientKey": "ck"]],
    ]

    private static func pointer(_ className: String, _ id: String) -> JSONValue {
        ["__type": "Pointer", "className": .string(className), "objectId": .string(id)]
    }

    private static func only(_ id: String) -> JSONValue { .object([Name(id): ["read": true, "write": true]]) }

    private static func permit(_ server: TestServer, _ className: String, _ permissions: JSONValue) async throws {
        _ = try await server.send(
            "PUT", "/schemas/\(className)", ["classLevelPermissions": permissions], as: .master
        ).succeeded()
    }

    /// The song as returned by the caller's find.
    private static func found(
        _ server: TestServer, _ id: String, _ query: JSONObject, as identity: TestServer.Identity = .anonymous
    ) async throws -> JSONObject {
        let parameters = query.merging(["where": ["objectId": .string(id)]]) { $1 }
        let answer = try await server.find("Song", parameters, as: identity)
        return try #require(answer["results"]?.arrayValue?.first?.objectValue)
    }

    private static func expect(_ event: JSONObject, gives found: JSONObject) {
        let object = event["object"]?.objectValue?.filter { $0.key != "__type" && $0.key != "className" }
        #expect(object == found, "\(event.text)")
    }

    @Test("Events contain included objects as finds return them: pointers, arrays, files, three-level paths")
    func course() async throws {
        try await TestServer.runLive(Self.options) { server, client in
            let label = try await server.create("Label", ["name": "ECM"])
            let band = try await server.create("Band", ["name": "Trio", "label": Self.pointer("Label", label)])
            let author = try await server.create(
                "Author",
                [
                    "name": "Ann", "born": ["__type": "Date", "iso": "1970-01-02T03:04:05.678Z"],
                    "photo": ["__type": "File", "name": "a b.png"], "band": Self.pointer("Band", band),
                    "inner": ["label": Self.pointer("Label", label)],
                ])
            let include: JSONValue = ["author", "guests.band", "author.band.label", "meta.band", "author.inner.label"]
            #expect(try await client.subscribe(1, "Song", ["include": include])["op"] == "subscribed")
            // As in finds, unknown paths include nothing.
            try await client.subscribe(2, "Song", ["include": "author, nothing.there"])
            let id = try await server.create(
                "Song",
                [
                    "author": Self.pointer("Author", author), "meta": ["band": Self.pointer("Band", band)],
                    "guests": [Self.pointer("Author", author), 7, Self.pointer("Author", author)],
                ])
            let events = try await client.next(2)
            Self.expect(events[0], gives: try await Self.found(server, id, ["include": include]))
            Self.expect(events[1], gives: try await Self.found(server, id, ["include": "author"]))
            #expect(events[0]["object"]?["author"]?["__type"] == "Object")
            #expect(events[0]["object"]?["author"]?["band"]?["label"]?["name"] == "ECM")
            #expect(events[0]["object"]?["guests"]?.arrayValue?.count == 3)
        }
    }

    @Test("All kinds of events contain included objects; changing an included object sends none")
    func kinds() async throws {
        try await TestServer.runLive(Self.options) { server, client in
            let author = try await server.create("Author", ["name": "Ann"])
            let query: JSONObject = ["where": ["plays": ["$gte": 10]], "include": ["author"]]
            try await client.subscribe(1, "Song", query)
            let id = try await server.create("Song", ["plays": 10, "author": Self.pointer("Author", author)])
            for plays in [11, 1, 12] {
                _ = try await server.send("PUT", "/classes/Author/\(author)", ["plays": .number(Double(plays))])
                    .succeeded()
                _ = try await server.send("PUT", "/classes/Song/\(id)", ["plays": .number(Double(plays))]).succeeded()
            }
            _ = try await server.send("DELETE", "/classes/Song/\(id)").succeeded()
            let events = try await client.next(5)
            #expect(events.map { $0["op"] } == ["create", "update", "leave", "enter", "delete"])
            #expect(events.allSatisfy { $0["object"]?["author"]?["name"] == "Ann" })
            #expect(events.map { $0["original"]?["author"]?["name"] } == [nil, "Ann", "Ann", "Ann", nil])
        }
    }

    @Test("Omits included objects that are missing or unreadable, as finds do")
    func unreadable() async throws {
        try await TestServer.run(Self.options) { server in
            let ann = try await server.signUp("ann")
            let secret = try await server.create("Author", ["name": "Secret", "ACL": Self.only(ann.id)])
            let open = try await server.create("Author", ["name": "Open"])
            let gone = try await server.create("Author", ["name": "Gone"])
            _ = try await server.send("DELETE", "/classes/Author/\(gone)").succeeded()
            let fields: JSONObject = [
                "author": Self.pointer("Author", secret), "late": Self.pointer("Author", gone),
                "list": .array([secret, open, gone].map { Self.pointer("Author", $0) }),
                "unknown": [Self.pointer("Nowhere", "a"), 7],
            ]
            let include: JSONObject = ["include": ["author", "late", "list", "unknown"]]
            try await server.liveQuery { client in
                try await client.connect()
                try await client.subscribe(1, "Song", include)
                try await client.subscribe(2, "Song", include, sessionToken: ann.token)
                let id = try await server.create("Song", fields)
                let events = try await client.next(2)
                Self.expect(events[0], gives: try await Self.found(server, id, include))
                Self.expect(events[1], gives: try await Self.found(server, id, include, as: .session(ann.token)))
                #expect(!events[0].text.contains("Secret") && !events[0].text.contains(secret), "\(events[0].text)")
                #expect(events[1]["object"]?["author"]?["name"] == "Secret")
                #expect(events[1]["object"]?["list"]?.arrayValue?.count == 2)
            }
        }
    }

    @Test("Included objects hide protected fields, login data and tokens, and hidden pointers aren't followed")
    func protectedFields() async throws {
        var options = Self.withMaster
        options["protectedFields"] = [
            "_User": ["*": ["email", "secret"]], "Author": ["*": ["band", "phone"], "role:band": []],
        ]
        try await TestServer.run(options) { server in
            let ann = try await server.signUp("ann", ["email": "ann@example.com"])
            let bob = try await server.signUp("bob")
            _ = try await server.send(
                "PUT", "/users/\(ann.id)", ["authData": ["anonymous": ["id": "a1"]], "secret": 1], as: .master
            ).succeeded()
            _ = try await server.send(
                "POST", "/roles",
                [
                    "name": "band", "ACL": ["*": ["read": true]],
                    "users": ["__op": "AddRelation", "objects": [Self.pointer("_User", bob.id)]],
                ], as: .master
            ).succeeded()
            let band = try await server.create("Band", ["name": "Trio"])
            let author = try await server.create(
                "Author", ["name": "A", "phone": "1", "band": Self.pointer("Band", band)])
            let query: JSONObject = ["include": ["user", "author.band", "sessions"]]
            let session = try await server.texts(#"SELECT "objectId" FROM "_Session" WHERE "user" = '\#(ann.id)'"#)
            let fields: JSONObject = [
                "user": Self.pointer("_User", ann.id), "author": Self.pointer("Author", author),
                "sessions": .array(session.map { Self.pointer("_Session", $0) }),
            ]
            try await server.liveQuery { client in
                try await client.connect(["clientKey": "ck"])
                try await client.subscribe(1, "Song", query)
                try await client.subscribe(2, "Song", query, sessionToken: bob.token)
                try await client.subscribe(3, "Song", query, sessionToken: ann.token)
                try await server.liveQuery { master in
                    try await master.connect(["masterKey": "testMaster"])
                    try await master.subscribe(4, "Song", query)
                    let id = try await server.create("Song", fields)
                    let events = try await client.next(3) + [master.next()]
                    let objects = events.compactMap { $0["object"] }
                    Self.expect(events[0], gives: try await Self.found(server, id, query))
                    let own = try await Self.found(server, id, query, as: .session(ann.token))
                    #expect(
                        objects.map { $0["user"]?["email"] } == [nil, nil, own["user"]?["email"], "ann@example.com"])
                    #expect(objects.map { $0["user"]?["authData"] != nil } == [false, false, false, true])
                    #expect(objects.map { $0["author"]?["phone"] } == [nil, "1", nil, "1"])
                    #expect(objects.map { $0["author"]?["band"]?["name"] } == [nil, "Trio", nil, "Trio"])
                    #expect(objects.map { $0["sessions"]?.arrayValue?.count } == [0, 0, 1, 1])
                    for event in events {
                        #expect(!event.text.contains(ann.token), "\(event.text)")
                        #expect(!event.text.contains("\"password\":"), "\(event.text)")
                    }
                }
            }
        }
    }

    @Test("Rejects an include without get permission, and ends the subscription once it is revoked")
    func classPermissions() async throws {
        try await TestServer.run(Self.options) { server in
            let ann = try await server.signUp("ann")
            let label = try await server.create("Label", ["name": "ECM", "owner": Self.pointer("_User", ann.id)])
            let band = try await server.create("Band", ["name": "Trio", "label": Self.pointer("Label", label)])
            let song: JSONObject = [
                "band": Self.pointer("Band", band),
                "list": [Self.pointer("Label", label), Self.pointer("_JobStatus", "a"), Self.pointer("Band", band)],
            ]
            _ = try await server.create("Song", song)
            let closed: JSONValue = ["find": ["*": true], "get": [:]]
            try await Self.permit(server, "Label", closed)
            try await server.liveQuery { client in
                try await client.connect()
                let refused = try await client.subscribe(1, "Song", ["include": ["band.label"]])
                #expect(refused["op"] == "error" && refused["code"] == 119 && refused["requestId"] == 1)
                // A find would be rejected because of the list. In an event, the pointer remains unresolved.
                try await client.subscribe(2, "Song", ["include": ["list", "band"]])
                _ = try await server.create("Song", song)
                let event = try await client.next()
                let list = event["object"]?["list"]?.arrayValue
                #expect(list?.map { $0["__type"] } == ["Pointer", "Pointer", "Object"], "\(event.text)")
                #expect(event["object"]?["band"]?["name"] == "Trio")
                #expect(event["object"]?["band"]?["label"]?["__type"] == "Pointer")
                // Permission for the user in a pointer field.
                try await Self.permit(server, "Label", ["find": ["*": true], "get": ["pointerFields": ["owner"]]])
                try await client.subscribe(3, "Song", ["include": ["band.label"]], sessionToken: ann.token)
                _ = try await server.create("Song", song)
                _ = try await client.next()
                #expect(try await client.next()["object"]?["band"]?["label"]?["name"] == "ECM")
                try await Self.permit(server, "Band", closed)
                _ = try await server.create("Song", song)
                let ended = try await client.next(2)
                #expect(ended.allSatisfy { $0["op"] == "error" && $0["code"] == 119 }, "\(ended)")
                #expect(Set(ended.map { $0["requestId"] }) == [2, 3])
            }
        }
    }

    @Test("Rejects an include of the wrong type with code 1, and invalid or excessive paths with 102")
    func errors() async throws {
        try await TestServer.runLive(Self.options) { (_, client) async throws in
            func answer(_ include: JSONValue) async throws -> [JSONValue?] {
                let answer = try await client.subscribe(1, "Song", ["include": include])
                #expect(answer["op"] == "error" && answer["requestId"] == 1, "\(answer.text)")
                return [answer["code"], answer["error"]]
            }
            #expect(try await answer([]) == [1, "Array is too short (0), minimum 1"])
            #expect(try await answer(["a", "b", "a"]) == [1, "Array items are not unique (indices 0 and 2)"])
            #expect(try await answer(7) == [1, "Invalid type: number (expected array)"])
            #expect(try await answer(["a", 7]) == [1, "Invalid type: number (expected string)"])
            let many = JSONValue.array((0..<11).map { .string("field\($0)") })
            #expect(try await answer(many) == [102, "Number of include fields (11) exceeds maximum allowed (10)"])
            #expect(try await answer("a.b.c.d") == [102, "Include depth of 4 exceeds maximum allowed depth of 3"])
            for malformed in ["*", "a..b", ".a", "a."] as [JSONValue] {
                #expect(try await answer([malformed])[0] == 102, "\(malformed)")
            }
            #expect(try await client.subscribe(2, "Song", ["include": .null])["op"] == "subscribed")
            #expect(try await client.subscribe(3, "Song", ["include": "a,b.c"])["op"] == "subscribed")
        }
    }

    @Test("Enforces the configured includeDepth and includeCount")
    func configuredLimits() async throws {
        var options = Self.options
        options["requestComplexity"] = ["includeDepth": 1, "includeCount": 2]
        try await TestServer.runLive(options) { server, client in
            _ = try await server.create("Song", ["plays": 1])
            #expect(try await client.subscribe(1, "Song", ["include": ["a.b"]])["code"] == 102)
            #expect(try await client.subscribe(1, "Song", ["include": ["a", "b", "c"]])["code"] == 102)
            #expect(try await client.subscribe(1, "Song", ["include": ["a", "b"]])["op"] == "subscribed")
        }
    }

    @Test("Dotted keys select fields of the included object, and events keep the order of the saves")
    func keysAndOrder() async throws {
        try await TestServer.runLive(Self.options) { server, client in
            let author = try await server.create("Author", ["name": "Ann", "age": 7])
            try await client.subscribe(1, "Song", ["include": ["author"], "keys": ["author.name", "n"]])
            for number in 0..<30 {
                var song: JSONObject = ["n": .number(Double(number)), "other": true]
                if number % 2 == 0 { song["author"] = Self.pointer("Author", author) }
                _ = try await server.create("Song", song)
            }
            let events = try await client.next(30)
            #expect(events.compactMap { $0["object"]?["n"]?.numberValue } == (0..<30).map { Double($0) })
            for (number, event) in events.enumerated() {
                let included = event["object"]?["author"]?.objectValue.map { Set($0.keys.map(\.text)) }
                let expected: Set = ["__type", "className", "objectId", "createdAt", "updatedAt", "name"]
                #expect(included == (number % 2 == 0 ? expected : nil), "\(event.text)")
                #expect(event["object"]?["other"] == nil)
            }
        }
    }

    @Test("Subscribers with different permissions share one read of an included object")
    func sharedRead() async throws {
        try await TestServer.run(Self.options) { server in
            let ann = try await server.signUp("ann")
            let author = try await server.create("Author", ["name": "Ann"])
            try await server.execute(
                """
                CREATE SEQUENCE reads; ALTER TABLE "Author" RENAME TO "AuthorRows";
                CREATE VIEW "Author" AS WITH n AS MATERIALIZED (SELECT nextval('reads'))
                SELECT a.* FROM "AuthorRows" a, n
                """)
            try await server.liveQuery { first in
                try await first.connect()
                for id in 1...20 { try await first.subscribe(id, "Song", ["include": ["author"]]) }
                try await server.liveQuery { second in
                    try await second.connect(sessionToken: ann.token)
                    for id in 1...20 { try await second.subscribe(id, "Song", ["include": ["author"]]) }
                    _ = try await server.create("Song", ["author": Self.pointer("Author", author)])
                    let events = try await first.next(20) + second.next(20)
                    #expect(events.allSatisfy { $0["object"]?["author"]?["name"] == "Ann" })
                    #expect(try await server.texts("SELECT last_value::text FROM reads") == ["1"])
                }
            }
        }
    }

    @Test("Leaves pointers unresolved beyond 100 objects or 256 KB per event, and logs it once")
    func sizes() async throws {
        let lines = LogLines()
        try await TestServer.run(Self.options, logger: lines.logger) { server in
            try await server.liveQuery { client in
                try await client.connect()
                let text = JSONValue.string(String(repeating: "x", count: 300_000))
                let large = try await server.create("Author", ["name": "Large", "text": text])
                let body: [JSONValue] = (0..<101).map { number in
                    ["method": "POST", "path": "/parse/classes/Author", "body": ["n": .number(Double(number))]]
                }
                var authors: [JSONValue] = []
                for part in [body[..<50], body[50...]] {
                    let answer = try await server.send("POST", "/batch", ["requests": .array(Array(part))]).succeeded()
                    authors += try #require(answer.json.arrayValue).compactMap {
                        $0["success"]?["objectId"]?.stringValue.map { Self.pointer("Author", $0) }
                    }
                }
                #expect(authors.count == 101)
                try await client.subscribe(1, "Song", ["include": ["author", "list"]])
                try await client.subscribe(2, "Song", ["include": ["author"], "keys": ["author.name"]])
                let songs: [JSONObject] = [
                    ["author": Self.pointer("Author", large)], ["list": .array(authors)],
                    // The same object many times.
                    ["list": .array(Array(repeating: authors[0], count: 5_000))],
                    ["list": .array(Array(authors.dropLast()))],
                ]
                for song in songs { _ = try await server.create("Song", song) }
                let events = try await client.next(8)
                #expect(events.map { $0["requestId"] } == [1, 2, 1, 2, 1, 2, 1, 2])
                #expect(events[0]["object"]?["author"] == Self.pointer("Author", large))
                // Fields that weren't requested don't count.
                #expect(events[1]["object"]?["author"]?["name"] == "Large", "\(events[1].text.prefix(500))")
                let many = try #require(events[2]["object"]?["list"]?.arrayValue)
                #expect(many.map { $0["objectId"] } == authors.map { $0["objectId"] })
                let last = try #require(events[4]["object"]?["list"]?.arrayValue?.last)
                #expect(last["objectId"] == authors[0]["objectId"])
                #expect((many + [last]).allSatisfy { $0["__type"] == "Pointer" })
                let list = events[6]["object"]?["list"]?.arrayValue
                #expect(list?.count == 100 && list?.allSatisfy { $0["__type"] == "Object" } == true)
                #expect(lines.all.filter { $0.contains("sent without included objects") }.count == 1)
            }
        }
    }

    @Test("Leaves pointers unresolved while their objects can't be read, and includes them afterward")
    func failingReads() async throws {
        try await TestServer.runLive(Self.options) { server, client in
            let author = try await server.create("Author", ["name": "Ann"])
            let song: JSONObject = ["author": Self.pointer("Author", author)]
            try await client.subscribe(1, "Song", ["include": ["author"]])
            try await server.execute(
                """
                ALTER TABLE "Author" RENAME TO "AuthorRows";
                CREATE VIEW "Author" AS SELECT * FROM "AuthorRows" WHERE 1 / (length("objectId") * 0) = 1
                """)
            _ = try await server.create("Song", song)
            #expect(try await client.next()["object"]?["author"] == Self.pointer("Author", author))
            try await server.execute(#"DROP VIEW "Author"; ALTER TABLE "AuthorRows" RENAME TO "Author""#)
            // An event whose read times out keeps its position before the next event.
            try await server.whileLocked(#"LOCK TABLE "Author""#) {
                _ = try await server.create("Song", song)
                #expect(try await client.next()["object"]?["author"] == Self.pointer("Author", author))
            }
            _ = try await server.create("Song", song)
            #expect(try await client.next()["object"]?["author"]?["name"] == "Ann")
        }
    }
}
