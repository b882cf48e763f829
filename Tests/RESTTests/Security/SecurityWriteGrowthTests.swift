import App
import JSON
import Operations
import ParseModel
import TestSupport
import Testing

/// Writes of a few bytes whose cost once grew with a power of a number in them.
@Suite struct SecurityWriteGrowthTests {
    /// More than any of these may take, where the cost is linear; where it was not, each took much longer.
    private static let bound = Duration.seconds(10)

    /// Looks at every save, and changes nothing.
    private struct Onlooker: TriggerSet {
        func trigger(for event: TriggerEvent, of className: Name) -> Trigger? {
            guard event == .beforeSave || event == .afterSave else { return nil }
            return { _ in TriggerAnswer() }
        }
    }

    @Test("A far place of a list is filled at once, in creates as in updates")
    func places() async throws {
        try await TestServer.run { server in
            let began = ContinuousClock.now
            let id = try await server.create("Song", ["list": [1]])
            let changed = try await server.send("PUT", "/classes/Song/\(id)", ["list.50000": 1])
            #expect(changed.status == 200, "\(changed.text)")
            let other = try await server.create("Song", ["list.50000": 1])
            for id in [id, other] {
                let list = try await server.send("GET", "/classes/Song/\(id)")["list"]?.arrayValue
                #expect(list?.count == 50_001)
                #expect(list?.last == 1)
            }
            #expect(ContinuousClock.now - began < Self.bound)
        }
    }

    @Test("Lists that are added to cost as much as they are long, also where code looks at them")
    func lists() async throws {
        var extensions = ServerExtensions()
        extensions.backend.triggers = Onlooker()
        try await TestServer.run(extensions: extensions) { server in
            let numbers = JSONValue.array((0..<40_000).map { .number(Double($0)) })
            let began = ContinuousClock.now
            let id = try await server.create("Song", ["list": ["__op": "AddUnique", "objects": numbers]])
            let removed = try await server.send(
                "PUT", "/classes/Song/\(id)", ["list": ["__op": "Remove", "objects": numbers]])
            #expect(removed.status == 200)
            #expect(try await server.send("GET", "/classes/Song/\(id)")["list"] == [])
            #expect(ContinuousClock.now - began < Self.bound)
        }
    }

    @Test("The last word on each member of a relation counts, however many there are")
    func relations() async throws {
        try await TestServer.run { server in
            let id = try await server.create("Owner", [:])
            let pointers = (0..<40_000).map { JSONValue.pointer("Song", "s\($0)") }
            let outwards = (0..<20_000).flatMap { [pointers[20_000 + $0], pointers[19_999 - $0]] }
            let began = ContinuousClock.now
            let changed = try await server.send(
                "PUT", "/classes/Owner/\(id)",
                [
                    "songs": [
                        "__op": "Batch",
                        "ops": [
                            ["__op": "RemoveRelation", "objects": .array(pointers)],
                            ["__op": "AddRelation", "objects": .array(outwards)],
                            ["__op": "RemoveRelation", "objects": .array(Array(pointers.dropFirst()))],
                        ],
                    ]
                ])
            #expect(changed.status == 200, "\(changed.text)")
            #expect(ContinuousClock.now - began < Self.bound)
            #expect(try await server.texts("SELECT \"relatedId\" FROM \"_Join:songs:Owner\"") == ["s0"])
        }
    }
}
