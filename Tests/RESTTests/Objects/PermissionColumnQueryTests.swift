import JSON
import TestSupport
import Testing

/// Queries of the master key on the columns of an object's ACL.
@Suite struct PermissionColumnQueryTests {
    private static let conditions: [(JSONValue, Set<String>)] = [
        (["_wperm": ["$in": ["u2"]]], ["shared"]), (["_rperm": ["$in": ["u1", "*"]]], ["own", "shared"]),
        (["_wperm": "u1"], ["own", "shared"]), (["_wperm": ["$ne": "u1"]], ["open", "closed"]),
        (["_wperm": ["$nin": ["u2"]]], ["own", "open", "closed"]), (["_wperm": ["$all": ["u1", "u2"]]], ["shared"]),
        (["_wperm": ["$exists": false]], ["open"]), (["_wperm": ["$exists": true]], ["own", "shared", "closed"]),
        (["_rperm": .null], ["open"]), (["_rperm": ["$in": [.null, "*"]]], ["open", "shared"]),
        (["_wperm": []], ["closed"]), (["_wperm": ["$in": ["u1'; --"]]], []),
        (["$or": [["_wperm": "u2"], ["_rperm": ["$exists": false]]]], ["shared", "open"]),
    ]

    @Test("The master key can query objects by _rperm and _wperm; clients can't")
    func conditions() async throws {
        try await TestServer.run { server in
            let user: JSONValue = ["read": true, "write": true]
            let rows: [JSONObject] = [
                ["name": "own", "ACL": ["u1": user]],
                ["name": "shared", "ACL": ["u1": user, "u2": user, "*": ["read": true]]],
                ["name": "open"], ["name": "closed", "ACL": [:]],
            ]
            for row in rows { _ = try await server.create("Note", row) }
            for (condition, expected) in Self.conditions {
                let answer = try await server.send(
                    "POST", "/classes/Note", ["_method": "GET", "where": condition], as: .master)
                let names = Set(answer.results.compactMap { $0["name"]?.stringValue })
                #expect(names == expected, "\(condition): \(answer.text)")
            }
            let order = try await server.send(
                "POST", "/classes/Note", ["_method": "GET", "where": ["_rperm": ["$gt": 1]]], as: .master)
            #expect(order.code == 102, "\(order.text)")
            let client = try await server.send("POST", "/classes/Note", ["_method": "GET", "where": ["_wperm": "u1"]])
            #expect(client.code == 105, "\(client.text)")
        }
    }
}
