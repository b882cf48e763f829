import JSON
import TestSupport
import Testing

@Suite("Aggregation with extended JSON and raw output") struct AggregateFormTests {
    private static func make(_ server: TestServer) async throws -> (owner: String, id: String) {
        let owner = try await server.create("Person", ["name": "Ann"])
        let id = try await server.create(
            "Thing",
            [
                "n": 12, "text": "a", "at": .date("2024-05-05T10:00:00.000Z"), "owner": .pointer("Person", owner),
                "o": ["at": .date("2024-05-05T10:00:00.000Z")],
            ])
        return (owner, id)
    }

    private static func results(_ server: TestServer, _ pipeline: JSONValue, _ more: JSONObject = [:]) async throws
        -> JSONValue
    {
        var body: JSONObject = ["_method": "GET", "pipeline": pipeline]
        body.merge(more) { $1 }
        let answer = try await server.send("POST", "/aggregate/Thing", .object(body), as: .master)
        #expect(answer.status == 200, "\(pipeline): \(answer.text)")
        return .array(answer.results)
    }

    @Test("Accepts extended JSON values in conditions and expressions, and rejects invalid ones")
    func typedValues() async throws {
        try await TestServer.run { server in
            let (_, id) = try await Self.make(server)
            let conditions: [JSONValue] = [
                ["n": ["$numberInt": "12"]], ["n": ["$numberLong": "12"]], ["n": ["$gt": ["$numberDouble": "11.5"]]],
                ["n": ["$in": [["$numberDecimal": "12"]]]], ["text": ["$oid": "a"]], ["_id": ["$oid": .string(id)]],
                ["at": ["$date": "2024-05-05T10:00:00Z"]], ["at": ["$gte": ["$date": ["$numberLong": "0"]]]],
                ["text": ["$regex": "^A", "$options": "i"]], ["$expr": ["$eq": ["$n", ["$numberLong": "12"]]]],
                ["$expr": ["$lte": ["$at", ["$date": "2024-05-05T10:00:00Z"]]]],
                ["$expr": ["$eq": ["$o.at", ["$date": "2024-05-05T10:00:00Z"]]]],
                ["$or": [["at": ["$date": "2024-05-05T10:00:00Z"]], ["n": 0]]], ["at": "2024-05-05T10:00:00.000Z"],
                ["at": ["$gt": "2024-01-01"]], ["at": ["$in": ["2024-05-05T10:00:00Z"]]],
                ["_created_at": ["$gt": "2024-01-01"]], ["createdAt": ["$gt": .date("2024-01-01T00:00:00.000Z")]],
                ["$or": [["at": ["$gt": "2024-01-01"]]]],
            ]
            for condition in conditions {
                for before: [JSONValue] in [[], [["$addFields": ["x": 1]]]] {
                    let pipeline: [JSONValue] = before + [["$match": condition], ["$count": "n"]]
                    #expect(same(try await Self.results(server, .array(pipeline)), [["n": 1]]), "\(condition)")
                    let inner: JSONValue = [
                        "$lookup": ["from": "Thing", "pipeline": .array(pipeline), "as": "found"]
                    ]
                    let found = try await Self.results(server, [inner, ["$project": ["_id": 0, "found": 1]]])
                    #expect(same(found, [["found": [["n": 1]]]]), "\(condition)")
                }
            }
            for value: JSONValue in [
                ["$numberLong": "9007199254740993"], ["$numberInt": 1], ["$numberDouble": "NaN"], ["$oid": 1],
                ["$date": "x"], ["$numberLong": "1", "x": 1],
            ] {
                let answer = try await Sales.aggregate(
                    server, [["$match": ["$expr": ["$eq": ["$n", value]]]]], "Thing")
                #expect(answer.code == 102, "\(answer.text)")
            }
        }
    }

    @Test("rawValues returns dates as extended JSON, and rawFieldNames returns the stored field names")
    func forms() async throws {
        try await TestServer.run { server in
            let (owner, id) = try await Self.make(server)
            let project: JSONValue = [["$project": ["at": 1, "owner": 1, "o": 1]]]
            let pointer = JSONValue.pointer("Person", owner)
            let date: JSONValue = .date("2024-05-05T10:00:00.000Z")
            let raw: JSONValue = ["$date": "2024-05-05T10:00:00.000Z"]
            let stored = JSONValue.string("Person$\(owner)")
            let table: [(JSONObject, JSONValue)] = [
                ([:], ["objectId": .string(id), "at": date, "owner": pointer, "o": ["at": date]]),
                (["rawValues": false], ["objectId": .string(id), "at": date, "owner": pointer, "o": ["at": date]]),
                (["rawValues": true], ["objectId": .string(id), "at": raw, "owner": pointer, "o": ["at": raw]]),
                (["rawFieldNames": true], ["_id": .string(id), "at": date, "_p_owner": stored, "o": ["at": date]]),
                (
                    ["rawFieldNames": true, "rawValues": true],
                    ["_id": .string(id), "at": raw, "_p_owner": stored, "o": ["at": raw]]
                ),
            ]
            for (options, expected) in table {
                let results = try await Self.results(server, project, options)
                #expect(same(results, [expected]), "\(options): \(results)")
            }
            let whole = try await Self.results(server, [], ["rawFieldNames": true]).arrayValue?.first
            #expect(whole?["_created_at"]?.stringValue != nil && whole?["_updated_at"]?.stringValue != nil)
            #expect(whole?["objectId"] == nil && whole?["createdAt"] == nil && whole?["owner"] == nil)
            let typed = try await Self.results(server, [], ["rawValues": true]).arrayValue?.first
            #expect(typed?["createdAt"]?["$date"]?.stringValue != nil, "\(typed?.text ?? "")")
            let inner: JSONValue = [
                ["$lookup": ["from": "Thing", "localField": "n", "foreignField": "n", "as": "found"]],
                ["$project": ["_id": 0, "found": 1]],
            ]
            let found = try await Self.results(server, inner, ["rawFieldNames": true]).arrayValue?.first
            #expect(found?["found"]?.arrayValue?.first?["_p_owner"] == stored, "\(found?.text ?? "")")
        }
    }
}
