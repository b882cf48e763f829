import HTTP
import JSON
import Operations
import ParseModel
import ParseStorage
import REST
import TestSupport
import Testing

/// Reads for the console: counts, references, saved views and shortened values.
@Suite struct ConsoleReadTests {
    @Test("Shortens long values in finds and gets if the caller asks for it")
    func shortening() async throws {
        try await ConsoleRoutes.run { routes in
            let long = JSONValue.string(String(repeating: "x", count: 1_000))
            let (album, _) = try await routes.create("/classes/Album", ["title": long])
            let (id, _) = try await routes.create("/classes/Song", ["title": long, "on": .pointer("Album", album)])
            let short = RequestAuthority(.master, shorten: 100)
            let find = try await routes.send(.get, "/classes/Song", ["include": "on"], short)
            #expect(find["results"]?.arrayValue?.first?["title"]?["bytes"] == 1_000)
            #expect(find["results"]?.arrayValue?.first?["on"]?["title"]?["bytes"] == 1_000)
            let get = try await routes.send(.get, "/classes/Song/\(id)", [:], short)
            #expect(get["title"]?["__type"] == "Shortened" && get["objectId"] == .string(id))
            #expect(try await routes.send(.get, "/classes/Song/\(id)")["title"] == long)
        }
    }

    @Test("Counts the objects of each class, and the references to an object")
    func counts() async throws {
        try await ConsoleRoutes.run { routes in
            let (kim, _) = try await routes.create("/users", ["username": "kim", "password": "secret"])
            for _ in 0..<3 { _ = try await routes.create("/classes/Song", ["by": .pointer("_User", kim)]) }
            let member: JSONObject = [
                "name": "Editor", "ACL": [:], "users": .operation("AddRelation", [.pointer("_User", kim)]),
            ]
            _ = try await routes.create("/roles", member)
            let counts = try await routes.backend.classCounts.counts()
            let song = try #require(counts.first { $0.className == "Song" })
            #expect(song.objects == 3 && !song.isEstimate)
            #expect(counts.contains { $0.className == "_User" && $0.objects == 1 })
            let references = try await routes.backend.references.pointing(
                to: Pointer(className: "_User", objectId: kim))
            let found = references.map { "\($0.className).\($0.field) \($0.count)" }
            #expect(found == ["Song.by 3", "_Role.users 1"])
        }
    }

    @Test("Saved views are private or shared, and only their owners can change them")
    func views() async throws {
        try await ConsoleRoutes.run { routes in
            let views = routes.backend.savedViews
            var view = SavedView(
                id: "abcdefghij", className: "Song", name: "Hits", isShared: false, owner: "Kim",
                content: ["where": ["plays": ["$gt": 1]], "order": "-plays", "columns": ["title", "plays"]])
            try await views.put(view)
            let own = try await views.list(for: "Kim")
            #expect(own.map(\.content) == [view.content] && own.map(\.name) == ["Hits"])
            #expect(try await views.list(for: "Lou").isEmpty)
            view.isShared = true
            view.name = "All hits"
            try await views.put(view)
            let shared = try await views.list(for: "Lou")
            #expect(shared.map(\.name) == ["All hits"] && shared.map(\.owner) == ["Kim"])
            view.owner = "Lou"
            let taken = await Self.code { [view] in try await views.put(view) }
            #expect(taken == ParseError.operationForbidden)
            let others = await Self.code { try await views.delete("abcdefghij", of: "Lou") }
            #expect(others == ParseError.objectNotFound)
            view.id = "a\u{301}"
            let badId = await Self.code { [view] in try await views.put(view) }
            #expect(badId == ParseError.invalidQuery)
            try await views.delete("abcdefghij", of: "Kim")
            #expect(try await views.list(for: "Kim").isEmpty)
        }
    }

    private static func code(_ body: () async throws -> Void) async -> Int? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? ParseError)?.code
        }
    }
}
