import JSON
import TestSupport
import Testing

@Suite("Aggregation facets, buckets and counts") struct AggregateFacetTests {
    private static func make(_ server: TestServer) async throws {
        for price: JSONValue in [1, 4.9, 5, 10, .null] {
            let column: JSONValue = price.isNull ? 0 : price
            _ = try await server.create("Item", ["o": ["price": price], "price": column])
        }
        _ = try await server.create("Item", ["o": ["price": "x"]])
        _ = try await server.create("Item", ["o": [:]])
    }

    private static func bucket(_ more: JSONObject = [:], without: Name...) -> JSONValue {
        var stage: JSONObject = ["groupBy": "$o.price", "boundaries": [0, 5, 10], "default": "o"]
        stage.merge(more) { $1 }
        for name in without { stage[name] = nil }
        return ["$bucket": .object(stage)]
    }

    private static let pipelines: [(JSONValue, JSONValue)] = [
        ([bucket()], [["objectId": 0, "count": 2], ["objectId": 5, "count": 1], ["objectId": "o", "count": 4]]),
        (
            [bucket(["boundaries": [-5, 0, 2, 100], "default": .null])],
            [["objectId": .null, "count": 3], ["objectId": 0, "count": 1], ["objectId": 2, "count": 3]]
        ),
        (
            [
                ["$match": ["price": ["$gt": 0]]],
                bucket(
                    ["groupBy": "$price", "boundaries": [0, 5, 50], "output": ["all": ["$push": "$price"]]],
                    without: "default"),
            ], [["objectId": 0, "all": [1, 4.9]], ["objectId": 5, "all": [5, 10]]]
        ),
        (
            [
                ["$group": ["_id": .null, "n": ["$sum": 1]]],
                bucket(["groupBy": ["$add": ["$n", 1]], "boundaries": [0, 8, 9]], without: "default"),
            ], [["objectId": 8, "count": 1]]
        ),
        ([["$match": ["price": -1]], ["$count": "c"]], []),
        ([["$match": ["price": -1]], ["$sortByCount": "$price"]], []),
        (
            [["$match": ["o.price": ["$gt": 0]]], ["$sortByCount": ["$gt": ["$o.price", 4]]]],
            [["objectId": true, "count": 3], ["objectId": false, "count": 1]]
        ),
        ([["$match": ["o.price": .null]], ["$sortByCount": "$o.price"]], [["objectId": .null, "count": 2]]),
        (
            [["$match": ["price": -1]], ["$facet": ["p": [["$limit": 2]], "n": [["$count": "c"]]]]],
            [["p": [], "n": []]]
        ),
        (
            [["$facet": ["all": [], "n": [["$count": "c"]]]], ["$project": ["n": 1, "a": ["$size": "$all"]]]],
            [["n": [["c": 7]], "a": 7]]
        ),
        (
            [
                ["$addFields": ["double": ["$multiply": ["$price", 2]]]], ["$sort": ["price": -1]],
                [
                    "$facet": [
                        "top": [
                            ["$match": ["double": ["$gt": 0]]], ["$limit": 2], ["$project": ["_id": 0, "double": 1]],
                        ],
                        "sum": [["$group": ["_id": .null, "n": ["$sum": "$price"]]]],
                        "ranges": [bucket(["groupBy": "$price", "boundaries": [0, 5, 50]])],
                    ]
                ],
            ],
            [
                [
                    "top": [["double": 20], ["double": 10]], "sum": [["objectId": .null, "n": 20.9]],
                    "ranges": [
                        ["objectId": 0, "count": 3], ["objectId": 5, "count": 2], ["objectId": "o", "count": 2],
                    ],
                ]
            ]
        ),
        (
            [
                ["$limit": 1],
                [
                    "$lookup": [
                        "from": "Item", "let": ["p": "$price"], "as": "found",
                        "pipeline": [
                            ["$match": ["price": ["$exists": true]]],
                            [
                                "$facet": [
                                    "more": [["$match": ["$expr": ["$gt": ["$price", "$$p"]]]], ["$count": "n"]],
                                    "same": [["$match": ["$expr": ["$eq": ["$price", "$$p"]]]], ["$count": "n"]],
                                ]
                            ],
                        ],
                    ]
                ], ["$project": ["_id": 0, "found": 1]],
            ], [["found": [["more": [["n": 3]], "same": [["n": 1]]]]]]
        ),
    ]

    @Test("$bucket, $facet, $count and $sortByCount return MongoDB's results")
    func stages() async throws {
        try await TestServer.run { server in
            try await Self.make(server)
            for (pipeline, expected) in Self.pipelines {
                let sorted: JSONValue = ["$sort": ["createdAt": 1]]
                let answer = try await Sales.aggregate(
                    server, .array([sorted] + (pipeline.arrayValue ?? [])), "Item")
                #expect(answer.status == 200 && same(.array(answer.results), expected), "\(pipeline): \(answer.text)")
            }
            // Relations appear only in objects.
            let id = try #require(try await server.find("Item", as: .master).results.first?["objectId"]?.stringValue)
            _ = try await server.send(
                "PUT", "/classes/Item/\(id)",
                ["likes": ["__op": "AddRelation", "objects": [.pointer("Item", id)]]], as: .master)
            let facets = try await Sales.aggregate(server, [["$facet": ["n": [["$count": "c"]]]]], "Item")
            #expect(same(.array(facets.results), [["n": [["c": 7]]]]), "\(facets.text)")
        }
    }

    @Test("Joins songs with their albums by $lookup and $unwind, and pages them by $facet")
    func songs() async throws {
        try await TestServer.run { server in
            let album = try await server.create("Album", ["name": "N"])
            let first = try await server.create("Song", ["title": "X", "album": .pointer("Album", album)])
            let second = try await server.create("Song", ["title": "Y"])
            let pipeline: [JSONValue] = [
                ["$sort": ["title": 1]],
                [
                    "$lookup": [
                        "from": "Album", "let": ["al": ["$substr": ["$_p_album", 6, -1]]],
                        "pipeline": [["$match": ["$expr": ["$eq": ["$_id", "$$al"]]]]], "as": "album",
                    ]
                ],
                ["$unwind": ["path": "$album", "preserveNullAndEmptyArrays": true, "includeArrayIndex": "i"]],
                ["$project": ["title": 1, "i": 1, "n": "$album.name"]],
            ]
            let rows: [JSONValue] = [
                ["objectId": .string(first), "title": "X", "i": 0, "n": "N"],
                ["objectId": .string(second), "title": "Y", "i": .null],
            ]
            let answer = try await Sales.aggregate(server, .array(pipeline), "Song")
            #expect(same(.array(answer.results), .array(rows)), "\(answer.text)")
            let facets: JSONValue = ["$facet": ["rows": [["$limit": 1]], "total": [["$count": "n"]]]]
            let shared = try await Sales.aggregate(server, .array(pipeline + [facets]), "Song")
            #expect(same(.array(shared.results), [["rows": [rows[0]], "total": [["n": 2]]]]), "\(shared.text)")
        }
    }

    /// Rejected stages, and the words that the error must contain.
    private static let refused: [(JSONValue, String)] = [
        (bucket(without: "groupBy"), "groupBy"), (bucket(["groupBy": "price"]), "groupBy"),
        (bucket(["groupBy": 1]), "groupBy"), (bucket(["boundaries": [1]]), "boundaries"),
        (bucket(["boundaries": [5, 1]]), "ascending"), (bucket(["boundaries": [1, 1]]), "ascending"),
        (bucket(["boundaries": [1, "x"]]), "one type"), (bucket(["boundaries": ["$a", "$b"]]), "constants"),
        (bucket(without: "boundaries"), "boundaries"), (bucket(["default": 5]), "default"),
        (bucket(["default": "$price"]), "default"), (bucket(["output": 1]), "output"),
        (bucket(["output": ["_id": ["$sum": 1]]]), "output"), (bucket(["output": ["n": 1]]), "$group"),
        (bucket(["x": 1]), "x"), (bucket(without: "default"), "$switch could not find a matching branch"),
        (["$facet": 1], "$facet"), (["$facet": ["a": 1]], "a must be a list"), (["$facet": ["a.b": []]], "a.b"),
        (["$facet": ["$a": []]], "$a"), (["$facet": ["a": [["$facet": ["b": []]]]]], "$facet"),
        (["$facet": ["a": [["$geoNear": [:]]]]], "$geoNear"), (["$facet": ["a": [["$out": "X"]]]], "$out"),
        (["$facet": ["a": [["$merge": "X"]]]], "$merge"), (["$facet": ["a": [["$nosuch": 1]]]], "$nosuch"),
        (["$facet": ["a": .array([JSONValue](repeating: ["$limit": 1], count: 100))]], "stages"),
        (["$sortByCount": "price"], "sortByCount"), (["$sortByCount": [:]], "sortByCount"),
        (["$sortByCount": 1], "sortByCount"), (["$sortByCount": ["a": "$price"]], "sortByCount"),
        (["$count": ""], "count field"), (["$count": "$n"], "count field"), (["$count": "a.b"], "cannot contain '.'"),
    ]

    @Test("Rejects invalid $bucket, $facet, $count and $sortByCount stages, and names the problem")
    func refusals() async throws {
        try await TestServer.run { server in
            try await Self.make(server)
            for (stage, name) in Self.refused {
                let answer = try await Sales.aggregate(server, [stage], "Item")
                #expect(answer.status == 400 && [102, 105].contains(answer.code ?? 0), "\(stage): \(answer.text)")
                #expect(answer.json["error"]?.stringValue?.contains(name) == true, "\(stage): \(answer.text)")
            }
        }
    }
}
