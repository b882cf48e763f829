import JSON
import TestSupport
import Testing

@Suite struct AggregateGroupKeyTests {
    @Test("An empty or null group key makes a single group whose id is null", arguments: [7, 9])
    func oneGroup(preset: Int) async throws {
        try await TestServer.run(["preset": .number(Double(preset))]) { server in
            _ = try await Sales.make(server)
            for id: JSONValue in [.null, [:], [], ""] {
                for first: JSONValue in [[], [["$addFields": ["n": 1]]]] {
                    let group: JSONValue = ["$group": ["_id": id, "n": ["$sum": 1]]]
                    let answer = try await Sales.aggregate(server, .array((first.arrayValue ?? []) + [group]))
                    #expect(answer.results.count == 1, "\(id): \(answer.text)")
                    #expect(same(answer.results.first, ["objectId": .null, "n": 4]), "\(id): \(answer.text)")
                }
            }
        }
    }

    @Test("Only presets before 6 accept stage names without $ and groups by objectId", arguments: [4, 5, 6, 9])
    func oldStages(preset: Int) async throws {
        try await TestServer.run(["preset": .number(Double(preset))]) { server in
            _ = try await Sales.make(server)
            let sum: JSONValue = ["$sum": "$count"]
            for pipeline: JSONValue in [
                [["match": ["count": 4]], ["group": ["objectId": "$count", "n": sum]]],
                [["$match": ["count": 4]], ["$group": ["objectId": "$count", "n": sum]]],
                [["match": ["count": 4]], ["group": ["_id": "$count", "n": sum]]],
            ] {
                let answer = try await Sales.aggregate(server, pipeline)
                if preset < 6 {
                    #expect(answer.results.count == 1, "\(answer.text)")
                    #expect(same(answer.results.first, ["objectId": 4, "n": 8]), "\(answer.text)")
                } else {
                    #expect(answer.code == 102, "\(answer.text)")
                }
            }
            #expect(try await Sales.aggregate(server, [["nosuch": [:]]]).code == 102)
            #expect(try await Sales.aggregate(server, [["group": ["n": sum]]]).code == 102)
        }
    }

    @Test("$project can return a group's key as objectId while it excludes _id", arguments: [7, 9])
    func projectedKey(preset: Int) async throws {
        try await TestServer.run(["preset": .number(Double(preset))]) { server in
            let sales = try await Sales.make(server)
            for (key, expected) in [("$item", ["apple", "fig", "pear", "plum"]), ("$shop", sales.shops)] {
                let answer = try await Sales.aggregate(
                    server,
                    [
                        ["$group": ["_id": .string(key), "n": ["$sum": 1]]],
                        ["$project": ["_id": 0, "objectId": "$_id", "n": 1]],
                    ])
                let keys = answer.results.compactMap { $0["objectId"]?.stringValue }
                #expect(Set(keys) == Set(expected), "\(key): \(answer.text)")
                #expect(answer.results.compactMap { $0["n"]?.numberValue }.reduce(0, +) == 4, "\(key): \(answer.text)")
            }
        }
    }

    @Test("Accepts the field names that MongoDB stores, such as _p_shop and _created_at", arguments: [7, 8, 9])
    func storedNames(preset: Int) async throws {
        try await TestServer.run(["preset": .number(Double(preset))]) { server in
            let sales = try await Sales.make(server)
            let groups: [(JSONValue, JSONValue)] = [
                ("$_p_shop", "$shop"), ("$_updated_at", "$updatedAt"), ("$_created_at", "$createdAt"),
                (["day": ["$dayOfYear": "$_updated_at"]], ["day": ["$dayOfYear": "$updatedAt"]]),
                (["shop": "$_p_shop", "ok": "$ok"], ["shop": "$shop", "ok": "$ok"]),
            ]
            for (stored, plain) in groups {
                func group(_ id: JSONValue) async throws -> TestAnswer {
                    let last: JSONValue = stored == "$_p_shop" ? "$_updated_at" : "$updatedAt"
                    let accumulators: JSONObject = ["_id": id, "n": ["$sum": 1], "last": ["$max": last]]
                    return try await Sales.aggregate(server, [["$group": .object(accumulators)], ["$sort": ["n": 1]]])
                }
                let answer = try await group(stored)
                let counts = answer.results.compactMap { $0["n"]?.numberValue }
                #expect(answer.status == 200 && !counts.isEmpty, "\(stored): \(answer.text)")
                if stored != "$_p_shop" {
                    let same = try await group(plain).results.compactMap { $0["n"]?.numberValue }
                    #expect(counts == same, "\(stored): \(answer.text)")
                } else {
                    #expect(counts == [1, 1, 2], "\(answer.text)")
                }
            }
            let shop = sales.shops[0]
            let conditions: [(JSONValue, Int)] = [
                (["_p_shop": .string("Shop$" + shop)], 2), (["_p_shop": ["$in": [.string("Shop$" + shop)]]], 2),
                (["_p_shop": ["$ne": .string("Shop$" + shop)]], 2),
                (["$or": [["_p_shop": .string("Shop$" + shop)], ["item": "fig"]]], 3), (["_p_shop": "Shop$nosuch"], 0),
            ]
            for (condition, count) in conditions {
                let matched = try await Sales.aggregate(server, [["$match": condition]])
                #expect(matched.status == 200 && matched.results.count == count, "\(condition): \(matched.text)")
            }
            // In a condition, such a text is an ordinary value.
            _ = try await server.create("Sale", ["item": "$_p_shop"])
            let found = try await Sales.aggregate(server, [["$match": ["item": "$_p_shop"]]])
            #expect(found.results.count == 1)
        }
    }
}
