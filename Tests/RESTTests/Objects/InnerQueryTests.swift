import JSON
import TestSupport
import Testing

/// Subqueries on join tables and similar, whose rows have no `objectId`.
@Suite struct InnerQueryTests {
    /// Creates a song with two fans, and returns a condition that matches the fans.
    private static func makeFans(_ server: TestServer) async throws -> (
        song: String, fans: [String], condition: JSONObject
    ) {
        let song = try await server.create("Song", ["title": "First"])
        var fans: [String] = []
        for name in ["a", "b", "c"] {
            fans.append(try await server.create("Fan", ["name": .string(name), "city": "Bern"]))
        }
        let added: JSONValue = .array(fans.prefix(2).map { .pointer("Fan", $0) })
        _ = try await server.send(
            "PUT", "/classes/Song/\(song)", ["fans": ["__op": "AddRelation", "objects": added]], as: .master)
        return (song, fans, ["$relatedTo": ["object": .pointer("Song", song), "key": "fans"]])
    }

    @Test("Relation and subquery conditions match nothing in a class whose rows have no objectId")
    func classesWithoutIds() async throws {
        try await TestServer.run { server in
            let (_, _, related) = try await Self.makeFans(server)
            _ = try await server.send(
                "POST", "/hooks/functions", ["functionName": "f", "url": "https://example.org"], as: .master)
            for (name, condition) in [
                ("related", related),
                ("pointer", ["url": ["$inQuery": ["className": "Fan", "where": [:]]]]),
                ("negated", ["$or": [.object(related), ["functionName": "nosuch"]]]),
            ] as [(String, JSONObject)] {
                let answer = try await server.find("_Hooks", ["where": .object(condition)], as: .master)
                #expect(answer.results.isEmpty, "\(name)")
            }
            let inner: JSONValue = ["fans": ["$inQuery": ["className": "_Hooks", "where": [:]]]]
            #expect(try await server.find("Song", ["where": inner], as: .master).results.isEmpty)
        }
    }

    @Test("A $match after another stage supports $relatedTo, $inQuery and $select")
    func documents() async throws {
        try await TestServer.run { server in
            let (song, _, related) = try await Self.makeFans(server)
            _ = try await server.create("Visit", ["song": .pointer("Song", song), "place": "Bern"])
            _ = try await server.create("Visit", ["place": "Rome"])
            func names(_ className: String, _ field: String, _ match: JSONValue) async throws -> [String] {
                let stages: JSONValue = [["$addFields": ["n": 1]], ["$match": match], ["$sort": [Name(field): 1]]]
                let answer = try await server.send(
                    "GET", "/aggregate/\(className)", ["pipeline": stages], as: .master)
                return answer.results.compactMap { $0[field]?.stringValue }
            }
            #expect(try await names("Fan", "name", .object(related)) == ["a", "b"])
            let first: JSONValue = ["$inQuery": ["className": "Song", "where": ["title": "First"]]]
            #expect(try await names("Visit", "place", ["song": first]) == ["Bern"])
            let cities: JSONValue = [
                "$select": ["query": ["className": "Fan", "where": ["name": "a"]], "key": "city"]
            ]
            #expect(try await names("Visit", "place", ["place": cities]) == ["Bern"])
        }
    }
}
