import JSON
import TestSupport
import Testing

/// Creation dates of consecutively created objects.
@Suite struct CreationOrderTests {
    @Test("Objects created one after another sort by createdAt in creation order")
    func order() async throws {
        try await TestServer.run { server in
            var made: [String] = []
            for number in 0..<100 { made.append(try await server.create("Song", ["n": .number(Double(number))])) }
            let found = try await server.find("Song", ["order": "-createdAt", "limit": 100]).results
            #expect(found.compactMap { $0["objectId"]?.stringValue } == made.reversed())
            let changed = try await server.send("PUT", "/classes/Song/\(made[99])", ["n": 0]).succeeded()
            let last = try #require(found.first?["createdAt"]?.stringValue)
            #expect(try #require(changed["updatedAt"]?.stringValue) > last)
        }
    }
}
