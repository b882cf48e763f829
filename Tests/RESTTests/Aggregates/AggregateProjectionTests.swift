import JSON
import TestSupport
import Testing

/// Inclusion, exclusion and computation of nested fields, and values that grow.
@Suite("Aggregation projections") struct AggregateProjectionTests {
    private static func make(_ server: TestServer) async throws {
        _ = try await server.create(
            "Row",
            [
                "o": ["a": 1, "b": ["c": 2]], "tags": ["x"],
                "items": [["price": 1, "size": 2, "name": "n"], 5, ["price": 3]],
            ])
    }

    @Test("Projects nested fields by path or nested object, also inside arrays")
    func projections() async throws {
        try await TestServer.run { server in
            try await Self.make(server)
            let table: [(JSONValue, JSONValue)] = [
                (["items.price": 1], ["items": [["price": 1], ["price": 3]]]),
                (["items.price": 1, "items.size": 1], ["items": [["price": 1, "size": 2], ["price": 3]]]),
                (["o": ["a": 1]], ["o": ["a": 1]]), (["o": ["b": ["c": true]]], ["o": ["b": ["c": 2]]]),
                (
                    ["o": ["a": 0], "items": 0, "createdAt": 0, "updatedAt": 0],
                    ["o": ["b": ["c": 2]], "tags": ["x"]]
                ),
                (["o.nosuch": 1], ["o": [:]]), (["tags.0": 1], ["tags": []]),
                (["o": ["x": "$o.a"]], ["o": ["x": 1]]),
            ]
            for (fields, expected) in table {
                var project = fields.objectValue ?? [:]
                project["_id"] = 0
                let answer = try await Sales.aggregate(server, [["$project": .object(project)]], "Row")
                #expect(same(.array(answer.results), [expected]), "\(fields): \(answer.text)")
            }
            let kept: JSONValue = ["$project": ["_id": 0, "o": 1, "items": 1]]
            let without: JSONValue = [["size": 2, "name": "n"], 5, [:]]
            for stage: JSONValue in [["$unset": "items.price"], ["$project": ["items.price": 0]]] {
                let answer = try await Sales.aggregate(server, [stage, ["$project": ["_id": 0, "items": 1]]], "Row")
                #expect(same(.array(answer.results), [["items": without]]), "\(stage): \(answer.text)")
            }
            let added = try await Sales.aggregate(
                server, [["$unset": "items"], ["$addFields": ["o": ["a": 7, "d": ["e": "$o.a"]]]], kept], "Row")
            #expect(
                same(.array(added.results), [["o": ["a": 7, "b": ["c": 2], "d": ["e": 1]]]]), "\(added.text)")
            for stage: JSONValue in [
                ["$project": ["o": 1, "tags": 0]], ["$project": ["o": 1, "tags": false]],
                ["$group": ["_id": .null, "a.b": ["$sum": 1]]],
            ] {
                let refused = try await Sales.aggregate(server, [stage], "Row")
                #expect(refused.code == 102, "\(stage): \(refused.text)")
            }
        }
    }

    @Test("Rejects a value that doubles with each stage or list element once it exceeds 16 MB")
    func growth() async throws {
        try await TestServer.run { server in
            try await Self.make(server)
            let text: JSONValue = ["$set": ["v": ["$concat": ["$v", "$v"]]]]
            let nested: JSONValue = ["$set": ["v": ["$v", "$v"]]]
            let replacement: JSONValue = ["input": "$v", "find": "a", "replacement": "$v"]
            let replaced: JSONValue = ["$set": ["v": ["$replaceAll": replacement]]]
            let list: JSONValue = ["$map": ["input": .array([JSONValue](repeating: 1, count: 60)), "in": 1]]
            let sum: JSONValue = ["$concat": ["$$value", "$$value"]]
            let reduced: JSONValue = ["$set": ["v": ["$reduce": ["input": list, "initialValue": "text", "in": sum]]]]
            for stage in [text, nested, replaced, reduced] {
                let stages: [JSONValue] = [["$set": ["v": "aa"]]] + Array(repeating: stage, count: 40)
                let answer = try await Sales.aggregate(server, .array(stages), "Row")
                #expect(answer.code == 102 && answer.text.contains("16 MB"), "\(stage): \(answer.text)")
            }
        }
    }

    @Test("Rejects lists that exceed 16 MB or, in a group, their share of it")
    func lists() async throws {
        try await TestServer.run { server in
            for _ in 0..<4 { _ = try await server.create("Large", ["o": ["k": "", "id": ""]]) }
            // The table stores these values compressed to a hundredth.
            try await server.execute(
                "UPDATE \"Large\" SET \"o\" = jsonb_build_object('k', repeat('a', 5000000), 'id', \"objectId\")")
            func group(_ lists: JSONObject) -> JSONValue { ["$group": .object(lists.merging(["_id": .null]) { $1 })] }
            let count: JSONValue = ["$project": ["_id": 0, "n": ["$size": "$l"]]]
            let table: [(JSONValue, String)] = [
                ([group(["l": ["$push": "$o"]])], "16 MB"), ([group(["l": ["$addToSet": "$o"]])], "16 MB"),
                ([group(["l": ["$push": "$$ROOT"]])], "16 MB"),
                ([group(["l": ["$mergeObjects": ["$arrayToObject": [[["$objectId", "$o"]]]]]])], "16 MB"),
                ([["$limit": 2], group(["l": ["$push": "$o"], "m": ["$push": "$o"]])], "8 MB"),
                ([["$facet": ["a": [["$limit": 2]], "b": [["$limit": 2]]]]], "16 MB"),
                ([["$lookup": ["from": "Large", "pipeline": [], "as": "l"]]], "16 MB"),
                ([["$project": ["l": ["$map": ["input": [1, 2, 3, 4], "in": "$o"]]]]], "16 MB"),
                ([["$limit": 3], group(["l": ["$push": "$o"], "f": ["$first": "$o"]]), count], "{\"n\":3}"),
                (
                    [group(["l": ["$addToSet": "$o.k"], "m": ["$mergeObjects": "$o"], "x": ["$max": "$o"]]), count],
                    "{\"n\":1}"
                ),
            ]
            for (pipeline, text) in table {
                let answer = try await Sales.aggregate(server, pipeline, "Large")
                #expect(
                    answer.status == (text.hasSuffix("MB") ? 400 : 200) && answer.text.contains(text), "\(pipeline)")
            }
        }
    }
}
