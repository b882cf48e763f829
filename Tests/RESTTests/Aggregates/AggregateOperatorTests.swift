import JSON
import TestSupport
import Testing

@Suite("Aggregation operators") struct AggregateOperatorTests {
    private static func make(_ server: TestServer) async throws -> String {
        let owner = try await server.create("Person", ["name": "Ann"])
        _ = try await server.create(
            "Thing",
            [
                "i": 1, "name": "héllo", "n": 2, "ok": true, "list": [3, 1, 2], "o": ["a": 1, "b": .null],
                "owner": .pointer("Person", owner), "at": .date("2024-05-05T23:30:15.250Z"), "text": "12",
                "end": .date("2024-05-07T00:30:00.000Z"), "value": "shadow", "utc": "column",
                "items": [["k": "x", "v": 1], ["k": "y", "v": 2]],
            ])
        return owner
    }

    /// Evaluates an expression on the only object, read from its row or from a document.
    private static func value(_ server: TestServer, _ expression: JSONValue, ofDocument: Bool) async throws
        -> TestAnswer
    {
        let before: [JSONValue] = ofDocument ? [["$unset": "nosuch"]] : []
        let group: JSONValue = ["$group": ["_id": .null, "v": ["$push": expression]]]
        return try await Sales.aggregate(server, .array(before + [group]), "Thing")
    }

    private static func date(_ text: String) -> JSONValue { .date(text) }

    private static let conversions: [(JSONValue, JSONValue)] = [
        (["$toString": "$n"], "2"), (["$toString": 2.5], "2.5"), (["$toString": "$ok"], "true"),
        (["$toString": "$at"], "2024-05-05T23:30:15.250Z"), (["$toString": "$nosuch"], .null),
        (["$toString": ["$name"]], "héllo"), (["$toInt": "$text"], 12), (["$toInt": 2.9], 2), (["$toInt": -2.9], -2),
        (["$toInt": "$ok"], 1), (["$toDouble": "1.5e1"], 15), (["$toLong": "$end"], 1_715_041_800_000),
        (["$toBool": ""], true), (["$toBool": 0], false), (["$toBool": "$nosuch"], .null),
        (["$toDate": 0], date("1970-01-01T00:00:00.000Z")),
        (["$toDate": "2024-02-29"], date("2024-02-29T00:00:00.000Z")),
        (["$toObjectId": "$name"], "héllo"), (["$toDecimal": "0.5"], 0.5),
        (["$convert": ["input": "x", "to": "int", "onError": "$value"]], "shadow"),
        (["$convert": ["input": "$nosuch", "to": "int", "onError": 1, "onNull": "$value"]], "shadow"),
        (["$convert": ["input": "$list", "to": "string", "onError": .null]], .null),
        (["$convert": ["input": "$text", "to": 16]], 12), (["$convert": ["input": "x", "to": "bool"]], true),
        (["$type": "$at"], "date"), (["$type": "$nosuch"], "missing"), (["$isNumber": "$n"], true),
    ]

    private static let texts: [(JSONValue, JSONValue)] = [
        (["$replaceOne": ["input": "aXbX", "find": "X", "replacement": "-"]], "a-bX"),
        (["$replaceAll": ["input": "aXbX", "find": "X", "replacement": "$name"]], "ahéllobhéllo"),
        (["$replaceAll": ["input": "$nosuch", "find": "X", "replacement": ""]], .null),
        (["$trim": ["input": " \n a b\t"]], "a b"), (["$ltrim": ["input": "xxa", "chars": "x"]], "a"),
        (["$rtrim": ["input": "axx", "chars": "x"]], "a"), (["$trim": ["input": "$nosuch"]], .null),
        (["$indexOfCP": ["$name", "l"]], 2), (["$indexOfCP": ["$name", "l", 3]], 3),
        (["$indexOfCP": ["$name", "x"]], -1), (["$indexOfCP": ["$name", "o", 0, 4]], -1),
        (["$indexOfCP": ["$nosuch", "x"]], .null), (["$strLenBytes": "$name"], 6),
        (["$regexMatch": ["input": "$name", "regex": "^H", "options": "i"]], true),
        (["$regexMatch": ["input": "$name", "regex": ["$regex": "^x"]]], false),
        (["$regexMatch": ["input": "$nosuch", "regex": "x"]], false),
        (["$substr": [["$substr": ["$name", 1, -1]], 2, -1]], "llo"), (["$concat": ["a", "$nosuch"]], .null),
    ]

    private static let lists: [(JSONValue, JSONValue)] = [
        (["$slice": ["$list", 2]], [3, 1]), (["$slice": ["$list", -2]], [1, 2]), (["$slice": ["$list", 1, 1]], [1]),
        (["$slice": ["$nosuch", 1]], .null), (["$first": "$list"], 3), (["$last": "$list"], 2),
        (["$first": "$nosuch"], .null), (["$ifNull": [["$first": [[]]], "none"]], "none"),
        (["$reverseArray": "$list"], [2, 1, 3]),
        (["$filter": ["input": "$list", "cond": ["$gt": ["$$this", 1]]]], [3, 2]),
        (["$filter": ["input": "$list", "as": "x", "cond": ["$gte": ["$$x", "$n"]], "limit": 1]], [3]),
        (["$filter": ["input": "$list", "cond": false]], []), (["$filter": ["input": "$nosuch", "cond": true]], .null),
        (["$map": ["input": "$items", "as": "x", "in": ["$add": ["$$x.v", "$n"]]]], [3, 4]),
        (["$reduce": ["input": "$list", "initialValue": 10, "in": ["$add": ["$$value", "$$this", "$n"]]]], 22),
        (["$reduce": ["input": "$items", "initialValue": "", "in": ["$concat": ["$$value", "$$this.k"]]]], "xy"),
        (["$reduce": ["input": "$nosuch", "initialValue": 0, "in": 1]], .null),
        (["$reduce": ["input": [], "initialValue": "$value", "in": 1]], "shadow"),
        (
            [
                "$reduce": [
                    "input": "$list", "initialValue": [],
                    "in": [
                        "$concatArrays": [
                            "$$value",
                            [
                                [
                                    "$reduce": [
                                        "input": "$list", "initialValue": "$$this",
                                        "in": ["$add": ["$$value", "$$this"]],
                                    ]
                                ]
                            ],
                        ]
                    ],
                ]
            ], [9, 7, 8]
        ),
        (["$sum": "$list"], 6), (["$avg": ["$n", 4, "x"]], 3), (["$max": "$list"], 3),
        (["$min": ["$n", "$nosuch", 1]], 1),
        (["$objectToArray": "$o"], [["k": "a", "v": 1], ["k": "b", "v": .null]]),
        (["$objectToArray": "$nosuch"], .null),
        (["$arrayToObject": "$items"], ["x": 1, "y": 2]), (["$arrayToObject": [[["a", "$n"]]]], ["a": 2]),
        (["$mergeObjects": ["$o", ["b": 2, "c": "$n"], "$nosuch"]], ["a": 1, "b": 2, "c": 2]),
        (["$let": ["vars": ["a": "$n", "b": ["$add": ["$n", 1]]], "in": ["$multiply": ["$$a", "$$b"]]]], 6),
        (["$let": ["vars": ["a": "$o"], "in": "$$a.a"]], 1), (["$let": ["vars": ["a": 1], "in": "$value"]], "shadow"),
        (
            [
                "$switch": [
                    "branches": [["case": ["$gt": ["$n", 5]], "then": "big"], ["case": "$ok", "then": "$name"]]
                ]
            ], "héllo"
        ),
        (["$switch": ["branches": [["case": false, "then": 1]], "default": 2]], 2),
        (["$cmp": ["$n", 3]], -1), (["$pow": ["$n", 3]], 8), (["a": "$$REMOVE", "b": 1], ["b": 1]),
        (["$gt": ["$$NOW", "$at"]], true),
    ]

    private static let dates: [(JSONValue, JSONValue)] = [
        (["$week": "$at"], 18), (["$week": .date("2024-01-06T00:00:00.000Z")], 0),
        (["$dayOfWeek": ["date": "$at", "timezone": "Europe/Berlin"]], 2),
        (["$dateToString": ["date": "$nosuch", "onNull": "$utc"]], "column"),
        (["$dateTrunc": ["date": "$at", "unit": "day"]], date("2024-05-05T00:00:00.000Z")),
        (
            ["$dateTrunc": ["date": "$at", "unit": "day", "timezone": "Europe/Berlin"]],
            date("2024-05-05T22:00:00.000Z")
        ),
        (["$dateTrunc": ["date": "$at", "unit": "minute", "binSize": 15]], date("2024-05-05T23:30:00.000Z")),
        (
            ["$dateTrunc": ["date": "$at", "unit": "week", "startOfWeek": "Monday"]], date("2024-04-29T00:00:00.000Z")
        ),
        (["$dateTrunc": ["date": "$nosuch", "unit": "day"]], .null),
        (["$dateAdd": ["startDate": "$at", "unit": "month", "amount": "$n"]], date("2024-07-05T23:30:15.250Z")),
        (["$dateSubtract": ["startDate": "$at", "unit": "hour", "amount": 24]], date("2024-05-04T23:30:15.250Z")),
        (
            [
                "$dateAdd": [
                    "startDate": .date("2024-03-30T12:00:00.000Z"), "unit": "day", "amount": 1,
                    "timezone": "Europe/Berlin",
                ]
            ], date("2024-03-31T11:00:00.000Z")
        ),
        (["$dateAdd": ["startDate": "$at", "unit": "day", "amount": "$nosuch"]], .null),
        (["$dateDiff": ["startDate": "$at", "endDate": "$end", "unit": "day"]], 2),
        (["$dateDiff": ["startDate": "$end", "endDate": "$at", "unit": "hour"]], -25),
        (
            ["$dateDiff": ["startDate": "$at", "endDate": "$end", "unit": "day", "timezone": "Europe/Berlin"]], 1
        ),
        (["$dateDiff": ["startDate": "$at", "endDate": "$nosuch", "unit": "day"]], .null),
        (["$dateFromString": ["dateString": "2024-02-29"]], date("2024-02-29T00:00:00.000Z")),
        (
            ["$dateFromString": ["dateString": "05.02.2024 7:08", "format": "%d.%m.%Y %H:%M", "timezone": "+01:00"]],
            date("2024-02-05T06:08:00.000Z")
        ),
        (["$dateFromString": ["dateString": "x", "onError": "$value"]], "shadow"),
        (["$dateFromString": ["dateString": "$nosuch", "onNull": 1]], 1),
        (["$subtract": ["$end", "$at"]], 89_984_750), (["$add": ["$at", 750]], date("2024-05-05T23:30:16.000Z")),
        (["$subtract": ["$at", 250]], date("2024-05-05T23:30:15.000Z")), (["$subtract": ["$n", "$nosuch"]], .null),
    ]

    @Test("Operators return the same values as in MongoDB", arguments: [false, true])
    func values(ofDocument: Bool) async throws {
        try await TestServer.run { server in
            let owner = try await Self.make(server)
            let pointers: [(JSONValue, JSONValue)] = [
                (["$toString": "$owner"], .string("Person$\(owner)")),
                (["$replaceOne": ["input": "$_p_owner", "find": "Person$", "replacement": ""]], .string(owner)),
            ]
            for (expression, expected) in Self.conversions + Self.texts + Self.lists + Self.dates + pointers {
                let answer = try await Self.value(server, expression, ofDocument: ofDocument)
                #expect(answer.status == 200, "\(expression): \(answer.text)")
                let value = answer.results.first?["v"]?.arrayValue?.first ?? "nothing"
                #expect(same(value, expected), "\(expression): \(answer.text)")
            }
        }
    }

    /// Rejected expressions, and the words that the error must contain.
    private static let refused: [(JSONValue, String)] = [
        (["$toString": "$list"], "Unsupported conversion from array to string in $convert with no onError value"),
        (["$toString": "$o"], "Unsupported conversion from object"), (["$toInt": "1.5"], "Failed to parse '1.5'"),
        (["$toInt": 3e9], "Unsupported"), (["$toDate": "2024-02-30"], "2024-02-30"), (["$toInt": [1, 2]], "$toInt"),
        (["$convert": ["input": 1]], "$convert"), (["$convert": ["input": 1, "to": "nosuch"]], "nosuch"),
        (["$convert": ["input": 1, "to": "int", "x": 1]], "x"),
        (["$replaceOne": ["input": "a", "find": "b"]], "replacement"),
        (["$replaceAll": ["input": 1, "find": "b", "replacement": "c"]], "$replaceAll"),
        (["$trim": ["input": 1]], "$trim"), (["$trim": "a"], "$trim"), (["$indexOfCP": ["a"]], "$indexOfCP"),
        (["$indexOfCP": ["a", "a", -1]], "$indexOfCP"), (["$indexOfCP": [1, "a"]], "$indexOfCP"),
        (["$regexMatch": ["input": "$list", "regex": "a"]], "$regexMatch"),
        (["$regexMatch": ["input": "a", "regex": "$name"]], "$regexMatch"),
        (["$regexMatch": ["input": "a", "regex": "("]], "regular expression"),
        (["$regexMatch": ["input": "a", "regex": "a", "options": "q"]], "options"),
        (["$slice": ["$name", 1]], "$slice"), (["$slice": ["$list", 0, 0]], "$slice"),
        (["$slice": ["$list"]], "$slice"),
        (["$filter": ["input": "$name", "cond": true]], "$filter"), (["$filter": ["input": "$list"]], "$filter"),
        (["$filter": ["input": "$list", "cond": true, "limit": 0]], "limit"),
        (["$reduce": ["input": "$list", "initialValue": 0]], "$reduce"),
        (["$reduce": ["input": "$list", "initialValue": 0, "in": "$$x"]], "variable: x"),
        (["$first": "$name"], "array"), (["$objectToArray": "$list"], "$objectToArray"),
        (["$arrayToObject": "$list"], "$arrayToObject"), (["$mergeObjects": ["$list"]], "$mergeObjects"),
        (["$let": ["vars": ["A": 1], "in": 1]], "'A'"), (["$let": ["in": 1]], "$let"),
        (["$switch": ["branches": []]], "branch"), (["$switch": ["branches": [["case": true]]]], "$switch"),
        (
            ["$switch": ["branches": [["case": false, "then": 1]]]],
            "$switch could not find a matching branch for an input, and no default was specified."
        ),
        (["$dateTrunc": ["date": "$at", "unit": "moment"]], "moment"), (["$dateTrunc": ["date": "$at"]], "unit"),
        (["$dateTrunc": ["date": "$at", "unit": "day", "binSize": 0]], "binSize"),
        (["$dateTrunc": ["date": "$at", "unit": "week", "startOfWeek": "noday"]], "noday"),
        (["$dateAdd": ["startDate": "$at", "unit": "day", "amount": 0.5]], "whole number"),
        (["$dateAdd": ["startDate": "$at", "unit": "year", "amount": 9000]], "9999"),
        (["$dateAdd": ["startDate": "$at", "unit": "day"]], "$dateAdd"),
        (["$dateDiff": ["startDate": "$at", "unit": "day"]], "endDate"),
        (["$dateDiff": ["startDate": "$at", "endDate": "$at", "unit": "day", "timezone": "Moon"]], "Moon"),
        (["$dateFromString": ["dateString": "x"]], "Failed to parse 'x'"),
        (["$dateFromString": ["dateString": "x", "format": "%Q"]], "%Q"), (["$add": ["$at", "$end"]], "only one date"),
        (["$function": ["body": "x", "args": [], "lang": "js"]], "$function"), (["$accumulator": [:]], "$accumulator"),
        (["$where": "x"], "$where"), (["$nosuch": 1], "Invalid aggregate expression '$nosuch'."),
    ]

    @Test("Rejects unknown operators and invalid operands, and names them", arguments: [false, true])
    func refusals(ofDocument: Bool) async throws {
        try await TestServer.run { server in
            _ = try await Self.make(server)
            for (expression, name) in Self.refused {
                let answer = try await Self.value(server, expression, ofDocument: ofDocument)
                #expect(answer.status == 400 && [102, 105].contains(answer.code ?? 0), "\(expression): \(answer.text)")
                #expect(answer.json["error"]?.stringValue?.contains(name) == true, "\(expression): \(answer.text)")
            }
        }
    }

    @Test("$mergeObjects merges the objects of a group, and $$REMOVE omits a field")
    func removals() async throws {
        try await TestServer.run { server in
            for row: JSONObject in [["n": 1, "o": ["a": 1]], ["n": 2, "o": ["a": 2, "b": 3]], ["n": 3]] {
                _ = try await server.create("Row", row)
            }
            let merged = try await Sales.aggregate(
                server, [["$sort": ["n": 1]], ["$group": ["_id": .null, "o": ["$mergeObjects": "$o"]]]], "Row")
            #expect(same(.array(merged.results), [["objectId": .null, "o": ["a": 2, "b": 3]]]), "\(merged.text)")
            let kept: JSONValue = ["$cond": [["$gt": ["$n", 1]], "$n", "$$REMOVE"]]
            let removed = try await Sales.aggregate(
                server, [["$sort": ["n": 1]], ["$project": ["_id": 0, "x": kept]]], "Row")
            #expect(same(.array(removed.results), [[:], ["x": 2], ["x": 3]]), "\(removed.text)")
        }
    }
}
