import JSON
import TestSupport
import Testing

@Suite("Aggregation of strings, pointers and dates") struct AggregateTextTests {
    private static func make(_ server: TestServer) async throws -> (owner: String, id: String) {
        let owner = try await server.create("Person", ["name": "Ann"])
        let other = try await server.create("Person", ["name": "Ben"])
        let id = try await server.create(
            "Thing",
            [
                "owner": .pointer("Person", owner), "name": "héllo", "n": 2.5, "ok": true, "list": ["a", "b"],
                "o": ["k": "v"], "empty": "", "at": .date("2024-05-05T23:30:00.000Z"), "i": 1,
                "people": [.pointer("Person", owner), .pointer("Person", other)], "numbers": [1, 2],
            ])
        _ = try await server.create("Thing", ["name": "none"])
        return (owner, id)
    }

    /// Evaluates an expression on the first object, read from its row or from a document.
    private static func value(_ server: TestServer, _ expression: JSONValue, ofDocument: Bool) async throws
        -> TestAnswer
    {
        var stages: [JSONValue] = [["$match": ["i": 1]]]
        if ofDocument { stages.append(["$unset": "nosuch"]) }
        // A group reads columns if it can.
        stages.append(["$group": ["_id": "$nosuch", "v": ["$push": expression]]])
        return try await Sales.aggregate(server, .array(stages), "Thing")
    }

    private static func pointerExpressions(_ owner: String) -> [(JSONValue, JSONValue)] {
        let raw = JSONValue.string("Person$" + owner)
        let id = JSONValue.string(owner)
        let other = JSONValue.string("Other$" + owner)
        let length = JSONValue.number(Double(raw.stringValue?.utf8.count ?? 0))
        let people: JSONValue = ["$map": ["input": "$people", "as": "p", "in": "$$p.objectId"]]
        let wrapped = JSONValue.string("<Person$" + owner + ">")
        let lowered = JSONValue.string("person$" + owner.lowercased())
        return [
            ("$_p_owner", raw), ("$$ROOT._p_owner", raw), (["$substr": ["$_p_owner", 7, -1]], id),
            (["$substr": ["$_p_owner", 0, 6]], "Person"), (["$concat": ["<", "$_p_owner", ">"]], wrapped),
            (["$eq": ["$_p_owner", raw]], true), (["$eq": ["$_p_owner", other]], false),
            (["$in": ["$_p_owner", [raw]]], true), (["$toLower": "$_p_owner"], lowered),
            (["$arrayElemAt": [["$split": ["$_p_owner", ["$literal": "$"]]], 1]], id),
            (["$strLenCP": "$_p_owner"], length), (["$ifNull": ["$_p_nosuch", "x"]], "x"),
            (["$concat": ["$_p_nosuch", "x"]], .null), (["$ifNull": ["$_p_name", "x"]], "x"),
            (["$arrayElemAt": [people, 0]], id), (["$size": people], 2),
        ]
    }

    private static let expressions: [(JSONValue, JSONValue)] = [
        // Texts
        (["$substr": ["$name", 0, 3]], "hé"), (["$substrBytes": ["$name", 3, 2]], "ll"),
        (["$substrCP": ["$name", 1, 3]], "éll"), (["$substr": ["$name", 90, 2]], ""),
        (["$substr": ["$name", -1, 2]], ""),
        (["$substr": ["$nosuch", 0, 2]], ""), (["$substr": ["$n", 0, 2]], "2."),
        (["$substr": ["$at", 0, 10]], "2024-05-05"),
        (["$toUpper": "$at"], "2024-05-05T23:30:00.000Z"), (["$toLower": "$n"], "2.5"),
        (["$toUpper": "$nosuch"], ""),
        (["$split": ["a--b", "-"]], ["a", "", "b"]), (["$split": ["$name", "x"]], ["héllo"]),
        (["$split": ["", "x"]], [""]),
        (["$split": ["$nosuch", "x"]], .null), (["$split": ["$name", "$nosuch"]], .null),
        (["$concat": ["$empty"]], ""),
        (["$concat": "$name"], "héllo"), (["$strLenCP": "$name"], 5),
        // Variables
        (["$map": ["input": "$numbers", "in": ["$add": ["$$this", "$n", 1]]]], [4.5, 5.5]),
        (["$map": ["input": "$nosuch", "in": "$$this"]], .null), (["$map": ["input": [], "in": "$$this"]], []),
        (["$map": ["input": "$numbers", "in": "$$this.nosuch"]], [.null, .null]),
        (
            [
                "$map": [
                    "input": "$numbers", "as": "a",
                    "in": [
                        "$map": [
                            "input": "$list", "as": "b", "in": ["$concat": ["$$b", ["$toLower": "$$a"], "$name"]],
                        ]
                    ],
                ]
            ], [["a1héllo", "b1héllo"], ["a2héllo", "b2héllo"]]
        ),
        (["$map": ["input": "$people", "as": "p", "in": "$$p._p_x"]], [.null, .null]), ("$$CURRENT.name", "héllo"),
        // Dates
        (["$gte": ["$at", ["$date": "2024-05-05T23:30:00Z"]]], true), (["$lt": ["$at", ["$date": 0]]], false),
        (["$eq": ["$at", ["$date": ["$numberLong": "1714951800000"]]]], true),
        (["$eq": ["$at", .date("2024-05-05T23:30:00Z")]], true),
        (["$year": ["$date": "2001-01-01T00:00:00Z"]], 2001),
        (["$dayOfMonth": ["date": "$at", "timezone": "Europe/Berlin"]], 6), (["$hour": ["date": "$at"]], 23),
        (["$hour": ["date": "$at", "timezone": "-02:00"]], 21), (["$hour": ["$at"]], 23),
        (["$year": ["date": "$nosuch", "timezone": "+01:00"]], .null), (["$year": "2024-02-29T23:30:00Z"], 2024),
        (["$year": "2024-02-31T00:00:00Z"], .null), (["$year": "0000-01-01T00:00:00Z"], .null),
        (["$trunc": [2.567, 1]], 2.5), (["$trunc": [-1.8]], -1),
    ]

    @Test(
        "Evaluates string, date and $map expressions, and reads _p_ fields as Class$objectId", arguments: [false, true])
    func values(ofDocument: Bool) async throws {
        try await TestServer.run { server in
            let (owner, _) = try await Self.make(server)
            for (expression, expected) in Self.pointerExpressions(owner) + Self.expressions {
                let answer = try await Self.value(server, expression, ofDocument: ofDocument)
                #expect(answer.status == 200, "\(expression): \(answer.text)")
                let value = answer.results.first?["v"]?.arrayValue?.first ?? .null
                #expect(same(value, expected), "\(expression): \(answer.text)")
            }
        }
    }

    /// Rejected expressions, and the words that the error must contain.
    private static let refused: [(JSONValue, String)] = [
        (["$toLower": "$owner"], "$toLower"), (["$toUpper": "$list"], "$toUpper"), (["$toLower": "$o"], "$toLower"),
        (["$toLower": "$ok"], "$toLower"), (["$concat": ["$owner", "!"]], "$concat"),
        (["$concat": ["$list", "!"]], "$concat"),
        (["$concat": ["a", "$o"]], "$concat"), (["$concat": ["a", 1]], "$concat"),
        (["$substr": ["$owner", 0, 3]], "$substr"),
        (["$substr": ["$list", 0, 3]], "$substr"), (["$substrCP": ["$o", 0, 3]], "$substrCP"),
        (["$substrCP": ["$name", -1, 3]], "$substrCP"), (["$substrCP": ["$name", 0, -1]], "$substrCP"),
        (["$substr": ["$name", "a", 3]], "$substr"), (["$substr": ["$name", 0, [1]]], "$substr"),
        (["$substr": ["$name", 0, 2]], "$substr"), (["$substrBytes": ["$name", 2, 1]], "$substrBytes"),
        (["$substr": ["$name", 1e10, 1]], "$substr"), (["$strLenCP": "$list"], "$strLenCP"),
        (["$strLenCP": 5], "$strLenCP"),
        (["$split": ["$owner", "a"]], "$split"), (["$split": ["$name", ""]], "$split"),
        (["$split": ["$name", 1]], "$split"),
        (["$split": ["$name"]], "$split"), (["$toLower": ["$name", "$name"]], "$toLower"),
        (["$map": ["input": "$name", "in": 1]], "$map"), (["$map": ["input": "$list"]], "$map"), (["$map": 1], "$map"),
        (["$map": ["input": "$list", "in": 1, "x": 1]], "x"), (["$map": ["input": "$list", "as": 1, "in": 1]], "as"),
        (["$map": ["input": "$list", "as": "P", "in": 1]], "'P'"),
        (["$map": ["input": "$list", "in": "$$p"]], "variable: p"),
        (["$map": ["input": "$$this", "in": 1]], "variable: this"), ("$$p.x", "variable: p"),
        ("$$", "variable"), ("$$.a", "variable"), ("$$ROOT.a b", "a b"), ("$$ROOT.", "name"),
        (["$cond": ["if": true, "then": 1, "else": 2, "elze": 3]], "elze"),
        (["$cond": ["if": true, "then": 1]], "$cond"),
        (["$year": ["date": "$at", "zone": "UTC"]], "zone"), (["$year": ["timezone": "UTC"]], "$year"),
        (["$year": ["$at", "$at"]], "$year"), (["$year": ["date": "$at", "timezone": "Moon/Crater"]], "Moon/Crater"),
        (["$dateToString": ["date": "$at", "form": "%Y"]], "form"), (["$abs": [1, 2]], "$abs"),
        (["$round": [1, 2, 3]], "$round"),
        (["$not": [true, false]], "$not"), (["$date": "nonsense"], "$date"), (["$date": [:]], "$date"),
        (["$date": 1e300], "$date"),
        (["$date": "2020-01-01", "x": 1], "$date"), (["$oid": 1], "$oid"), (["$numberLong": "x"], "$numberLong"),
        (["$switch": ["branches": []]], "$switch"), (["$filter": ["input": "$list"]], "$filter"),
    ]

    @Test("Rejects invalid operands, variables and options of string and date operators, and names them")
    func refusals() async throws {
        try await TestServer.run { server in
            _ = try await Self.make(server)
            for (expression, name) in Self.refused {
                for ofDocument in [false, true] {
                    let answer = try await Self.value(server, expression, ofDocument: ofDocument)
                    #expect(
                        answer.status == 400 && [102, 105].contains(answer.code ?? 0), "\(expression): \(answer.text)")
                    #expect(answer.json["error"]?.stringValue?.contains(name) == true, "\(expression): \(answer.text)")
                }
            }
        }
    }

    @Test("Matches, groups, sorts, projects and unsets pointers by their _p_ field names")
    func storedPointers() async throws {
        try await TestServer.run { server in
            let (owner, _) = try await Self.make(server)
            let raw: JSONValue = .string("Person$\(owner)")
            let conditions: [(JSONValue, Int)] = [
                (["_p_owner": raw], 1), (["_p_owner": .string(owner)], 0), (["_p_owner": .string("Other$\(owner)")], 0),
                (["_p_owner": ["$ne": .string("Other$\(owner)")]], 2), (["_p_owner": ["$exists": true]], 1),
                (["_p_owner": ["$in": [raw, "x"]], "i": 1], 1), (["_p_owner": .null], 1),
                (["_p_owner": ["$nin": [raw]]], 1),
                (["$or": [["_p_owner": raw], ["name": "none"]]], 2), (["$and": [["$or": [["_p_owner": raw]]]]], 1),
                (["owner": .pointer("Other", owner)], 0), (["owner": .pointer("Person", owner)], 1),
                (["people": .pointer("Other", owner)], 0), (["people": .pointer("Person", owner)], 1),
            ]
            for (condition, count) in conditions {
                for before: [JSONValue] in [[], [["$addFields": ["x": 1]]]] {
                    let answer = try await Sales.aggregate(server, .array(before + [["$match": condition]]), "Thing")
                    #expect(answer.results.count == count, "\(condition): \(answer.text)")
                }
            }
            let refused = try await Sales.aggregate(server, [["$match": ["_p_owner": ["$regex": "^Person"]]]], "Thing")
            #expect(refused.code == 102 && refused.text.contains("$regex"), "\(refused.text)")
            let groups = try await Sales.aggregate(
                server, [["$group": ["_id": "$_p_owner", "n": ["$sum": 1]]], ["$sort": ["_id": -1]]], "Thing")
            #expect(
                same(.array(groups.results), [["objectId": raw, "n": 1], ["objectId": .null, "n": 1]]), "\(groups.text)"
            )
            let sorted = try await Sales.aggregate(
                server, [["$sort": ["_p_owner": -1]], ["$project": ["_id": 0, "_p_owner": 1, "name": 1]]], "Thing")
            #expect(
                same(sorted.results.first, ["name": "héllo", "owner": .pointer("Person", owner)]), "\(sorted.text)")
            let without = try await Sales.aggregate(server, [["$match": ["i": 1]], ["$unset": "_p_owner"]], "Thing")
            #expect(without.results.first?["owner"] == nil && without.results.first?["name"] != nil, "\(without.text)")
        }
    }

    @Test("Computed fields with a leading underscore aren't returned; internal columns can't be read")
    func computedNames() async throws {
        try await TestServer.run { server in
            _ = try await Self.make(server)
            let size: JSONValue = ["$addFields": ["__size": ["$size": ["$ifNull": ["$list", []]]], "_x": "$name"]]
            let table: [(JSONValue, JSONValue)] = [
                (
                    [size, ["$match": ["__size": ["$gt": 1]]], ["$project": ["_id": 0, "name": 1]]], [["name": "héllo"]]
                ),
                (
                    [
                        size, ["$sort": ["__size": -1]], ["$limit": 1],
                        ["$project": ["_id": 0, "n": "$__size", "_x": 1]],
                    ],
                    [["n": 2]]
                ),
                (
                    [
                        size, ["$group": ["_id": .null, "_all": ["$sum": "$__size"]]],
                        ["$project": ["_id": 0, "n": "$_all"]],
                    ], [["n": 2]]
                ),
                ([size, ["$unset": ["__size", "_x"]], ["$match": ["__size": ["$exists": true]]]], []),
                (
                    [["$addFields": ["_p_made": "text"]], ["$project": ["_id": 0, "n": "$_p_made"]], ["$limit": 1]],
                    [["n": "text"]]
                ),
            ]
            for (pipeline, expected) in table {
                let answer = try await Sales.aggregate(server, pipeline, "Thing")
                #expect(same(.array(answer.results), expected), "\(pipeline): \(answer.text)")
            }
            // Internal columns aren't fields of any class, so secrets of users can't be read.
            for name in ["_hashed_password", "_rperm", "__size", "_session_token", "_perishable_token"] {
                _ = try await server.send("POST", "/users", ["username": .string(name), "password": "p"], as: .master)
                let answer = try await Sales.aggregate(server, [["$project": ["v": .string("$\(name)")]]], "_User")
                #expect(
                    answer.status == 200 && answer.results.allSatisfy { $0["v"] ?? .null == .null }, "\(answer.text)")
            }
            for name in ["_", "__", "a._", "_1", "_a b"] {
                let answer = try await Sales.aggregate(server, [["$addFields": [Name(name): 1]]], "Thing")
                #expect(answer.code == 105, "\(name): \(answer.text)")
            }
        }
    }
}
