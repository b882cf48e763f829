import JSON
import TestSupport
import Testing

@Suite struct AggregateTests {
    private static let named: JSONValue = ["$project": ["item": 1, "_id": 0]]

    private static func items(_ names: String...) -> JSONValue { .array(names.map { ["item": .string($0)] }) }

    /// Pipelines and their results.
    private static let pipelines: [(JSONValue, JSONValue)] = [
        ([["$match": ["count": 4]], ["$sort": ["item": 1]], named], items("pear", "plum")),
        (
            [["$match": ["count": ["$gt": 3]]], ["$match": ["ok": true]], ["$sort": ["item": 1]], named],
            items("apple", "plum")
        ),
        (
            [["$match": ["$or": [["item": "fig"], ["price": ["$lt": 2]]]]], ["$sort": ["item": -1]], named],
            items("plum", "fig")
        ),
        ([["$match": ["price": ["$exists": false]]], named], items("fig")),
        ([["$match": ["price": ["$in": [.null, 2]]]], ["$sort": ["item": 1]], named], items("apple", "fig")),
        ([["$match": ["item": ["$regex": "^p"]]], ["$sort": ["item": 1]], named], items("pear", "plum")),
        ([["$match": ["nested.k": ["$gte": 2]]], ["$sort": ["item": 1]], named], items("pear", "plum")),
        (
            [["$match": ["$expr": ["$gt": ["$count", "$price"]]]], ["$match": ["price": ["$gt": 3]]], named],
            items("pear")
        ),
        ([["$match": ["nosuch": 1]]], []),
        ([["$sort": ["price": -1]], ["$skip": 1], ["$limit": 1], named], items("apple")),
        ([["$sort": ["item": 1]], ["$limit": 2], ["$sort": ["item": -1]], named], items("fig", "apple")),
        ([["$sort": ["item": 1]], ["$limit": 3], ["$skip": 2], named], items("pear")),
        ([["$sort": ["count": 1, "item": -1]], named], items("fig", "plum", "pear", "apple")),
        ([["$sort": ["price": 1]], ["$limit": 1], named], items("fig")),
        (
            [["$group": ["_id": "$count", "n": ["$sum": 1]]], ["$match": ["n": ["$gt": 1]]]], [["objectId": 4, "n": 2]]
        ),
        (
            [["$group": ["_id": "$ok", "n": ["$sum": "$count"]]], ["$sort": ["n": 1]]],
            [["objectId": .null, "n": 1], ["objectId": false, "n": 4], ["objectId": true, "n": 14]]
        ),
        (
            [
                [
                    "$group": [
                        "_id": .null, "sum": ["$sum": "$price"], "avg": ["$avg": "$count"], "min": ["$min": "$price"],
                        "max": ["$max": "$item"], "n": ["$count": [:]],
                        "total": ["$sum": ["$multiply": ["$price", "$count"]]],
                    ]
                ]
            ],
            [["objectId": .null, "sum": 6.5, "avg": 4.75, "min": 1, "max": "plum", "n": 4, "total": 38]]
        ),
        (
            [
                ["$sort": ["item": 1]],
                [
                    "$group": [
                        "_id": .null, "first": ["$first": "$item"], "last": ["$last": "$item"],
                        "all": ["$push": "$item"],
                    ]
                ],
            ],
            [["objectId": .null, "first": "apple", "last": "plum", "all": ["apple", "fig", "pear", "plum"]]]
        ),
        (
            [["$unwind": "$tags"], ["$group": ["_id": .null, "tags": ["$addToSet": "$tags"]]]],
            [["objectId": .null, "tags": ["x", "y"]]]
        ),
        (
            [
                ["$group": ["_id": ["count": "$count", "ok": "$ok"], "n": ["$sum": 1]]],
                ["$match": ["objectId.count": 10]],
            ],
            [["objectId": ["count": 10, "ok": true], "n": 1]]
        ),
        (
            [
                ["$match": ["ok": true]],
                ["$group": ["_id": ["y": ["$year": "$at"], "m": ["$month": "$at"]], "n": ["$sum": 1]]],
                ["$sort": ["_id": 1]],
            ],
            [["objectId": ["m": 1, "y": 2020], "n": 1], ["objectId": ["m": 12, "y": 2021], "n": 1]]
        ),
        ([["$match": ["ok": true]], ["$count": "n"]], [["n": 2]]),
        ([["$match": ["item": "none"]], ["$count": "n"]], []),
        (
            [["$match": ["count": ["$gt": 1]]], ["$sortByCount": "$count"]],
            [["objectId": 4, "count": 2], ["objectId": 10, "count": 1]]
        ),
        (
            [["$unwind": "$tags"], ["$group": ["_id": "$tags", "n": ["$sum": 1]]], ["$sort": ["_id": 1]]],
            [["objectId": "x", "n": 1], ["objectId": "y", "n": 2]]
        ),
        ([["$unwind": ["path": "$tags", "preserveNullAndEmptyArrays": true]], ["$count": "n"]], [["n": 5]]),
        ([["$unwind": "$item"], ["$count": "n"]], [["n": 4]]),
        (
            [
                ["$match": ["item": "apple"]], ["$addFields": ["total": ["$multiply": ["$price", "$count"]]]],
                ["$project": ["_id": 0, "total": 1]],
            ], [["total": 20]]
        ),
        (
            [
                ["$match": ["item": "apple"]], ["$set": ["nested.k": 5]], ["$unset": ["tags", "nested.deep"]],
                ["$project": ["_id": 0, "nested": 1, "tags": 1]],
            ], [["nested": ["k": 5]]]
        ),
        (
            [["$match": ["item": "apple"]], ["$unset": "item"], ["$project": ["_id": 0, "item": 1, "count": 1]]],
            [["count": 10]]
        ),
        ([["$match": ["item": "apple"]], ["$replaceRoot": ["newRoot": "$nested"]]], [["k": 1, "deep": ["v": "q"]]]),
        (
            [["$match": ["item": "pear"]], ["$replaceWith": ["a": "$item", "b": ["c": "$count"]]]],
            [["a": "pear", "b": ["c": 4]]]
        ),
        ([["$sample": ["size": 2]], ["$count": "n"]], [["n": 2]]),
        ([["$limit": 0]], []),
        ([["$project": ["_id": 0, "item": 1, "k": "$nested.k"]], ["$match": ["k": 3]]], [["item": "plum", "k": 3]]),
        (
            [["$match": ["item": "fig"]], ["$project": ["price": 0, "createdAt": 0, "updatedAt": 0, "objectId": 0]]],
            [["item": "fig", "count": 1]]
        ),
        ([["$match": ["item": "fig"]], ["$project": ["item": 1, "objectId": 0]]], [["item": "fig"]]),
        (
            [["$match": ["item": "fig"]], ["$project": ["k": ["$add": ["$count", 1]], "objectId": false]]],
            [["k": 2]]
        ),
        (
            [
                ["$lookup": ["from": "Shop", "localField": "shop", "foreignField": "_id", "as": "shops"]],
                ["$unwind": "$shops"],
                ["$group": ["_id": "$shops.city", "n": ["$sum": 1]]], ["$sort": ["_id": 1]],
            ],
            [["objectId": "Bonn", "n": 2], ["objectId": "Ulm", "n": 1]]
        ),
        (
            [
                ["$lookup": ["from": "Nosuch", "localField": "shop", "foreignField": "_id", "as": "none"]],
                ["$match": ["item": "fig"]], ["$project": ["_id": 0, "none": 1]],
            ], [["none": []]]
        ),
        ([], [["n": 4]]),
    ]

    @Test("Each stage works on the output of the previous one, in any order")
    func stages() async throws {
        try await TestServer.run { server in
            _ = try await Sales.make(server)
            for (pipeline, expected) in Self.pipelines {
                let answer = try await Sales.aggregate(server, pipeline)
                #expect(answer.status == 200, "\(pipeline): \(answer.text)")
                if pipeline == [] {
                    #expect(answer.results.count == 4)
                } else {
                    #expect(same(.array(answer.results), expected), "\(pipeline): \(answer.text)")
                }
            }
        }
    }

    @Test("$first, $last and $push follow the order of a previous $sort, even in large groups")
    func order() async throws {
        try await TestServer.run { server in
            _ = try await server.create("Point", ["n": 0, "g": 0])
            try await server.execute(
                """
                INSERT INTO "Point" ("objectId", "createdAt", "updatedAt", "n", "g")
                SELECT 'p' || n, now(), now(), (n * 7919) % 5003, n % 7 FROM generate_series(1, 5002) AS n
                """)
            let grouped = try await Sales.aggregate(
                server,
                [
                    ["$sort": ["n": -1]],
                    [
                        "$group": [
                            "_id": "$g", "first": ["$first": "$n"], "max": ["$max": "$n"], "last": ["$last": "$n"],
                            "min": ["$min": "$n"],
                        ]
                    ],
                ], "Point")
            #expect(grouped.results.count == 7)
            for row in grouped.results {
                #expect(row["first"] == row["max"], "\(row)")
                #expect(row["last"] == row["min"], "\(row)")
            }
            let pushed = try await Sales.aggregate(
                server, [["$sort": ["n": 1]], ["$group": ["_id": .null, "all": ["$push": "$n"]]]], "Point")
            let numbers = pushed.results.first?["all"]?.arrayValue?.compactMap(\.numberValue) ?? []
            #expect(numbers.count == 5003)
            #expect(numbers == numbers.sorted())
        }
    }

    @Test("Returns createdAt as a string, dates and pointers as objects, and accepts all pipeline formats")
    func forms() async throws {
        try await TestServer.run { server in
            let (shops, first) = try await Sales.make(server)
            let whole = try await Sales.aggregate(server, [["$match": ["item": "apple"]]]).results.first
            #expect(whole?["objectId"]?.stringValue == first)
            #expect(whole?["createdAt"]?.stringValue?.hasSuffix("Z") == true)
            #expect(same(whole?["at"], .date("2020-01-05T10:20:30.400Z")))
            #expect(same(whole?["shop"], .pointer("Shop", shops[0])))
            let bare = try await server.send(
                "POST", "/aggregate/Sale",
                ["_method": "GET", "$match": ["item": "apple"], "$project": ["_id": 0, "item": 1]],
                as: .master)
            #expect(same(.array(bare.results), Self.items("apple")), "\(bare.text)")
            let query = SecurityProbe.encoded(#"[{"$match":{"item":"pear"}},{"$project":{"item":1,"_id":0}}]"#)
            let text = try await server.send("GET", "/aggregate/Sale?pipeline=\(query)", as: .master)
            #expect(same(.array(text.results), Self.items("pear")), "\(text.text)")
            let object = try await Sales.aggregate(
                server, ["$match": ["item": "plum"], "$project": ["_id": 0, "item": 1]])
            #expect(same(.array(object.results), Self.items("plum")), "\(object.text)")
            #expect(try await Sales.aggregate(server, [["$match": [:]]], "Nosuch").results.isEmpty)
        }
    }

    @Test("$geoNear returns the objects within maxDistance, nearest first")
    func geography() async throws {
        try await TestServer.run { server in
            for (name, latitude) in [("near", 50.0), ("far", 52.0), ("farthest", 60.0)] {
                _ = try await server.create(
                    "Place",
                    [
                        "name": .string(name),
                        "at": ["__type": "GeoPoint", "latitude": .number(latitude), "longitude": 7],
                    ])
            }
            let near: JSONValue = ["type": "Point", "coordinates": [7, 50]]
            let found = try await Sales.aggregate(
                server,
                [
                    ["$geoNear": ["near": near, "distanceField": "d", "maxDistance": 500_000]],
                    ["$project": ["_id": 0, "name": 1, "d": 1]],
                ],
                "Place")
            #expect(found.results.map { $0["name"] } == ["near", "far"], "\(found.text)")
            let distance = found.results.last?["d"]?.numberValue ?? 0
            #expect((222_000...223_500).contains(distance), "\(distance)")
        }
    }

    @Test("Queries succeed right after another process drops a column or the table")
    func changedClasses() async throws {
        let questions: [(String, JSONValue)] = [
            ("/classes/Song", ["explain": true]), ("/classes/Song", ["where": ["title": "a"]]),
            ("/aggregate/Song", ["pipeline": [["$group": ["_id": "$title"]]]]),
            ("/aggregate/Song", ["distinct": "title"]),
        ]
        for (path, question) in questions {
            // The table is changed without an announcement, so the server's class definition is out of date.
            try await TestServer.run { server in
                _ = try await server.create("Song", ["title": "a"])
                try await server.execute("ALTER TABLE \"Song\" DROP COLUMN \"title\"")
                let withoutColumn = try await server.send("GET", path, question, as: .master)
                #expect(withoutColumn.status == 200, "\(path): \(withoutColumn.text)")
                try await server.execute("DROP TABLE \"Song\"; DELETE FROM \"_SCHEMA\" WHERE \"className\" = 'Song'")
                let withoutTable = try await server.send("GET", path, question, as: .master)
                #expect(withoutTable.status == 200, "\(path): \(withoutTable.text)")
                #expect(withoutTable.json["results"]?.arrayValue?.first?["title"] == nil)
            }
        }
    }

    @Test("Pipelines that use only some of the fields return the right results")
    func usedFields() async throws {
        try await TestServer.run { server in
            _ = try await server.create(
                "Song", ["title": "a", "plays": 3, "meta": ["mood": "calm", "none": .null], "tags": ["x", "y"]])
            _ = try await server.create("Song", ["title": "b", "plays": 4, "tags": ["y"]])
            for (pipeline, expected) in [
                (
                    [["$group": ["_id": "$meta.mood", "n": ["$sum": "$plays"]]], ["$sort": ["n": 1]]],
                    [["objectId": "calm", "n": 3], ["objectId": .null, "n": 4]]
                ),
                ([["$unwind": "$tags"], ["$sortByCount": "$tags"], ["$limit": 1]], [["objectId": "y", "count": 2]]),
                (
                    [["$sort": ["plays": -1]], ["$group": ["_id": .null, "first": ["$first": "$title"]]]],
                    [["objectId": .null, "first": "b"]]
                ),
                (
                    [["$match": ["$expr": ["$gt": ["$plays", 3]]]], ["$project": ["_id": 0, "title": 1]]],
                    [["title": "b"]]
                ),
                (
                    [
                        ["$addFields": ["double": ["$multiply": ["$plays", 2]]]], ["$match": ["double": 8]],
                        ["$project": ["_id": 0, "tags": 1, "double": 1]],
                    ], [["tags": ["y"], "double": 8]]
                ),
                (
                    [["$replaceRoot": ["newRoot": ["name": "$title"]]], ["$sort": ["name": 1]]],
                    [["name": "a"], ["name": "b"]]
                ),
                (
                    [
                        ["$group": ["_id": .null, "all": ["$push": "$$ROOT"]]], ["$unwind": "$all"],
                        ["$replaceRoot": ["newRoot": "$all"]], ["$match": ["plays": 3]],
                        ["$project": ["_id": 0, "meta": 1]],
                    ], [["meta": ["mood": "calm", "none": .null]]]
                ),
                (
                    [["$match": ["title": "a"]], ["$unset": ["meta", "tags", "createdAt", "updatedAt", "objectId"]]],
                    [["title": "a", "plays": 3]]
                ),
            ] as [(JSONValue, JSONValue)] {
                let answer = try await server.send("GET", "/aggregate/Song", ["pipeline": pipeline], as: .master)
                #expect(same(answer.json["results"], expected), "\(pipeline.text): \(answer.text)")
            }
        }
    }
}
