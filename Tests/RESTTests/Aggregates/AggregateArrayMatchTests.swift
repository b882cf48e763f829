import JSON
import TestSupport
import Testing

/// `$size` and `$elemMatch` in `$match`. A `where` supports neither.
@Suite struct AggregateArrayMatchTests {
    private static let conditions: [(JSONValue, Set<String>)] = [
        (["list": ["$size": 2]], ["two", "objects"]), (["list": ["$size": 0]], ["none"]),
        (["meta.list": ["$size": 1]], ["two"]), (["name": ["$size": 3]], []), (["nosuch": ["$size": 0]], []),
        (["list": ["$elemMatch": ["$gte": 5, "$lt": 8]]], ["two"]), (["list": ["$elemMatch": ["$gt": 8]]], ["mixed"]),
        (["list": ["$elemMatch": ["$ne": 1]]], ["two", "mixed", "objects"]),
        (["list": ["$elemMatch": ["$in": ["a", 7]]]], ["two", "mixed"]),
        // No single object matches the whole condition. Two objects together would.
        (["list": ["$elemMatch": ["kind": "song", "plays": ["$gt": 5]]]], []),
        (["list": ["$elemMatch": ["kind": "song", "plays": ["$lt": 5]]]], ["objects"]),
        (["list": ["$elemMatch": ["$or": [["kind": "video"], ["plays": 99]]]]], ["objects"]),
        (["list": ["$elemMatch": ["parts": ["$elemMatch": ["n": 2]]]]], ["objects"]),
        (["list": ["$elemMatch": ["parts": ["$size": 2]]]], ["objects"]),
        (["name": ["$elemMatch": ["$gt": ""]]], []), (["list": ["$elemMatch": [:]]], ["objects"]),
        (["list": ["$size": 2], "name": "two"], ["two"]),
        (["$nor": [["list": ["$size": 2]]]], ["none", "mixed", "absent"]),
    ]

    @Test(
        "Matches arrays by $size, and by a single element that meets all conditions of $elemMatch",
        arguments: [false, true])
    func matches(asDocuments: Bool) async throws {
        try await TestServer.run { server in
            let parts: JSONValue = [["n": 1], ["n": 2]]
            let rows: [JSONObject] = [
                ["name": "two", "list": [1, 7], "meta": ["list": [4]]], ["name": "none", "list": []],
                ["name": "mixed", "list": ["a", 9, 1]], ["name": "absent"],
                [
                    "name": "objects",
                    "list": [["kind": "song", "plays": 3, "parts": parts], ["kind": "video", "plays": 8]],
                ],
            ]
            for row in rows { _ = try await server.create("Case", row) }
            for (condition, expected) in Self.conditions {
                // After another stage, the condition reads documents instead of columns.
                let before: [JSONValue] = asDocuments ? [["$addFields": ["extra": 1]]] : []
                let answer = try await Sales.aggregate(server, .array(before + [["$match": condition]]), "Case")
                let names = Set(answer.results.compactMap { $0["name"]?.stringValue })
                #expect(names == expected, "\(condition): \(answer.text)")
            }
        }
    }

    @Test("Finds reject $size and $elemMatch", arguments: ["$size", "$elemMatch"] as [Name])
    func refused(name: Name) async throws {
        try await TestServer.run { server in
            _ = try await server.create("Case", ["list": [1]])
            let condition: JSONValue = ["list": .object([name: name == "$size" ? 1 : ["$gt": 0]])]
            let answer = try await server.send(
                "POST", "/classes/Case", ["_method": "GET", "where": condition], as: .master)
            #expect(answer.code == 102, "\(answer.text)")
        }
    }
}
