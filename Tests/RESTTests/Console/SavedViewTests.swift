import Console
import HTTP
import JSON
import ParseModel
import REST
import TestSupport
import Testing

@Suite struct SavedViewTests {
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
