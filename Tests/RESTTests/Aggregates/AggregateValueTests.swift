import JSON
import TestSupport
import Testing

@Suite("Aggregation values") struct AggregateValueTests {
    /// A value of each type. Two further rows have none.
    private static let values: [JSONValue] = [
        .null, -1, 2.5, "", "2024-05-05T10:00:00.000Z", "text", ["k": 1], [], [1, .null], false, true,
        .date("2024-05-05T10:00:00.000Z"),
    ]

    private static func make(_ server: TestServer) async throws {
        for (index, value) in values.enumerated() {
            _ = try await server.create("Row", ["n": .number(Double(index)), "o": ["v": value]])
        }
        _ = try await server.create("Row", ["n": .number(Double(values.count)), "o": [:]])
        _ = try await server.create("Row", ["n": .number(Double(values.count) + 1)])
    }

    private static func numbers(_ server: TestServer, _ expression: JSONValue, ofDocument: Bool) async throws
        -> [Int]
    {
        let before: [JSONValue] = ofDocument ? [["$unset": "nosuch"]] : []
        let answer = try await Sales.aggregate(server, .array(before + [["$match": ["$expr": expression]]]), "Row")
        #expect(answer.status == 200, "\(expression): \(answer.text)")
        return answer.results.compactMap { $0["n"]?.numberValue }.map { Int($0) }.sorted()
    }

    private static func rows(_ range: ClosedRange<Int>, _ others: Int...) -> [Int] { Array(range) + others }

    private static let date: JSONValue = .date("2024-05-05T10:00:00.000Z")

    private static let comparisons: [(JSONValue, [Int])] = [
        (["$eq": ["$o.v", .null]], [0]), (["$eq": ["$o.v", "$nosuch"]], [12, 13]),
        (["$ne": ["$o.v", .null]], rows(1...13)), (["$lt": ["$o.v", .null]], [12, 13]),
        (["$gt": ["$o.v", .null]], rows(1...11)), (["$lt": ["$o.v", 3]], [0, 1, 2, 12, 13]),
        (["$gte": ["$o.v", "text"]], rows(5...11)), (["$gt": ["$o.v", [:]]], rows(6...11)),
        (["$gt": ["$o.v", ["k": 1]]], rows(7...11)), (["$lt": ["$o.v", [1, 2]]], rows(0...8, 12, 13)),
        (["$gte": ["$o.v", true]], [10, 11]), (["$eq": ["$o.v", date]], [4, 11]), (["$gt": ["$o.v", true]], [11]),
        (["$and": ["$o.v", true]], rows(1...8, 10, 11)), (["$cond": ["$o.v", false, true]], [0, 9, 12, 13]),
        (["$eq": ["$nosuch", "$o.nosuch"]], rows(0...13)), (["$not": ["$o.v"]], [0, 9, 12, 13]),
        (["$or": [["$eq": ["$n", 1]], ["$lt": ["$n", 1]]]], [0, 1]), (["$eq": ["$n", "$nosuch"]], []),
        (["$and": [["$eq": ["$n", 1]], ["$eq": ["$nosuch", 1]]]], []),
    ]

    @Test("Missing values are less than null, and values of different types compare by type", arguments: [false, true])
    func comparisons(ofDocument: Bool) async throws {
        try await TestServer.run { server in
            try await Self.make(server)
            for (expression, expected) in Self.comparisons {
                let found = try await Self.numbers(server, expression, ofDocument: ofDocument)
                #expect(found == expected, "\(expression)")
            }
        }
    }

    @Test("Sorts null and missing values first, then by type; $min and $max skip them")
    func order() async throws {
        try await TestServer.run { server in
            try await Self.make(server)
            for direction in [1, -1] {
                let answer = try await Sales.aggregate(
                    server, [["$sort": ["o.v": .number(Double(direction)), "n": 1]], ["$project": ["n": 1]]], "Row")
                let numbers = answer.results.compactMap { $0["n"]?.numberValue }.map { Int($0) }
                var expected: [[Int]] = [[0, 12, 13]]
                for number in 1...11 { expected.append([number]) }
                if direction == -1 { expected.reverse() }
                #expect(numbers == expected.flatMap { $0 }, "\(answer.text)")
            }
            let ends = try await Sales.aggregate(
                server, [["$group": ["_id": .null, "least": ["$min": "$o.v"], "most": ["$max": "$o.v"]]]], "Row")
            let expected: JSONValue = [
                ["objectId": .null, "least": -1, "most": .date("2024-05-05T10:00:00.000Z")]
            ]
            #expect(same(.array(ends.results), expected), "\(ends.text)")
        }
    }

    @Test("Omits computed fields without a value, preserves null and maps paths over arrays")
    func computed() async throws {
        try await TestServer.run { server in
            _ = try await server.create(
                "Row",
                [
                    "o": ["z": .null], "a": 1,
                    "items": [["price": 1, "in": ["k": 2]], ["price": 3], 5, ["in": [["k": 4], ["k": 6]]]],
                ])
            let table: [(JSONValue, JSONValue)] = [
                (["x": "$nosuch", "y": "$o.z", "z": "$a"], ["y": .null, "z": 1]),
                (["x": ["p": "$nosuch", "q": "$o.z"]], ["x": ["q": .null]]),
                (["x": ["$a", "$nosuch"]], ["x": [1, .null]]),
                (["x": ["$add": ["$nosuch", 1]]], ["x": .null]),
                (["x": ["$ifNull": ["$nosuch", "$o.z", 7]]], ["x": 7]),
                (["x": ["$arrayElemAt": [[1], 5]]], [:]), (["x": ["$arrayElemAt": ["$o.z", 5]]], ["x": .null]),
                (["x": ["$cond": [false, 1, "$nosuch"]]], [:]), (["x": "$items.price"], ["x": [1, 3]]),
                (["x": "$items.in.k"], ["x": [2, [4, 6]]]), (["x": "$items.nosuch"], ["x": []]),
            ]
            for (fields, expected) in table {
                var project = fields.objectValue ?? [:]
                project["_id"] = 0
                let answer = try await Sales.aggregate(server, [["$project": .object(project)]], "Row")
                #expect(same(.array(answer.results), [expected]), "\(fields): \(answer.text)")
            }
            let overwritten = try await Sales.aggregate(
                server,
                [["$addFields": ["a": "$nosuch", "o.z": "$nosuch"]], ["$project": ["_id": 0, "a": 1, "o": 1]]],
                "Row")
            #expect(same(.array(overwritten.results), [["o": [:]]]), "\(overwritten.text)")
            let pushed = try await Sales.aggregate(
                server,
                [
                    [
                        "$group": [
                            "_id": .null, "x": ["$push": "$nosuch"], "y": ["$push": "$o.z"], "z": ["$first": "$nosuch"],
                        ]
                    ]
                ], "Row")
            #expect(
                same(.array(pushed.results), [["objectId": .null, "x": [], "y": [.null], "z": .null]]), "\(pushed.text)"
            )
            for root: JSONValue in ["$a", "$nosuch", "$o.z", "$items"] {
                let refused = try await Sales.aggregate(server, [["$replaceRoot": ["newRoot": root]]], "Row")
                #expect(refused.code == 102 && refused.text.contains("newRoot"), "\(refused.text)")
            }
        }
    }

    @Test("Compares date columns with dates and ISO strings", arguments: [false, true])
    func dates(ofDocument: Bool) async throws {
        try await TestServer.run { server in
            _ = try await server.create("Row", ["n": 1, "at": .date("2024-05-05T10:00:00.000Z")])
            _ = try await server.create("Row", ["n": 2, "at": .date("2025-05-05T10:00:00.000Z")])
            let moments: [JSONValue] = [
                "2024-12-31", "2024-12-31T00:00:00Z", "2024-12-31T02:00:00+02:00", .date("2024-12-31T00:00:00.000Z"),
            ]
            for moment in moments {
                #expect(
                    try await Self.numbers(server, ["$gt": ["$at", moment]], ofDocument: ofDocument) == [2], "\(moment)"
                )
                #expect(
                    try await Self.numbers(server, ["$gt": [moment, "$at"]], ofDocument: ofDocument) == [1], "\(moment)"
                )
                #expect(
                    try await Self.numbers(server, ["$lt": ["$_created_at", moment]], ofDocument: ofDocument) == [],
                    "\(moment)")
            }
            #expect(
                try await Self.numbers(server, ["$eq": ["$at", "2024-05-05T10:00:00Z"]], ofDocument: ofDocument) == [1])
            // A text that only looks like a date is a text, and sorts before dates.
            #expect(try await Self.numbers(server, ["$gt": ["$at", "2024-02-31"]], ofDocument: ofDocument) == [1, 2])
        }
    }
}
