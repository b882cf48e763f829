import JSON
import TestSupport
import Testing

@Suite struct ChosenIdTests {
    /// Values that are not strings, and the name of their type in errors.
    private static let others: [(JSONValue, String)] = [
        (5, "Number"), (-1.5, "Number"), (true, "Boolean"), (["a"], "Array"), (["a": 1], "Object"),
        (.date("2020-01-01T00:00:00.000Z"), "Date"),
    ]

    @Test("Rejects ids of other types with 111 and empty, null, 0 or false ids with 104, creating nothing")
    func otherTypes() async throws {
        try await TestServer.run(["allowCustomObjectId": true]) { server in
            _ = try await server.create("Song", ["objectId": "first"])
            for (id, type) in Self.others {
                let refused = try await server.send("POST", "/classes/Song", ["objectId": id])
                let text = "schema mismatch for Song.objectId; expected String but got \(type)"
                #expect(refused.json == ["code": 111, "error": .string(text)], "\(id.text)")
                let user: JSONValue = ["objectId": id, "username": "kim", "password": "p"]
                #expect(try await server.send("POST", "/users", user).code == 111, "\(id.text)")
            }
            for id: JSONValue in ["", .null, 0, false] {
                let refused = try await server.send("POST", "/classes/Song", ["objectId": id])
                #expect(refused.code == 104, "\(refused.text)")
            }
            #expect(try await server.texts("SELECT \"objectId\" FROM \"Song\"") == ["first"])
            #expect(try await server.texts("SELECT \"objectId\" FROM \"_User\"").isEmpty)
        }
    }
}
