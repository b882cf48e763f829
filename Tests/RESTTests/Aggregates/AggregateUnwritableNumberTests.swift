import JSON
import TestSupport
import Testing

/// NaN and infinities, which JSON can't represent. Other programs may have stored them in the database.
@Suite struct AggregateUnwritableNumberTests {
    private static func make(_ server: TestServer) async throws {
        for item in ["NaN", "b", "c", "d"] {
            let place: JSONValue = ["__type": "GeoPoint", "latitude": 7, "longitude": 8]
            _ = try await server.create("Sale", ["item": .string(item), "price": 2, "place": place])
        }
        try await server.execute(
            """
            UPDATE "Sale" SET "price" = 'NaN', "place" = point('NaN', 7) WHERE "item" = 'NaN';
            UPDATE "Sale" SET "price" = 'Infinity' WHERE "item" = 'b';
            UPDATE "Sale" SET "price" = '-Infinity' WHERE "item" = 'c';
            """)
    }

    private static let figures: JSONObject = [
        "sum": ["$sum": "$price"], "mean": ["$avg": "$price"], "least": ["$min": "$price"], "most": ["$max": "$price"],
        "population": ["$stdDevPop": "$price"], "sample": ["$stdDevSamp": "$price"], "all": ["$addToSet": "$price"],
    ]

    @Test("NaN and infinities are null in pipeline results, as in finds")
    func pipelines() async throws {
        try await TestServer.run { server in
            try await Self.make(server)
            let nothing: JSONObject = [
                "objectId": .null, "sum": .null, "mean": .null, "least": .null, "most": .null, "population": .null,
                "sample": .null, "all": [.null, 2],
            ]
            let first: JSONValue = ["$match": ["item": "NaN"]]
            let endless: JSONValue = ["$match": ["item": ["$in": ["b", "c"]]]]
            var group = Self.figures
            group["_id"] = JSONValue.null
            let table: [(JSONValue, JSONValue)] = [
                ([first, ["$project": ["_id": 0, "item": 1, "price": 1]]], [["item": "NaN", "price": .null]]),
                ([endless, ["$project": ["_id": 0, "price": 1]]], [["price": .null], ["price": .null]]),
                (
                    [first, ["$project": ["_id": 0, "place": 1]]],
                    [["place": ["__type": "GeoPoint", "latitude": 7, "longitude": .null]]]
                ),
                (
                    [endless, ["$project": ["_id": 0, "double": ["$multiply": ["$price", 2]]]]],
                    [["double": .null], ["double": .null]]
                ),
                ([["$group": .object(group)]], [.object(nothing)]),
                (
                    [["$group": ["_id": "$price", "n": ["$sum": 1]]], ["$match": ["_id": 2]]],
                    [["objectId": 2, "n": 1]]
                ),
                (
                    [["$group": ["_id": ["$add": ["$price", 1]], "n": ["$sum": 1]]], ["$sort": ["n": 1]]],
                    [["objectId": 3, "n": 1], ["objectId": .null, "n": 3]]
                ),
            ]
            for (pipeline, expected) in table {
                let answer = try await Sales.aggregate(server, pipeline)
                #expect(same(.array(answer.results), expected), "\(pipeline.text): \(answer.text)")
            }
            let whole = try await Sales.aggregate(server, [["$skip": 0]])
            let groups = try await Sales.aggregate(server, [["$group": ["_id": "$price"]]])
            let found = try await server.find("Sale")
            for answer in [whole, groups, found] {
                #expect(answer.results.count == 4 && !answer.text.contains("Infinity"), "\(answer.text)")
            }
            #expect(groups.results.filter { $0["objectId"] == .null }.count == 3, "\(groups.text)")
            for answer in [whole, found] {
                #expect(answer.results.filter { $0["price"] == .null }.count == 3, "\(answer.text)")
            }
        }
    }

    @Test("Distinct values don't include NaN and infinities")
    func distinct() async throws {
        try await TestServer.run { server in
            try await Self.make(server)
            let prices = try await server.send("GET", "/aggregate/Sale?distinct=price", as: .master)
            #expect(prices.results == [2], "\(prices.text)")
            let items = try await server.send("GET", "/aggregate/Sale?distinct=item", as: .master)
            #expect(items.results.count == 4 && items.results.contains("NaN"), "\(items.text)")
        }
    }
}
