import JSON
import TestSupport
import Testing

/// Objects of one client, hidden from others, that made everyone's requests slow or fail.
@Suite struct SecurityPoisonTests {
    /// An upper bound for linear cost. Before the fixes, each request took much longer.
    private static let bound = Duration.seconds(15)
    private static let hidden: JSONObject = ["ACL": [:]]

    @Test("AddUnique and equality on lists with large nested values stay fast")
    func nestedLists() async throws {
        try await TestServer.run { server in
            let zeros = JSONValue.array(Array(repeating: 0, count: 60_000) + [1])
            let ones = JSONValue.array(Array(repeating: 1, count: 60_000))
            func pointer(_ extra: JSONValue) -> JSONValue {
                ["__type": "Pointer", "className": "Song", "objectId": "x", "extra": extra, "n": 1]
            }
            let id = try await server.create("Song", ["list": [zeros, ["a": zeros]], "songs": [pointer(zeros)]])
            let began = ContinuousClock.now
            let added: JSONValue = [ones, ["a": ones], ["b": 1], zeros]
            let changed = try await server.send(
                "PUT", "/classes/Song/\(id)", ["list": ["__op": "AddUnique", "objects": added]])
            #expect(changed.status == 200, "\(changed.text.prefix(200))")
            let found = try await server.send(
                "POST", "/classes/Song",
                ["_method": "GET", "keys": "objectId", "where": ["songs": pointer(ones)]])
            #expect(found.results.count == 1, "\(found.text.prefix(200))")
            #expect(ContinuousClock.now - began < Self.bound)
            let list = try await server.send("GET", "/classes/Song/\(id)")["list"]?.arrayValue
            #expect(list?.count == 5)
        }
    }

    @Test("Sets 1000 members in a large object at once, but rejects as many list elements or increments")
    func manyMembers() async throws {
        try await TestServer.run { server in
            let id = try await server.create(
                "Song", ["o": ["a": ["l": .array(Array(repeating: 0, count: 300_000))]], "l": [1]])
            let began = ContinuousClock.now
            let members = JSONObject(uniqueKeysWithValues: (0..<1000).map { (Name("o.a.b\($0)"), .number(Double($0))) })
            let changed = try await server.send("PUT", "/classes/Song/\(id)", .object(members))
            #expect(changed.status == 200, "\(changed.text.prefix(200))")
            let elements = JSONObject(uniqueKeysWithValues: (0..<1000).map { (Name("o.a.l.\($0)"), 1) })
            let refused = try await server.send("PUT", "/classes/Song/\(id)", .object(elements))
            #expect(refused.code == 111, "\(refused.text.prefix(200))")
            let numbers = JSONObject(
                uniqueKeysWithValues: (0..<1000).map { (Name("o.a.b\($0)"), JSONValue.increment(1)) })
            let counted = try await server.send("PUT", "/classes/Song/\(id)", .object(numbers))
            #expect(counted.code == 111, "\(counted.text.prefix(200))")
            #expect(ContinuousClock.now - began < Self.bound)
            let whole = try await server.send("GET", "/classes/Song/\(id)")
            #expect(whole["o"]?["a"]?["b999"] == 999)
            // Writes to elements of lists and their members still work.
            _ = try await server.send("PUT", "/classes/Song/\(id)", ["l.0": ["x": 1], "l.1": ["x": 2]])
            _ = try await server.send("PUT", "/classes/Song/\(id)", ["l.0.x": 3, "l.0.y": 4, "l.1.x": 5])
            #expect(try await server.send("GET", "/classes/Song/\(id)")["l"] == [["x": 3, "y": 4], ["x": 5]])
        }
    }

    @Test("Rejects extreme coordinates and huge polygons, so that other users' geo queries keep working")
    func coordinates() async throws {
        try await TestServer.run { server in
            func point(_ latitude: Double, _ longitude: Double) -> JSONValue {
                ["__type": "GeoPoint", "latitude": .number(latitude), "longitude": .number(longitude)]
            }
            func polygon(_ corners: [(Double, Double)]) -> JSONValue {
                ["__type": "Polygon", "coordinates": .array(corners.map { [.number($0.0), .number($0.1)] })]
            }
            _ = try await server.create(
                "Place", ["at": point(1, 2), "area": polygon([(0, 0), (0, 9), (9, 9), (9, 0)])])
            let far: [JSONObject] = [
                ["at": point(1e200, 1e200)], ["at": point(0, -1e7)],
                ["area": polygon([(-1e200, -1e200), (1e200, 1e200), (1e200, 0)])],
            ]
            for body in far {
                let answer = try await server.send("POST", "/classes/Place", .object(body.merging(Self.hidden) { $1 }))
                #expect(answer.code == 111, "\(answer.text)")
            }
            let corners = (0...10_000).map { (Double($0) / 1000, Double($0 % 7)) }
            let many = try await server.send("POST", "/classes/Place", ["area": polygon(corners)])
            #expect(many.code == 107, "\(many.text.prefix(200))")
            let near = (0..<400).map { number -> JSONValue in
                let tiny = number % 2 == 0 ? 0 : 1e-200
                return [
                    "method": "POST", "path": "/parse/classes/Place", "body": ["at": point(tiny, tiny), "ACL": [:]],
                ]
            }
            for start in stride(from: 0, to: near.count, by: 50) {
                let batch = JSONValue.array(Array(near[start..<start + 50]))
                let made = try await server.send("POST", "/batch", ["requests": batch])
                #expect(made.json.arrayValue?.allSatisfy { $0["success"] != nil } == true, "\(made.text.prefix(300))")
            }
            _ = try await server.create("Place", ["at": point(0, 0)])
            let inside = try await server.find(
                "Place", ["where": ["area": ["$geoIntersects": ["$point": point(5, 5)]]]])
            #expect(inside.results.count == 1, "\(inside.text)")
        }
    }

    @Test("Hidden text with too many words for PostgreSQL doesn't break other users' text search")
    func longTexts() async throws {
        try await TestServer.run { server in
            _ = try await server.create("Note", ["text": "the quick fox"])
            let words = (0..<110_000).map { String($0, radix: 36) }.joined(separator: " ")
            _ = try await server.create("Note", ["text": .string(words), "ACL": [:]])
            let capitals = (0..<60_000).map { String($0, radix: 36).uppercased() }.joined(separator: " ")
            _ = try await server.create("Note", ["text": .string(capitals), "ACL": [:]])
            for search in [["$term": "fox"], ["$term": "fox", "$caseSensitive": true]] as [JSONValue] {
                let found = try await server.find("Note", ["where": ["text": ["$text": ["$search": search]]]])
                #expect(found.status == 200 && found.results.count == 1, "\(found.text)")
            }
        }
    }
}
