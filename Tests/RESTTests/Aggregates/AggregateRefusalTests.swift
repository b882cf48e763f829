import JSON
import TestSupport
import Testing

/// Invalid and malicious aggregations.
@Suite struct AggregateRefusalTests {
    private static let hostile: [JSONValue] = [
        1, "x", true, [1], ["x"], [.null], [[]], [[:]], [["$match": [:], "$sort": ["a": 1]]], [["match": [:]]],
        [["$nosuch": 1]], [["$out": "Stolen"]], [["$merge": "Stolen"]], [["$function": [:]]], [["$currentOp": [:]]],
        [["$match": 1]], [["$match": [1]]], [["$match": ["$foo": 1]]], [["$match": ["item": ["$nosuch": 1]]]],
        [["$match": ["$where": "sleep(1)"]]], [["$match": ["item": ["$regex": "("]]]], [["$match": ["$or": 1]]],
        [["$group": 1]], [["$group": [:]]], [["$group": ["n": ["$sum": 1]]]],
        [["$group": ["_id": .null, "objectId": ["$sum": 1]]]],
        [["$group": ["_id": .null, "n": 1]]], [["$group": ["_id": .null, "n": ["$nosuch": 1]]]],
        [["$group": ["_id": .null, "n": ["$sum": 1, "$avg": 1]]]], [["$group": ["_id": ["$nosuch": 1]]]],
        [["$group": ["_id": "$a b"]]], [["$group": ["_id": "$a\""]]], [["$group": ["_id": "$"]]],
        [["$group": ["_id": "$a."]]],
        [["$group": ["_id": "$$LATER"]]], [["$group": ["_id": .null, "a b": ["$sum": 1]]]],
        [["$sort": 1]], [["$sort": [:]]], [["$sort": ["item": 2]]], [["$sort": ["item": "asc"]]],
        [["$sort": ["a b": 1]]],
        [["$limit": -1]], [["$limit": "x"]], [["$limit": 1e300]], [["$skip": 1.5]], [["$skip": .null]],
        [["$sample": ["size": -1]]],
        [["$sample": 1]], [["$project": [:]]], [["$project": 1]], [["$project": ["a\"b": 1]]],
        [["$project": ["v": ["$nosuch": 1]]]],
        [["$unwind": 1]], [["$unwind": "tags"]], [["$unwind": [:]]], [["$lookup": [:]]], [["$lookup": 1]],
        [["$lookup": ["from": "Shop", "localField": "a b", "foreignField": "_id", "as": "x"]]],
        [["$count": 1]], [["$count": "a b"]], [["$count": ""]], [["$addFields": []]], [["$addFields": ["a'b": 1]]],
        [["$unset": 1]],
        [["$unset": []]], [["$geoNear": [:]]], [["$geoNear": ["near": [7, 50]]]], [["$sortByCount": ["$nosuch": 1]]],
        [["$addFields": ["v": ["$add": []]]]], [["$addFields": ["v": ["$divide": [1]]]]],
        [["$addFields": ["v": ["$cond": [1]]]]],
        [["$addFields": ["v": ["$substr": ["$item", 1]]]]], [["$addFields": ["v": ["$sqrt": -1]]]],
        [["$addFields": ["v": ["$multiply": [1e300, 1e300]]]]],
        [["$addFields": ["v": ["$arrayElemAt": ["$tags", 1e300]]]]],
        [["$addFields": ["v": ["$substr": ["$item", 1e300, 1]]]]], [["$addFields": ["v": ["$round": [1, 1e300]]]]],
        [["$addFields": ["v": ["$size": "$item"]]]], [["$addFields": ["v": ["$size": "$nosuch"]]]],
        [["$addFields": ["v": ["$size": ["$tags", "$tags"]]]]],
        [["$addFields": ["v": ["$setUnion": ["$tags", "$item"]]]]],
        [["$addFields": ["v": ["$setEquals": ["$tags"]]]]],
        [["$addFields": ["v": ["$setEquals": ["$tags", "$nosuch"]]]]],
        [["$addFields": ["v": ["$setIsSubset": ["$tags", "$item"]]]]],
        [["$addFields": ["v": ["$arrayElemAt": ["$item", 0]]]]],
        [["$addFields": ["v": ["$arrayElemAt": ["$tags", 0.5]]]]],
        [["$addFields": ["v": ["$dateToString": ["date": "$at", "format": "%Q"]]]]],
        [["$addFields": ["v": ["$dateToString": ["date": "$at", "format": "%"]]]]],
        [["$addFields": ["v": ["$dateToString": ["date": "$at", "format": 1]]]]],
        [["$addFields": ["v": ["$dateToString": ["date": "$at", "timezone": "Moon/Crater"]]]]],
        [["$addFields": ["v": ["$dateToString": ["date": "$at", "timezone": "+1'; DROP"]]]]],
        [["$addFields": ["v": ["$dateToString": ["format": "%Y"]]]]],
        [["$match": ["tags": ["$size": -1]]]], [["$match": ["tags": ["$size": "2"]]]],
        [["$match": ["tags": ["$elemMatch": 1]]]], [["$match": ["tags": ["$elemMatch": ["$nosuch": 1]]]]],
        [["$match": ["tags": ["$elemMatch": ["$inQuery": ["className": "Shop", "where": [:]]]]]]],
        .array([JSONValue](repeating: ["$limit": 1], count: 101)),
    ]

    @Test("Rejects invalid and hostile pipelines with Parse error codes, and changes nothing")
    func hostileInput() async throws {
        try await TestServer.run { server in
            _ = try await Sales.make(server)
            for pipeline in Self.hostile {
                let answer = try await Sales.aggregate(server, pipeline)
                #expect(answer.status == 400, "\(pipeline): \(answer.text)")
                #expect([102, 105, 107].contains(answer.code ?? 0), "\(pipeline): \(answer.text)")
                SecurityProbe.expectHarmless(answer, "\(pipeline)")
            }
            let conditions: [(JSONValue, Int)] = [
                ("{", 107), ([1], 107), (["$foo": 1], 105), (["item": ["$nosuch": 1]], 102),
            ]
            for (condition, code) in conditions {
                let answer = try await server.send(
                    "POST", "/aggregate/Sale", ["_method": "GET", "distinct": "item", "where": condition], as: .master)
                SecurityProbe.expectRefused(answer, code, "\(condition)")
            }
            #expect(try await server.find("Sale", as: .master).results.count == 4)
            #expect(try await server.send("GET", "/schemas/Stolen", as: .master).code == 103)
        }
    }
}
