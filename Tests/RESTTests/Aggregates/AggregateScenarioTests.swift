import JSON
import TestSupport
import Testing

/// Stages as dashboards send them, with the exact objects and errors.
@Suite("Exact results of lookups, facets and buckets")
struct AggregateScenarioTests {
    private static func results(_ server: TestServer, _ pipeline: JSONValue, of className: String) async throws
        -> JSONValue
    {
        let answer = try await Sales.aggregate(server, pipeline, className)
        #expect(answer.status == 200, "\(answer.text)")
        return .array(answer.results)
    }

    @Test("A lookup matches equal values and array elements; null or missing values match missing ones")
    func lookups() async throws {
        try await TestServer.run { server in
            for row: JSONObject in [["n": 1, "k": 1], ["n": 2, "k": [1, 2]], ["n": 3]] {
                _ = try await server.create("B", ["o": .object(row)])
            }
            for row: JSONObject in [["n": 1, "k": 1], ["n": 2], ["n": 3, "k": .null], ["n": 4, "k": [2, 7]]] {
                _ = try await server.create("A", ["o": .object(row), "found": "overwritten"])
            }
            let pipeline: JSONValue = [
                ["$sort": ["o.n": 1]],
                [
                    "$lookup": [
                        "from": "B", "localField": "o.k", "foreignField": "o.k", "as": "found",
                        "pipeline": [["$sort": ["o.n": 1]], ["$project": ["_id": 0, "n": "$o.n"]]],
                    ]
                ],
                ["$project": ["_id": 0, "found": 1]],
            ]
            let expected: JSONValue = [
                ["found": [["n": 1], ["n": 2]]], ["found": [["n": 3]]], ["found": [["n": 3]]], ["found": [["n": 2]]],
            ]
            #expect(same(try await Self.results(server, pipeline, of: "A"), expected))
        }
    }

    @Test("$facet returns one object for any number of rows; a lookup of a missing pointer finds nothing")
    func facets() async throws {
        try await TestServer.run { server in
            let album = try await server.create("Album", ["name": "N"])
            for number in 0..<9 {
                var song: JSONObject = ["n": .number(Double(number))]
                if number == 0 { song["album"] = .pointer("Album", album) }
                _ = try await server.create("Song", song)
            }
            let facet: JSONValue = [
                "$facet": [
                    "rows": [["$sort": ["n": 1]], ["$limit": 2], ["$project": ["_id": 0, "n": 1]]],
                    "total": [["$count": "n"]],
                ]
            ]
            #expect(
                same(
                    try await Self.results(server, [facet], of: "Song"),
                    [["rows": [["n": 0], ["n": 1]], "total": [["n": 9]]]]))
            #expect(
                same(
                    try await Self.results(server, [["$match": ["n": 10]], facet], of: "Song"),
                    [["rows": [], "total": []]]))
            let lookup: JSONValue = [
                "$lookup": [
                    "from": "Album", "let": ["al": ["$substr": ["$_p_album", 6, -1]]], "as": "album",
                    "pipeline": [
                        ["$match": ["$expr": ["$eq": ["$_id", "$$al"]]]], ["$project": ["_id": 0, "name": 1]],
                    ],
                ]
            ]
            let joined = try await Self.results(
                server, [["$sort": ["n": 1]], ["$limit": 2], lookup, ["$project": ["_id": 0, "album": 1]]], of: "Song")
            #expect(same(joined, [["album": [["name": "N"]]], ["album": []]]), "\(joined)")
        }
    }

    @Test("Rejects invalid stages with 102; a lookup from an unknown class finds nothing")
    func codes() async throws {
        try await TestServer.run { server in
            _ = try await Sales.make(server)
            func bucket(_ boundaries: JSONValue) -> JSONValue {
                ["$bucket": ["groupBy": "$count", "boundaries": boundaries]]
            }
            func lookup(_ from: JSONValue) -> JSONValue {
                ["$lookup": ["from": from, "localField": "item", "foreignField": "item", "as": "found"]]
            }
            let refused: [JSONValue] = [
                ["$facet": ["a": [["$facet": ["b": []]]]]], ["$facet": [:]], bucket([0, 5]), bucket([5, 0]),
                bucket([0]), lookup("_SCHEMA"), lookup("_Hooks"),
            ]
            for stage in refused {
                let answer = try await Sales.aggregate(server, [stage])
                #expect(answer.status == 400 && answer.code == 102, "\(stage): \(answer.text)")
            }
            let none: JSONValue = [["$limit": 1], lookup("Nosuch"), ["$project": ["_id": 0, "found": 1]]]
            #expect(same(try await Self.results(server, none, of: "Sale"), [["found": []]]))
            for stage: JSONValue in [["$count": "n"], ["$sortByCount": "$item"]] {
                #expect(try await Self.results(server, [["$match": ["item": "none"]], stage], of: "Sale") == [])
            }
        }
    }
}
