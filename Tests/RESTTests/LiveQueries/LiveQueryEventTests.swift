import JSON
import TestSupport
import Testing

/// What clients of live queries are told of changes.
@Suite struct LiveQueryEventTests {
    private static let options = TestServer.publishing("Song", "Al.*")

    /// What an event is about, in short.
    private static func short(_ event: JSONObject, _ field: String = "plays") -> [JSONValue?] {
        [event["op"], event["object"]?[field], event["original"]?[field]]
    }

    @Test("An object is created, enters, is updated, leaves and is deleted, as the condition has it before and after")
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

    @Test("Values come as finds give them: dates, pointers, files with their URLs, relations, nothing included")
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

    @Test("Keys limit what is told, and watched fields say which changes are")
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

    @Test("Batches are told object by object, and a transaction only when it is committed")
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

    @Test("Who follows an object that many change at once ends with what is stored")
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
            let stored = try await server.send("GET", "/classes/Song/\(id)").json
            #expect(stored["plays"] == 20)
            let last = try #require(events.last { $0["object"]?["plays"] == 20 })
            for field in ["f0", "f1", "f2", "f3"] { #expect(last["object"]?[field] == stored[field], "\(field)") }
        }
    }

    @Test("Classes that are not published are not told, and a class that is made later is")
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
