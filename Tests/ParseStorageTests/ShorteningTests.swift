import JSON
import ParseModel
import ParseStorage
import TestSupport
import Testing

/// Values that are truncated by the query.
@Suite struct ShorteningTests {
    private static func find(_ test: TestStore, _ className: String, _ change: (inout ObjectStore.FindRequest) -> Void)
        async throws -> [Name: JSONObject]
    {
        var request = ObjectStore.FindRequest(className: className)
        request.shorten = 64
        change(&request)
        var objects: [Name: JSONObject] = [:]
        for object in try await test.store.find(request).objects {
            if let id = object["objectId"]?.nameValue { objects[id] = object }
        }
        return objects
    }

    @Test("Shortens long strings, arrays, objects and bytes to type, size and start; keeps short ones")
    func types() async throws {
        try await TestStore.run { test in
            let words = String(repeating: "é", count: 100)
            let base64 = String(repeating: "QUJD", count: 40)
            try await test.create(
                "Song", "long",
                """
                {"title":"\(words)","tags":[\(Array(repeating: "\"pop\"", count: 300).joined(separator: ","))],
                "meta":{"a":"\(words)","b":1},"cover":{"__type":"Bytes","base64":"\(base64)"},"plays":1,
                "at":{"__type":"Date","iso":"2026-01-01T00:00:00.000Z"}}
                """)
            try await test.create(
                "Song", "short",
                """
                {"title":"é","tags":["pop"],"meta":{"b":1},"cover":{"__type":"Bytes","base64":"QUJD"},"plays":1}
                """)
            let found = try await Self.find(test, "Song") { _ in }
            let long = try #require(found["long"])
            let title: JSONValue = [
                "__type": "Shortened", "type": "String", "bytes": 200,
                "start": .string(String(repeating: "é", count: 64)),
            ]
            #expect(same(long["title"], title))
            let tags = try #require(long["tags"])
            #expect(tags["type"] == "Array" && tags["count"] == 300 && tags["bytes"] == 2100)
            #expect(tags["start"]?.stringValue?.hasPrefix("[\"pop\", \"pop\", ") == true)
            #expect(tags["start"]?.stringValue?.utf8.count == 64)
            #expect(long["meta"]?["type"] == "Object" && long["meta"]?["count"] == 2)
            let cover: JSONValue = [
                "__type": "Shortened", "type": "Bytes", "bytes": 120, "start": .string(String(base64.prefix(64))),
            ]
            #expect(same(long["cover"], cover))
            #expect(long["plays"] == 1 && long["at"]?["__type"] == "Date")
            let whole = try #require(try await test.object("Song", "short"))
            #expect(same(.object(whole), found["short"].map { .object($0) }))
            let byId = try await Self.find(test, "Song") {
                $0.filter = .field(FieldPath("objectId"), .equal(.string("long")))
            }
            #expect(byId["long"] == long)
            let sorted = try await Self.find(test, "Song") {
                $0.order = [SortKey(FieldPath("title"), isDescending: false)]
            }
            #expect(sorted == found)
        }
    }

    @Test("Shortens values beside the score of a text search")
    func score() async throws {
        try await TestStore.run { test in
            let words = Array(repeating: "word", count: 100).joined(separator: " ")
            try await test.create("Song", "s", "{\"title\":\"\(words)\"}")
            let search = TextSearch(
                term: "word", language: "english", isCaseSensitive: false, isDiacriticSensitive: false)
            let found = try await Self.find(test, "Song") {
                $0.filter = .field(FieldPath("title"), .text(search))
                $0.keys = ["$score", "title"]
            }
            let song = try #require(found["s"])
            #expect(song["title"]?["__type"] == "Shortened" && song["score"]?.numberValue != nil, "\(song)")
        }
    }

    @Test("Shortens included objects, too, but not a field that an owner rule checks")
    func includes() async throws {
        try await TestStore.run { test in
            let long = String(repeating: "x", count: 500)
            try await test.create("Album", "a", "{\"title\":\"\(long)\"}")
            try await test.create(
                "Song", "s",
                """
                {"title":"\(long)","album":{"__type":"Pointer","className":"Album","objectId":"a"}}
                """)
            let included = try await Self.find(test, "Song") { $0.include = IncludeNode(paths: [["album"]]) }
            let song = try #require(included["s"])
            #expect(song["album"]?["__type"] == "Object" && song["album"]?["title"]?["bytes"] == 500)
            let ruled = try await Self.find(test, "Song") {
                $0.access.ownerRules = [.init(field: "title", userId: "u", hidden: [])]
            }
            #expect(ruled["s"]?["title"] == .string(long))
        }
    }

    @Test("Counts a long array's elements exactly and estimates its bytes")
    func size() async throws {
        try await TestStore.run { test in
            let element = "{\"name\": \"An entry of the list\", \"plays\": 100}"
            let list = Array(repeating: element, count: 5_000).joined(separator: ",")
            try await test.create("Song", "s", "{\"list\":[\(list)]}")
            let found = try await Self.find(test, "Song") { _ in }
            let song = try #require(found["s"])
            #expect(song["list"]?["count"] == 5_000)
            let size = try #require(song["list"]?["bytes"]?.numberValue)
            #expect(abs(size - Double(5_000 * (element.utf8.count + 2))) < 5_000, "\(size)")
        }
    }
}
