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

    @Test("Ended sessions don't go to the trash, and those of earlier versions can't be restored")
    func sessions() async throws {
        try await ConsoleRoutes.run { routes in
            _ = try await routes.create("/users", ["username": "kim", "password": "secret"])
            func login() async throws -> String {
                let session = try await routes.send(.post, "/login", ["username": "kim", "password": "secret"])
                return try #require(session["sessionToken"]?.stringValue)
            }
            func sessionId(_ token: String) async throws -> String {
                let session = try await routes.send(.get, "/sessions/me", power: .client, token: token)
                return try #require(session["objectId"]?.stringValue, "\(session)")
            }
            func isEnded(_ token: String) async throws -> Bool {
                try await routes.send(.get, "/users/me", power: .client, token: token).code == 209
            }
            let first = try await login()
            let firstId = try await sessionId(first)
            try await routes.client.execute(
                script: """
                    INSERT INTO "_roost_trash" ("_class", "_object", "_operator", "_row", "_bytes")
                    SELECT '_Session', "objectId", 'Kim', to_jsonb(_session), 1 FROM "_Session" AS _session
                    WHERE "objectId" = '\(firstId)'
                    """)
            #expect(try await routes.send(.delete, "/sessions/\(firstId)", [:], Self.kim).trashId == nil)
            #expect(try await isEnded(first))
            for isTransaction in [nil, false, true] {
                let token = try await login()
                let id = try await sessionId(token)
                let path = "/classes/_Session/\(id)"
                if let isTransaction {
                    let call: JSONValue = ["method": "DELETE", "path": .string("/parse" + path)]
                    let batch: JSONObject = ["requests": [call], "transaction": .bool(isTransaction)]
                    #expect(try await routes.send(.post, "/batch", batch, Self.kim).json == [["success": [:]]])
                } else {
                    let deleted = try await routes.send(.delete, path, [:], Self.kim)
                    #expect(deleted.status == 200 && deleted.trashId == nil)
                }
                #expect(try await isEnded(token))
            }
            let entries = try await routes.texts("SELECT _id::text FROM _roost_trash")
            #expect(entries.count == 1)
            #expect(try await routes.backend.trash.list(className: "_Session", routes.context).isEmpty)
            await #expect(throws: ParseError.self) {
                _ = try await routes.backend.trash.restore(entries[0], routes.context)
            }
            #expect(try await isEnded(first))
            try await routes.backend.store.trash.sweep(days: 30, maxBytes: 1 << 30)
            #expect(try await routes.texts("SELECT _id::text FROM _roost_trash").isEmpty)
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
