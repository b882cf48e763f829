import JSON
import TestSupport
import Testing

/// Stages must have the same results whether they read columns or documents.
@Suite("Aggregation of columns and documents") struct AggregateInputTests {
    private static func make(_ server: TestServer) async throws {
        let shops = try await [server.create("Shop", ["city": "Bonn"]), server.create("Shop", ["city": "Ulm"])]
        let rows: [JSONObject] = [
            [
                "item": "apple", "price": 2, "at": .date("2020-01-05T10:20:30.400Z"), "tags": ["x", "y"],
                "nested": ["k": 1, "none": .null], "shop": .pointer("Shop", shops[0]), "ok": true, "doc": "d", "s": 1,
                "place": ["__type": "GeoPoint", "latitude": 50, "longitude": 7], "grouped": 1, "k": "k", "v": 1,
            ],
            [
                "item": "Äpfel", "price": -3.5, "at": .date("2020-02-06T11:21:31.500Z"), "tags": ["y"],
                "nested": ["k": 2], "shop": .pointer("Shop", shops[0]), "ok": false, "grouped": 2, "k": "k", "v": 1,
            ],
            [
                "item": "plum", "price": 1e15, "at": .date("2021-12-31T23:59:59.999Z"), "tags": [], "nested": [:],
                "shop": .pointer("Shop", shops[1]), "ok": true, "doc": "e", "s": 2, "grouped": 2, "k": "l", "v": 2,
            ],
            ["item": "apple", "price": 2, "at": .date("2020-01-05T10:20:30.400Z"), "grouped": 1],
            ["item": "", "price": 0, "ok": false],
            ["price": 0.1, "nested": ["k": "1"]],
        ]
        for row in rows { _ = try await server.create("Thing", row) }
    }

    private static let fields = [
        "item", "price", "at", "tags", "nested", "shop", "ok", "place", "doc", "s", "grouped", "k", "v", "nested.k",
        "shop.objectId", "nosuch", "tags.0", "at.iso",
    ]

    private static let groups: [JSONValue] = {
        let made: [JSONValue] = [
            .null, 1, "text", ["a": "$item", "b": "$ok"], ["y": ["$year": "$at"], "m": ["$month": "$at"]],
            ["$second": "$at"], ["$millisecond": "$at"], ["$dayOfWeek": "$at"], ["$add": ["$price", "$s", 1]],
            ["$cond": ["if": ["$gt": ["$price", 1]], "then": "$item", "else": "$nosuch"]], ["$toUpper": "$item"],
            ["$in": ["x", "$tags"]], ["$size": ["$ifNull": ["$tags", []]]], ["$ifNull": ["$doc", "$item"]],
            ["$eq": ["$ok", true]],
            ["$substr": ["$item", 0, "$s"]], ["$concat": ["$item", "$k"]], ["$not": "$ok"], ["$abs": "$price"],
            ["$dayOfYear": "$createdAt"],
        ]
        return fields.map { .string("$\($0)") } + made
    }()

    private static func accumulators(of field: String) -> JSONObject {
        [
            "sum": ["$sum": .string("$\(field)")], "avg": ["$avg": .string("$\(field)")],
            "min": ["$min": .string("$\(field)")], "max": ["$max": .string("$\(field)")],
            "first": ["$first": .string("$\(field)")], "last": ["$last": .string("$\(field)")],
            "push": ["$push": .string("$\(field)")], "set": ["$addToSet": .string("$\(field)")],
            "population": ["$stdDevPop": .string("$\(field)")], "sample": ["$stdDevSamp": .string("$\(field)")],
        ]
    }

    private static let pipelines: [JSONValue] = {
        var pipelines: [JSONValue] = groups.map { id in
            [["$group": ["_id": id, "n": ["$sum": 1], "count": ["$count": [:]]]], ["$sort": ["_id": 1]]]
        }
        for field in fields {
            var group = accumulators(of: field)
            group["_id"] = "$grouped"
            pipelines.append([["$sort": ["price": 1]], ["$group": .object(group)], ["$sort": ["_id": 1]]])
            for direction: JSONValue in [1, -1] {
                var order: JSONObject = [Name(field): direction]
                for (other, direction) in ["price": 1, "item": -1, "objectId": 1] as JSONObject
                where other.text != field {
                    order[other] = direction
                }
                pipelines.append([["$sort": .object(order)]])
            }
            pipelines.append([["$sortByCount": .string("$\(field)")], ["$sort": ["count": 1, "objectId": 1]]])
        }
        return pipelines + [
            [["$sort": ["price": 1]], ["$limit": 3], ["$match": ["item": ["$exists": true]]], ["$count": "n"]],
            [["$sort": ["price": 1]], ["$skip": 1], ["$limit": 2], ["$skip": 1]],
            [["$match": ["$expr": ["$gt": ["$price", "$s"]], "ok": true]], ["$sort": ["price": 1]]],
            [["$match": ["at": ["$gt": .date("2020-01-06T00:00:00.000Z")]]], ["$sort": ["price": 1]]],
            [["$group": ["_id": .null, "all": ["$push": "$$ROOT"]]], ["$project": ["all.item": 1]], ["$count": "n"]],
            [["$limit": 4], ["$unwind": "$tags"], ["$sort": ["tags": 1, "price": 1]]],
        ]
    }()

    @Test("Stages return the same results from columns as from documents", arguments: [7, 9])
    func inputs(preset: Int) async throws {
        try await TestServer.run(["preset": .number(Double(preset))]) { server in
            try await Self.make(server)
            for pipeline in Self.pipelines {
                let columns = try await Sales.aggregate(server, pipeline, "Thing")
                #expect(columns.status == 200, "\(pipeline): \(columns.text)")
                // A stage that changes nothing, after which stages read documents.
                let documents = try await Sales.aggregate(
                    server, .array([["$unset": "nosuch"]] + (pipeline.arrayValue ?? [])), "Thing")
                #expect(
                    same(.array(columns.results), .array(documents.results)),
                    "\(pipeline): \(columns.text) is not \(documents.text)")
            }
        }
    }

    @Test("Returns all fields of a group with 120 accumulators")
    func manyMembers() async throws {
        try await TestServer.run { server in
            try await Self.make(server)
            var group: JSONObject = ["_id": .null]
            for number in 0..<120 { group["n\(number)"] = ["$sum": .number(Double(number))] }
            let row = try await Sales.aggregate(server, [["$group": .object(group)]], "Thing").results.first
            for number in 0..<120 { #expect(row?["n\(number)"] == .number(Double(number * 6))) }
        }
    }

    @Test("Looks up objects by any field and by pointers to them")
    func lookUp() async throws {
        try await TestServer.run { server in
            try await Self.make(server)
            // Missing fields equal each other: 4 and 2 times 4, 7 and 1, 3 and 3 times 3, 8 and 2 times 2.
            let lookUps: [(String, String, String, String, Double)] = [
                ("shop", "_id", "Shop", "Thing", 3), ("shop.objectId", "objectId", "Shop", "Thing", 3),
                ("shop", "city", "Shop", "Thing", 0), ("nosuch", "_id", "Shop", "Thing", 0),
                ("price", "_id", "Shop", "Thing", 0), ("objectId", "shop", "Thing", "Shop", 3),
                ("grouped", "s", "Thing", "Thing", 12), ("item", "item", "Thing", "Thing", 8),
                ("nested.k", "nested.k", "Thing", "Thing", 12), ("ok", "ok", "Thing", "Thing", 12),
            ]
            for (local, foreign, from, className, count) in lookUps {
                let stage: JSONValue = [
                    "from": .string(from), "localField": .string(local), "foreignField": .string(foreign),
                    "as": "found",
                ]
                let pipeline: JSONValue = [["$lookup": stage], ["$unwind": "$found"], ["$count": "n"]]
                let answer = try await Sales.aggregate(server, pipeline, className)
                #expect(answer.results.first?["n"]?.numberValue ?? 0 == count, "\(local) \(foreign): \(answer.text)")
            }
        }
    }
}
