import HTTP
import JSON
import ParseModel
import REST
import TestSupport
import Testing

/// Saves and deletions that fail if the object has changed since the operator loaded it.
@Suite struct ConditionalWriteTests {
    private static func at(_ date: ParseDate) -> RequestAuthority { RequestAuthority(.master, ifUpdatedAt: date) }

    @Test(
        "Writes to an object that has changed since it was loaded fail with 409 and the current object",
        arguments: [
            ("/classes/Song", ["title": "a"], "title"),
            ("/users", ["username": "kim", "password": "secret"], "phone"),
            ("/roles", ["name": "Editor", "ACL": [:]], "label"),
            (
                "/installations",
                ["installationId": "123e4567-e89b-12d3-a456-426614174000", "deviceType": "ios"], "deviceToken"
            ),
        ] as [(String, JSONObject, String)])
    func saves(path: String, object: JSONObject, field: String) async throws {
        try await ConsoleRoutes.run { routes in
            let (id, date) = try await routes.create(path, object)
            let place = "\(path)/\(id)"
            let first = try await routes.send(.put, place, [Name(field): "first"], Self.at(date))
            #expect(first.status == 200, "\(first)")
            let second = try await routes.send(.put, place, [Name(field): "second"], Self.at(date))
            #expect(second.status == 409 && second["object"]?[Name(field)] == "first", "\(second)")
            #expect(second["object"]?["updatedAt"] == first["updatedAt"])
            let now = try #require(ParseDate(iso: first["updatedAt"]?.stringValue ?? ""))
            let refused = try await routes.send(.delete, place, [:], Self.at(date))
            #expect(refused.status == 409 && refused["object"]?["objectId"] == .string(id))
            let third = try await routes.send(.put, place, [Name(field): "third"], Self.at(now))
            #expect(third.status == 200)
            let last = try #require(ParseDate(iso: third["updatedAt"]?.stringValue ?? ""))
            #expect(try await routes.send(.get, place)[Name(field)] == "third")
            #expect(try await routes.send(.delete, place, [:], Self.at(last)).status == 200)
            #expect(try await routes.send(.put, place, [Name(field): "x"], Self.at(last)).status == 404)
            #expect(try await routes.send(.delete, place, [:], Self.at(last)).code == 101)
        }
    }

    @Test("A password change with an outdated date is rejected, and sessions remain valid")
    func password() async throws {
        try await ConsoleRoutes.run { routes in
            let (id, date) = try await routes.create("/users", ["username": "kim", "password": "secret"])
            let session = try await routes.send(.post, "/login", ["username": "kim", "password": "secret"])
            let old = ParseDate(milliseconds: date.milliseconds - 1)
            let refused = try await routes.send(.put, "/users/\(id)", ["password": "other"], Self.at(old))
            #expect(refused.status == 409 && refused["object"]?["password"] == nil)
            let token = session["sessionToken"]?.stringValue
            #expect(try await routes.send(.get, "/users/me", power: .client, token: token).status == 200)
            let again = try await routes.send(.post, "/login", ["username": "kim", "password": "secret"])
            #expect(again.status == 200)
        }
    }

    @Test("Of concurrent saves based on the same version, exactly one succeeds")
    func race() async throws {
        try await ConsoleRoutes.run { routes in
            let (id, date) = try await routes.create("/classes/Song", ["plays": 0])
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        try await routes.send(
                            .put, "/classes/Song/\(id)", ["plays": .increment(1)], Self.at(date)
                        ).status
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses.sorted() == [200] + Array(repeating: 409, count: 7))
            #expect(try await routes.send(.get, "/classes/Song/\(id)")["plays"] == 1)
        }
    }

    @Test("Compares dates at the millisecond precision of responses")
    func milliseconds() async throws {
        try await ConsoleRoutes.run { routes in
            let (id, _) = try await routes.create("/classes/Song", ["plays": 0])
            try await routes.client.execute(
                script: "UPDATE \"Song\" SET \"updatedAt\" = '2026-01-01 00:00:00.123456+00'")
            let date = try #require(ParseDate(iso: "2026-01-01T00:00:00.123Z"))
            #expect(try await routes.send(.put, "/classes/Song/\(id)", ["plays": 1], Self.at(date)).status == 200)
        }
    }
}
