import HTTP
import JSON
import Operations
import ParseModel
import ParseStorage
import REST
import TestSupport
import Testing

/// Objects that operators delete, individually or in batches, and restore.
@Suite struct ConsoleTrashTests {
    private static let kim = RequestAuthority(.master, operatorName: "Kim")

    @Test("A restored user keeps the password and the session")
    func users() async throws {
        try await ConsoleRoutes.run { routes in
            let (id, _) = try await routes.create("/users", ["username": "kim", "password": "secret"])
            let session = try await routes.send(.post, "/login", ["username": "kim", "password": "secret"])
            let token = session["sessionToken"]?.stringValue
            let before = try await routes.texts("SELECT _user::text FROM \"_User\" AS _user")
            let deleted = try await routes.send(.delete, "/users/\(id)", [:], Self.kim)
            let trashId = try #require(deleted.trashId)
            #expect(deleted.json == [:])
            #expect(try await routes.send(.get, "/users/me", power: .client, token: token).code == 209)
            let items = try await routes.backend.trash.list(className: "_User", routes.context)
            #expect(items.map(\.name) == ["kim"] && items.map(\.entry.operatorName) == ["Kim"])
            #expect(items[0].object.keys.contains { $0.hasPrefix("_") } == false)
            let restored = try await routes.backend.trash.restore(trashId, routes.context).object
            #expect(restored["username"] == "kim")
            #expect(try await routes.texts("SELECT _user::text FROM \"_User\" AS _user") == before)
            let again = try await routes.send(.post, "/login", ["username": "kim", "password": "secret"])
            #expect(again.status == 200)
            #expect(try await routes.send(.get, "/users/me", power: .client, token: token).status == 200)
        }
    }

    @Test("Doesn't restore a user whose name has since been taken in any letter case")
    func takenNames() async throws {
        try await ConsoleRoutes.run { routes in
            let (id, _) = try await routes.create("/users", ["username": "kim", "password": "secret"])
            let trashId = try #require(try await routes.send(.delete, "/users/\(id)", [:], Self.kim).trashId)
            _ = try await routes.create("/users", ["username": "Kim", "password": "secret"])
            let refusal: Int?
            do {
                _ = try await routes.backend.trash.restore(trashId, routes.context)
                refusal = nil
            } catch let error as ParseError {
                refusal = error.code
            }
            #expect(refusal == ParseError.usernameTaken)
            #expect(try await routes.backend.trash.entry(trashId).objectId == id)
        }
    }

    @Test(
        "Objects that an operator deletes in a batch go to the trash; other deletions are final",
        arguments: [
            false, true,
        ])
    func batches(isTransaction: Bool) async throws {
        try await ConsoleRoutes.run { routes in
            var ids: [String] = []
            for _ in 0..<3 { ids.append(try await routes.create("/classes/Song", ["title": "x"]).id) }
            let calls = ids.prefix(2).map { id -> JSONValue in
                ["method": "DELETE", "path": .string("/parse/classes/Song/\(id)")]
            }
            let batch: JSONObject = ["requests": .array(calls), "transaction": .bool(isTransaction)]
            let answer = try await routes.send(.post, "/batch", batch, Self.kim)
            #expect(answer.json == [["success": [:]], ["success": [:]]])
            #expect(try await routes.send(.delete, "/classes/Song/\(ids[2])").trashId == nil)
            let items = try await routes.backend.trash.list(routes.context)
            #expect(Set(items.map { Name($0.entry.objectId) }) == Set(ids.prefix(2).names))
            let one = try await routes.backend.trash.list(className: "Song", objectId: ids[0], routes.context)
            #expect(one.map(\.entry.objectId) == [ids[0]])
        }
    }

    @Test("A failed deletion leaves nothing in the trash")
    func refused() async throws {
        try await ConsoleRoutes.run { routes in
            let (id, date) = try await routes.create("/classes/Song", ["title": "x"])
            let old = RequestAuthority(
                .master, ifUpdatedAt: ParseDate(milliseconds: date.milliseconds - 1), operatorName: "Kim")
            #expect(try await routes.send(.delete, "/classes/Song/\(id)", [:], old).status == 409)
            #expect(try await routes.send(.delete, "/classes/Song/unknown", [:], Self.kim).code == 101)
            let items = try await routes.backend.trash.list(routes.context)
            #expect(items.isEmpty)
        }
    }
}
