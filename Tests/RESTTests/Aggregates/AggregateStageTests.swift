import JSON
import TestSupport
import Testing

/// Known members of stages work. Unknown members are rejected by name.
@Suite("Aggregation stage options") struct AggregateStageTests {
    @Test("$expr works inside $and, $or and $nor")
    func conditions() async throws {
        let cases: [(JSONValue, [String])] = [
            (["$and": [["$expr": ["$gt": ["$count", "$price"]]], ["ok": true]]], ["apple", "plum"]),
            (["$or": [["$expr": ["$gt": ["$count", 5]]], ["item": "fig"]]], ["apple", "fig"]),
            (["$nor": [["$expr": ["$gt": ["$count", 5]]], ["item": "fig"]]], ["pear", "plum"]),
            (["$nor": [["$expr": "$nosuch"], ["price": ["$gt": 3]]]], ["apple", "fig", "plum"]),
            (
                [
                    "$and": [
                        ["$or": [["$expr": ["$eq": ["$item", "fig"]]], ["$nor": [["$expr": "$ok"]]]]], ["count": 4],
                    ]
                ], ["pear"]
            ),
            (["ok": true, "$or": [["$expr": ["$eq": ["$item", "fig"]]], ["item": "plum"]]], ["plum"]),
            (["$expr": "$ok", "$and": [["$expr": ["$gt": ["$count", 5]]]]], ["apple"]),
            (["$and": [["$expr": true], [:]]], ["apple", "fig", "pear", "plum"]),
        ]
        try await TestServer.run { server in
            _ = try await Sales.make(server)
            for (condition, expected) in cases {
                for before: [JSONValue] in [[], [["$addFields": ["x": 1]]]] {
                    let answer = try await Sales.aggregate(server, .array(before + [["$match": condition]]))
                    let found = answer.results.compactMap { $0["item"]?.stringValue }.sorted()
                    #expect(found == expected, "\(condition): \(answer.text)")
                }
            }
        }
    }

    private static let dates: [(JSONValue, Int)] = [
        (["at": ["$gte": ["$date": "2020-02-01T00:00:00.000Z"]]], 2),
        (["at": ["$date": "2020-01-05T10:20:30.400Z"]], 1),
        (["at": ["$eq": ["$date": "2020-01-05T10:20:30.400Z"]]], 1), (["at": ["$lt": ["$date": 1_580_000_000_000]]], 1),
        (["at": ["$gte": ["$date": ["$numberLong": "1640995199999"]]]], 1),
        (["createdAt": ["$gt": ["$date": "2022-01-01"]]], 4),
        (["_created_at": ["$gt": ["$date": "2022-01-01T00:00:00Z"]]], 4), (["_updated_at": ["$lt": ["$date": 0]]], 0),
        (["at": ["$in": [["$date": "2020-01-05T10:20:30.400Z"], .null]]], 2),
        (["at": ["$nin": [["$date": "2020-01-05T10:20:30.400Z"]]]], 3),
        (["at": ["$ne": ["$date": "2020-01-05T10:20:30.400Z"]]], 3),
        (["$or": [["at": ["$lt": ["$date": "2020-02-01"]]], ["item": "fig"]]], 2),
        (["$expr": ["$gte": ["$at", ["$date": "2020-02-01T00:00:00Z"]]]], 2),
        (["$or": [["$expr": ["$lt": ["$createdAt", ["$date": 0]]]], ["item": "fig"]]], 1),
        (["log": ["$elemMatch": ["$gt": ["$date": "2020-01-01"]]]], 1), (["o.at": ["$gt": ["$date": "2020-01-01"]]], 1),
    ]

    @Test("Conditions accept dates as {\"$date\": …}", arguments: [false, true])
    func dates(asDocuments: Bool) async throws {
        try await TestServer.run { server in
            let (_, first) = try await Sales.make(server)
            let date: JSONValue = .date("2020-06-01T00:00:00.000Z")
            _ = try await server.send("PUT", "/classes/Sale/\(first)", ["log": [date], "o": ["at": date]], as: .master)
            for (condition, count) in Self.dates {
                let before: [JSONValue] = asDocuments ? [["$addFields": ["x": 1]]] : []
                let answer = try await Sales.aggregate(server, .array(before + [["$match": condition]]))
                #expect(answer.status == 200 && answer.results.count == count, "\(condition): \(answer.text)")
            }
        }
    }

    @Test("Rejects objects with operators as values in $match and where")
    func values() async throws {
        try await TestServer.run { server in
            _ = try await Sales.make(server)
            let refused: [JSONValue] = [
                ["at": ["$in": [["$x": 1]]]],
                ["at": ["$nin": [1, ["$gt": 1]]]], ["at": ["$all": [["$x": 1]]]], ["at": ["$containedBy": [["$x": 1]]]],
                ["at": ["$eq": ["$gt": 1]]], ["at": ["$exists": ["$x": 1]]], ["at": ["$gt": ["a": 1, "$b": 1]]],
                ["at": ["$gte": ["$date": "nonsense"]]], ["at": ["$gte": ["$date": "2020-01-01", "x": 1]]],
                ["at": ["$gte": ["$date": 1e300]]], ["at": ["$gte": ["$date": .null]]], ["at": ["$in": [[["$x": 1]]]]],
                ["at": ["$gte": ["$oid": 1]]], ["at": ["$ne": ["$numberLong": "9007199254740993"]]],
                ["at": ["$ne": ["$numberInt": 1]]], ["at": ["$ne": ["$numberDouble": "x"]]],
            ]
            for condition in refused + [["at": ["$not": ["$gt": 1]]], ["at": ["$date": [:]]]] {
                let answer = try await Sales.aggregate(server, [["$match": condition]])
                #expect(answer.status == 400 && answer.code == 102, "\(condition): \(answer.text)")
            }
            let date: [JSONValue] = [
                ["at": ["$gte": ["$date": "2020-01-01T00:00:00.000Z"]]], ["at": ["$in": [["$date": "2020-01-01"]]]],
                ["at": ["$gte": ["$oid": "a"]]], ["at": ["$ne": ["$numberLong": "1"]]],
            ]
            for condition in refused + date {
                for sender in [TestServer.Identity.anonymous, .master] {
                    let answer = try await server.send(
                        "POST", "/classes/Sale", ["_method": "GET", "where": condition], as: sender)
                    #expect(answer.status == 400 && answer.code == 102, "\(condition): \(answer.text)")
                }
            }
        }
    }

    @Test("$unwind returns array indexes and distinguishes null from missing values")
    func unwinding() async throws {
        try await TestServer.run { server in
            for row: JSONObject in [
                ["n": 1, "o": ["l": ["x", .null]]], ["n": 2, "o": ["l": "y"]], ["n": 3, "o": ["l": []]],
                ["n": 4, "o": ["l": .null]], ["n": 5, "o": [:]],
            ] { _ = try await server.create("Row", row) }
            let indexed: JSONObject = ["path": "$o.l", "includeArrayIndex": "o.i"]
            let kept = indexed.merging(["preserveNullAndEmptyArrays": true]) { $1 }
            let table: [(JSONObject, JSONValue)] = [
                (indexed, [["l": "x", "i": 0], ["l": .null, "i": 1], ["l": "y", "i": .null]]),
                (
                    kept,
                    [
                        ["l": "x", "i": 0], ["l": .null, "i": 1], ["l": "y", "i": .null], ["i": .null],
                        ["l": .null, "i": .null], ["i": .null],
                    ]
                ),
                (["path": "$o.l", "preserveNullAndEmptyArrays": false], [["l": "x"], ["l": .null], ["l": "y"]]),
                (
                    ["path": "$o.l", "preserveNullAndEmptyArrays": true],
                    [["l": "x"], ["l": .null], ["l": "y"], [:], ["l": .null], [:]]
                ),
            ]
            for (stage, expected) in table {
                let pipeline: JSONValue = [
                    ["$sort": ["n": 1]], ["$unwind": .object(stage)], ["$replaceRoot": ["newRoot": "$o"]],
                ]
                let answer = try await Sales.aggregate(server, pipeline, "Row")
                #expect(same(.array(answer.results), expected), "\(stage): \(answer.text)")
            }
        }
    }

    @Test("$geoNear returns the location and the multiplied distance under the given field names")
    func places() async throws {
        try await TestServer.run { server in
            let place: JSONValue = ["__type": "GeoPoint", "latitude": 51, "longitude": 7]
            _ = try await server.create("Place", ["name": "a", "at": place])
            _ = try await server.create(
                "Place", ["name": "b", "at": ["__type": "GeoPoint", "latitude": 60, "longitude": 7]])
            let answer = try await Sales.aggregate(
                server,
                [
                    [
                        "$geoNear": [
                            "near": ["type": "Point", "coordinates": [7, 50]], "distanceField": "d.km",
                            "distanceMultiplier": 0.001, "includeLocs": "d.place", "key": "at", "spherical": true,
                            "minDistance": 1, "maxDistance": 500_000,
                            "query": ["$or": [["name": "a"], ["$expr": ["$eq": ["$name", "b"]]]]],
                        ]
                    ]
                ], "Place")
            #expect(answer.results.count == 1, "\(answer.text)")
            #expect(same(answer.results.first?["d"]?["place"], place), "\(answer.text)")
            #expect((111...112).contains(answer.results.first?["d"]?["km"]?.numberValue ?? 0), "\(answer.text)")
        }
    }

    private static let near: JSONObject = ["near": ["type": "Point", "coordinates": [7, 50]]]
    private static func near(_ more: JSONObject) -> JSONValue { ["$geoNear": .object(near.merging(more) { $1 })] }

    /// Rejected stages, and the words that the error must contain.
    private static let refused: [(JSONValue, String)] = [
        (["$unwind": ["path": "$tags", "x": 1]], "x"), (["$unwind": ["path": "tags"]], "prefixed with a '$'"),
        (["$unwind": ["path": 1]], "path"), (["$unwind": ["includeArrayIndex": "i"]], "path"),
        (["$unwind": ["path": "$tags", "includeArrayIndex": "$i"]], "includeArrayIndex"),
        (["$unwind": ["path": "$tags", "includeArrayIndex": 1]], "includeArrayIndex"),
        (["$unwind": ["path": "$tags", "includeArrayIndex": ""]], "expected a non-empty string"),
        (["$unwind": ["path": "$tags", "preserveNullAndEmptyArrays": 1]], "preserveNullAndEmptyArrays"),
        (["$unwind": "$$ROOT"], "Invalid field name"), (near(["invented": 1]), "invented"),
        (near(["limit": 1]), "limit"),
        (near(["uniqueDocs": true]), "uniqueDocs"), (near(["maxDistance": "1"]), "maxDistance"),
        (near(["minDistance": .null]), "minDistance"), (near(["distanceField": 1]), "distanceField"),
        (near(["distanceField": "$d"]), "$d"), (near(["includeLocs": 1]), "includeLocs"),
        (near(["includeLocs": "a b"]), "a b"),
        (near(["spherical": 1]), "spherical"), (near(["query": 1]), "$match"),
        (near(["query": ["$nosuch": 1]]), "$nosuch"),
        (near(["distanceMultiplier": "x"]), "distanceMultiplier"), (near(["key": 1]), "key"),
        (near(["key": "item"]), "GeoPoint"),
        (near(["near": ["a", "b"]]), "a point"), (["$sample": ["size": 1, "seed": 2]], "seed"),
        (["$replaceRoot": ["newRoot": "$nested", "x": 1]], "x"), (["$replaceRoot": [:]], "$replaceRoot"),
        (["$replaceRoot": "$nested"], "$replaceRoot"), (["$unset": ["tags", 1]], "$unset"),
        (["$count": "a.b"], "the count field cannot contain '.'"),
        (["$group": ["_id": .null, "n": ["$count": ["x": 1]]]], "$count"),
        (["$group": ["_id": .null, "n": ["$sum": ["$price", "$count"]]]], "$sum"),
        (["$group": ["_id": .null, "n": ["$avg": []]]], "$avg"),
        (["$group": ["_id": .null, "n": ["$first": "$$x"]]], "x"),
        (["$facet": [:]], "$facet"), (["$bucket": [:]], "$bucket"), (["$graphLookup": [:]], "$graphLookup"),
        (["$match": ["$and": [["$expr": ["$nosuch": 1]]]]], "$nosuch"),
        (["$match": ["$and": [["$expr": 1], 1]]], "$and"),
        (["$match": ["$and": [["$expr": 1], ["$foo": 1]]]], "$foo"), (["$match": ["a": ["$expr": 1]]], "$expr"),
    ]

    @Test("Rejects unknown and invalid stage options, and names them")
    func refusals() async throws {
        try await TestServer.run { server in
            _ = try await Sales.make(server)
            _ = try await server.create("Sale", ["place": ["__type": "GeoPoint", "latitude": 1, "longitude": 1]])
            for (stage, name) in Self.refused {
                let answer = try await Sales.aggregate(server, [stage])
                #expect(answer.status == 400 && [102, 105].contains(answer.code ?? 0), "\(stage): \(answer.text)")
                #expect(answer.json["error"]?.stringValue?.contains(name) == true, "\(stage): \(answer.text)")
            }
        }
    }
}
