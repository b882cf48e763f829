import JSON
import TestSupport
import Testing

@Suite struct ConcurrencyTests {
    @Test("Applies 32 concurrent increments, and each returns a distinct value")
    func increments() async throws {
        try await TestServer.run { server in
            let id = try await server.create("Counter", ["n": 0])
            let answers = try await concurrently(32) { _ in
                try await server.send("PUT", "/classes/Counter/\(id)", ["n": .increment(1)])
            }
            #expect(answers.allSatisfy { $0.status == 200 })
            #expect(Set(answers.compactMap { $0["n"]?.numberValue }) == Set((1...32).map(Double.init)))
            #expect(try await server.send("GET", "/classes/Counter/\(id)")["n"] == 32)
        }
    }

    @Test("Concurrent AddUnique operations store equal values once and keep all different values")
    func unique() async throws {
        try await TestServer.run { server in
            let id = try await server.create("Bag", ["same": [], "different": []])
            let answers = try await concurrently(16) { index in
                try await server.send(
                    "PUT", "/classes/Bag/\(id)",
                    [
                        "same": .operation("AddUnique", ["x"]),
                        "different": .operation("AddUnique", [.number(Double(index))]),
                    ])
            }
            #expect(answers.allSatisfy { $0.status == 200 })
            let bag = try await server.send("GET", "/classes/Bag/\(id)")
            #expect(bag["same"] == ["x"])
            #expect(Set(bag["different"]?.arrayValue ?? []).count == 16)
            #expect(bag["different"]?.arrayValue?.count == 16)
        }
    }

    @Test("Concurrent writes that add the same new field all succeed")
    func newField() async throws {
        try await TestServer.run { server in
            _ = try await server.create("Song", ["name": "x"])
            let answers = try await concurrently(8) { index in
                try await server.send("POST", "/classes/Song", ["plays": .number(Double(index))])
            }
            #expect(answers.allSatisfy { $0.status == 201 }, "\(answers.map(\.text))")
            let found = try await server.find("Song", ["where": ["plays": ["$gte": 0]]])
            #expect(found.results.count == 8)
        }
    }

    @Test("Concurrent creates in the same new class all succeed")
    func newClass() async throws {
        try await TestServer.run { server in
            let answers = try await concurrently(8) { index in
                try await server.send(
                    "POST", "/classes/Fresh", .object(["n": .number(Double(index)), "f\(index)": "x"]))
            }
            #expect(answers.allSatisfy { $0.status == 201 }, "\(answers.map(\.text))")
            #expect(try await server.find("Fresh").results.count == 8)
        }
    }

    @Test("If concurrent writes give a new field two types, one type wins and the others get 111")
    func contradiction() async throws {
        try await TestServer.run { server in
            _ = try await server.create("Song", ["name": "x"])
            let answers = try await concurrently(8) { index in
                try await server.send("POST", "/classes/Song", ["kind": index.isMultiple(of: 2) ? 1 : "text"])
            }
            #expect(answers.filter { $0.status == 201 }.count == 4, "\(answers.map(\.text))")
            #expect(answers.filter { $0.code == 111 }.count == 4, "\(answers.map(\.text))")
        }
    }

    @Test("Of concurrent deletes of one object, one succeeds and the others get 101")
    func deletion() async throws {
        try await TestServer.run { server in
            let id = try await server.create("Song", ["name": "x"])
            let answers = try await concurrently(8) { _ in try await server.send("DELETE", "/classes/Song/\(id)") }
            #expect(answers.filter { $0.status == 200 }.count == 1)
            #expect(answers.filter { $0.code == 101 }.count == 7)
        }
    }

    @Test("Concurrently adding one object to a relation stores it once")
    func relation() async throws {
        try await TestServer.run { server in
            let song = try await server.create("Song", ["name": "x"])
            let id = try await server.create("Folder", ["name": "x"])
            let answers = try await concurrently(8) { _ in
                try await server.send(
                    "PUT", "/classes/Folder/\(id)", ["songs": .operation("AddRelation", [.pointer("Song", song)])])
            }
            #expect(answers.allSatisfy { $0.status == 200 }, "\(answers.map(\.text))")
            let related: JSONValue = ["object": .pointer("Folder", id), "key": "songs"]
            #expect(try await server.find("Song", ["where": ["$relatedTo": related]]).results.count == 1)
        }
    }
}
