import HTTP
import JSON
import ParseModel
import REST
import TestSupport
import Testing

/// Reads with the permissions of a user or of a caller without a session.
@Suite struct ViewAsTests {
    @Test("Reads as a user return what the user's session would, without creating one; writes fail")
    func users() async throws {
        try await ConsoleRoutes.run { routes in
            let (kim, _) = try await routes.create("/users", ["username": "kim", "password": "secret"])
            let (lou, _) = try await routes.create("/users", ["username": "lou", "password": "secret", "phone": "1"])
            let member: JSONObject = [
                "name": "Editor", "ACL": [:], "users": .operation("AddRelation", [.pointer("_User", kim)]),
            ]
            let (role, _) = try await routes.create("/roles", member)
            let parent: JSONObject = [
                "name": "Staff", "ACL": [:], "roles": .operation("AddRelation", [.pointer("_Role", role)]),
            ]
            _ = try await routes.create("/roles", parent)
            for (title, reader) in [("all", "*"), ("kim", kim), ("lou", lou), ("staff", "role:Staff")] {
                let acl: JSONValue = .object([Name(reader): ["read": true]])
                _ = try await routes.create("/classes/Song", ["title": .string(title), "ACL": acl])
            }
            _ = try await routes.create("/classes/Song", ["title": "nobody", "ACL": [:]])
            let session = try await routes.send(.post, "/login", ["username": "kim", "password": "secret"])
            let token = session["sessionToken"]?.stringValue
            let sessions = try await routes.texts("SELECT count(*)::text FROM \"_Session\"")
            let asKim = RequestAuthority(.master, viewAs: .user(id: kim))
            let question: JSONObject = ["order": "title", "count": 1]
            for path in ["/classes/Song", "/users", "/users/\(lou)", "/roles"] {
                let isFind = path.split(separator: "/").count == 1 || path == "/classes/Song"
                let seen = try await routes.send(.get, path, isFind ? question : [:], asKim)
                let expected = try await routes.send(
                    .get, path, isFind ? question : [:], power: .client, token: token)
                #expect(seen.json == expected.json && seen.status == expected.status, "\(path): \(seen)")
            }
            let titles = try await routes.send(.get, "/classes/Song", question, asKim)["results"]?.arrayValue
            #expect(titles?.compactMap { $0["title"] } == ["all", "kim", "staff"])
            let own = try await routes.send(.get, "/users/\(kim)", [:], asKim)
            #expect(own["username"] == "kim" && own["sessionToken"] == nil)
            let nobody = RequestAuthority(.master, viewAs: .anonymous)
            let anonymous = try await routes.send(.get, "/classes/Song", question, nobody)
            #expect(anonymous["results"]?.arrayValue?.compactMap { $0["title"] } == ["all"])
            #expect(try await routes.texts("SELECT count(*)::text FROM \"_Session\"") == sessions)
            #expect(try await routes.send(.post, "/classes/Song", [:], asKim).status == 400)
            #expect(try await routes.send(.get, "/schemas", [:], asKim).status == 403)
            let unknown = RequestAuthority(.master, viewAs: .user(id: "unknown"))
            #expect(try await routes.send(.get, "/classes/Song", [:], unknown).code == 101)
        }
    }
}
