import JSON
import TestSupport
import Testing

@Suite struct LiveQueryEventTests {
    private static let options = TestServer.publishing("Song", "Al.*")

    /// Summarizes an event: its kind, and a field's new and old values.
    private static func short(_ event: JSONObject, _ field: String = "plays") -> [JSONValue?] {
        [event["op"], event["object"]?[field], event["original"]?[field]]
    }

    @Test("Sends create, enter, update, leave and delete as the object matches before and after a change")
    func course() async throws {
        try await TestServer.runLive(Self.options) { server, client in
            try await client.subscribe(1, "Song", ["where": ["plays": ["$gte": 10]]])
            let id = try await server.create("Song", ["plays": 1])
            for plays in [10, 11, 2, 3, 12] {
                _ = try await server.send("PUT", "/classes/Song/\(id)", ["plays": .number(Double(plays))])
                    .succeeded()
            }
            _ = try await server.send("DELETE", "/classes/Song/\(id)").succeeded()
            let other = try await server.create("Song", ["plays": 20])
            let events = try await client.next(6)
            let expected: [[JSONValue?]] = [
                ["enter", 10, 1], ["update", 11, 10], ["leave", 2, 11], ["enter", 12, 3], ["delete", 12, nil],
                ["create", 20, nil],
            ]
            #expect(events.map { Self.short($0) } == expected)
            let object = try #require(events.last?["object"]?.objectValue)
            #expect(object["className"] == "Song" && object["__type"] == "Object")
            #expect(object["objectId"]?.stringValue == other)
            #expect(
                object["createdAt"]?.stringValue?.utf8.count == 24 && object["updatedAt"] == object["createdAt"])
        }
    }

    @Test("Events contain values as finds return them: dates, pointers, file URLs and relations")
    func values() async throws {
        try await TestServer.runLive(Self.options) { server, client in
            try await client.subscribe(1, "Album")
            let song = try await server.create("Song", ["plays": 1])
            let pointer: JSONValue = ["__type": "Pointer", "className": "Song", "objectId": .string(song)]
            let id = try await server.create(
                "Album",
                [
                    "at": ["__type": "Date", "iso": "2020-01-02T03:04:05.678Z"], "song": pointer,
                    "cover": ["__type": "File", "name": "c.png"], "list": [1, "a", ["b": true]],
                    "songs": ["__op": "AddRelation", "objects": [pointer]],
                    "place": ["__type": "GeoPoint", "latitude": 1, "longitude": 2],
                    "ACL": ["*": ["read": true]],
                ])
            var found = try #require(
                try await server.send("GET", "/classes/Album/\(id)").json.objectValue)
            found["__type"] = "Object"
            found["className"] = "Album"
            let event = try await client.next()
            #expect(event["object"]?.objectValue.map { Set($0.keys) } == Set(found.keys))
            for (key, value) in found { #expect(event["object"]?[key] == value, "\(key)") }
            #expect(event["object"]?["cover"]?["url"]?.stringValue?.hasSuffix("/c.png") == true)
        }
    }

    @Test("File URLs use the host name of the subscriber's connection, not the writer's")
    func files() async throws {
        try await TestServer.run(Self.options) { server in
            try await server.liveQuery(headers: ["Host": "sea.example:8080"]) { client in
                try await client.connect()
                try await client.subscribe(1, "Album")
                let body: JSONValue = [
                    "cover": ["__type": "File", "name": "c d.png"],
                    "inner": ["cover": ["__type": "File", "name": "e.png", "url": "x"]],
                ]
                let id = try await server.send("POST", "/classes/Album", body, headers: ["Host": "evil.example"])
                    .succeeded().string("objectId")
                _ = try await server.send("PUT", "/classes/Album/\(id)", ["a": 1], headers: ["Host": "evil.example"])
                    .succeeded()
                _ = try await server.send("DELETE", "/classes/Album/\(id)", headers: ["Host": "evil.example"])
                    .succeeded()
                let files = "http://sea.example:8080/parse/files/\(TestServer.applicationID)/"
                let url = JSONValue.string(files + "c%20d.png")
                let events = try await client.next(3)
                #expect(events.map { $0["op"] } == ["create", "update", "delete"])
                for event in events {
                    #expect(event["object"]?["cover"]?["url"] == url, "\(event.text)")
                    #expect(event["object"]?["inner"]?["cover"]?["url"] == "x")
                }
                #expect(events[1]["original"]?["cover"]?["url"] == url)
            }
        }
    }

    @Test("keys limits the fields of events; watch limits which updates send one")
    func projection() async throws {
        try await TestServer.runLive(Self.options) { server, client in
            try await client.subscribe(1, "Song", ["keys": ["plays"], "watch": ["plays"]])
            try await client.subscribe(2, "Song", ["fields": ["title"]])
            let id = try await server.create("Song", ["plays": 1, "title": "a", "more": true])
            _ = try await server.send("PUT", "/classes/Song/\(id)", ["title": "b"]).succeeded()
            _ = try await server.send("PUT", "/classes/Song/\(id)", ["plays": 2]).succeeded()
            _ = try await server.create("Song", ["title": "unwatched"])
            var events: [Int: [JSONObject]] = [:]
            for event in try await client.next(6) {
                events[Int(event["requestId"]?.numberValue ?? 0), default: []].append(event)
            }
            #expect(events[1]?.map { Self.short($0) } == [["create", 1, nil], ["update", 2, 1]])
            #expect(
                events[2]?.map { Self.short($0, "title") }
                    == [
                        ["create", "a", nil], ["update", "b", "a"], ["update", "b", "b"],
                        ["create", "unwatched", nil],
                    ])
            let keys = events[1]?.last?["object"]?.objectValue.map { Set($0.keys.map(\.text)) }
            #expect(keys == ["__type", "className", "objectId", "createdAt", "updatedAt", "plays"])
        }
    }

    @Test("Watching a dotted key reports changes to only that member, in objects and arrays")
    func watchedMembers() async throws {
        try await TestServer.runLive(Self.options) { server, client in
            try await client.subscribe(1, "Song", ["watch": ["o.b", "list.1.x"]])
            let id = try await server.create("Song", ["o": ["a": 1], "list": [["x": 1], ["x": 1]]])
            for change: JSONObject in [
                ["o.a": 2, "plays": 1], ["list": [["x": 2], ["x": 1]], "plays": 2], ["o.b": 1, "plays": 3],
                ["list": [["x": 2], ["x": 2]], "plays": 4],
            ] {
                _ = try await server.send("PUT", "/classes/Song/\(id)", .object(change)).succeeded()
            }
            let events = try await client.next(3)
            #expect(events.map { $0["op"]?.stringValue } == ["create", "update", "update"])
            #expect(events.dropFirst().map { $0["object"]?["plays"]?.numberValue } == [3, 4])
        }
    }

    @Test("A client's subscriptions receive a change in the order in which they were made")
    func orderOfSubscriptions() async throws {
        try await TestServer.runLive(Self.options) { server, client in
            let ids = [5, 3, 9, 1, 7, 2, 8, 4, 6]
            for id in ids { try await client.subscribe(id, "Song") }
            for _ in 0..<3 {
                _ = try await server.create("Song", ["plays": 1])
                #expect(try await client.next(ids.count).map { $0["requestId"] } == ids.map { .number(Double($0)) })
            }
        }
    }

    @Test("A batch sends one event per object, and a transaction only once it commits")
    func batches() async throws {
        try await TestServer.runLive(Self.options) { server, client in
            try await client.subscribe(1, "Song")
            func create(_ plays: JSONValue) -> JSONValue {
                ["method": "POST", "path": "/parse/classes/Song", "body": ["plays": plays]]
            }
            _ = try await server.send("POST", "/batch", ["requests": [create(1), create(2)]]).succeeded()
            let failing = try await server.send(
                "POST", "/batch", ["requests": [create(3), create("no number")], "transaction": true])
            #expect(failing.status == 400)
            _ = try await server.send(
                "POST", "/batch", ["requests": [create(4), create(5)], "transaction": true]
            ).succeeded()
            #expect(try await client.next(4).map { $0["object"]?["plays"] } == [1, 2, 4, 5])
        }
    }

    @Test("A transaction sends at most one event per object, for its net effect")
    func transactions() async throws {
        var options = Self.options
        options["allowCustomObjectId"] = true
        try await TestServer.runLive(options) { server, client in
            try await client.subscribe(1, "Song")
            func call(_ method: String, _ id: String, _ body: JSONObject = [:]) -> JSONValue {
                var body = body
                if method == "POST" { body["objectId"] = .string(id) }
                return [
                    "method": .string(method), "body": .object(body),
                    "path": .string("/parse/classes/Song" + (method == "POST" ? "" : "/\(id)")),
                ]
            }
            func transaction(_ calls: [JSONValue]) async throws {
                _ = try await server.send("POST", "/batch", ["requests": .array(calls), "transaction": true])
                    .succeeded()
            }
            try await transaction([call("POST", "a", ["plays": 1]), call("PUT", "a", ["plays": 2])])
            try await transaction([call("POST", "b", ["plays": 3]), call("DELETE", "b")])
            try await transaction([call("PUT", "a", ["plays": 4]), call("DELETE", "a")])
            try await transaction([call("POST", "c", ["plays": 5])])
            let events = try await client.next(3)
            #expect(events.map { Self.short($0) } == [["create", 2, nil], ["delete", 2, nil], ["create", 5, nil]])
        }
    }

    @Test("Evaluates $relativeTime at the time of each change")
    func relativeTime() async throws {
        try await TestServer.runLive(Self.options) { server, client in
            let first = try await server.create("Song", ["plays": 1])
            // On a busy machine, an event may be late.
            try await server.execute("UPDATE \"Song\" SET \"createdAt\" = now() - interval '58 seconds'")
            let condition: JSONValue = ["createdAt": ["$gt": ["$relativeTime": "1 minute ago"]]]
            try await client.subscribe(1, "Song", ["where": condition])
            try await Task.sleep(for: .seconds(2.5))
            _ = try await server.send("PUT", "/classes/Song/\(first)", ["plays": 2]).succeeded()
            _ = try await server.create("Song", ["plays": 3])
            #expect(Self.short(try await client.next()) == ["create", 3, nil])
        }
    }

    @Test("After concurrent updates, the last event contains the stored object")
    func concurrently() async throws {
        try await TestServer.runLive(Self.options) { server, client in
            try await client.subscribe(1, "Song")
            let id = try await server.create("Song", ["plays": 0])
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<20 {
                    group.addTask {
                        let change: JSONObject = [
                            "plays": .increment(1), Name("f\(number % 4)"): .number(Double(number)),
                        ]
                        _ = try await server.send("PUT", "/classes/Song/\(id)", .object(change)).succeeded()
                    }
                }
                try await group.waitForAll()
            }
            let events = try await client.next(21)
            let plays = events.compactMap { $0["object"]?["plays"]?.numberValue }
            #expect(plays == plays.sorted())
            let stored = try await server.send("GET", "/classes/Song/\(id)").json
            #expect(stored["plays"] == 20)
            let last = try #require(events.last { $0["object"]?["plays"] == 20 })
            for field in ["f0", "f1", "f2", "f3"] { #expect(last["object"]?[field] == stored[field], "\(field)") }
        }
    }

    @Test("Unpublished classes send no events; a published class created after the subscription does")
    func classes() async throws {
        try await TestServer.runLive(Self.options) { server, client in
            try await client.subscribe(1, "Other")
            try await client.subscribe(2, "XAlbum")
            try await client.subscribe(3, "Alphabet", ["where": ["letter": ["$ne": "b"]]])
            _ = try await server.create("Other", ["a": 1])
            _ = try await server.create("XAlbum", ["a": 1])
            _ = try await server.create("Alphabet", ["letter": "b"])
            _ = try await server.create("Alphabet", ["letter": "c"])
            let event = try await client.next()
            #expect(event["requestId"] == 3 && event["object"]?["letter"] == "c")
        }
    }
}
