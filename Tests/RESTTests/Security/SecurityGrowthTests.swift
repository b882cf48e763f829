import JSON
import TestSupport
import Testing

/// Short requests whose cost grew with a power of their size, and one that crashed the process.
@Suite struct SecurityGrowthTests {
    /// An upper bound for linear cost. Before the fixes, each request took much longer.
    private static let bound = Duration.seconds(10)

    private static func nested(_ depth: Int) -> JSONValue {
        (0..<depth).reduce([["0": 1]]) { inner, _ in [["0": inner]] }
    }

    @Test("Rejects relative times with extreme or malformed numbers and keeps serving")
    func relativeTimes() async throws {
        try await TestServer.run { server in
            _ = try await server.create("Song", ["title": "alpha"])
            for number in ["-9223372036854775808", "9223372036854775807", "-1000000000", "1e3", "0x10", ""] {
                for form in ["in \(number) seconds", "\(number) seconds ago"] {
                    let condition: JSONValue = ["createdAt": ["$gt": ["$relativeTime": .string(form)]]]
                    SecurityProbe.expectRefused(try await server.find("Song", ["where": condition]), 107, form)
                }
            }
            #expect(try await server.find("Song").results.count == 1)
        }
    }

    @Test("Text search for a term of 60,000 regional-indicator letters stays fast")
    func searchedWords() async throws {
        try await TestServer.run { server in
            _ = try await server.create("Song", ["title": "alpha"])
            let flags = String(repeating: "\u{1F1E6}", count: 60_000)
            let began = ContinuousClock.now
            let answer = try await server.find(
                "Song", ["where": ["title": ["$text": ["$search": ["$term": .string(flags)]]]]])
            SecurityProbe.expectHarmless(answer, "flags")
            #expect(ContinuousClock.now - began < Self.bound)
        }
    }

    @Test("Queries by an index path through 45 nested lists stay fast and correct")
    func places() async throws {
        try await TestServer.run { server in
            _ = try await server.create("Song", ["deep": Self.nested(45)])
            _ = try await server.create("Song", ["list": [["0": "member"], "place"]])
            let path = "deep" + String(repeating: ".0", count: 47)
            let began = ContinuousClock.now
            #expect(try await server.find("Song", ["where": [Name(path): 7]]).results.isEmpty)
            #expect(try await server.find("Song", ["where": [Name(path): 1]]).results.count == 1)
            #expect(ContinuousClock.now - began < Self.bound)
            // A numeric key is both an index and a possible member name.
            for (key, value, count) in [("list.1", "place", 1), ("list.0", "member", 1), ("list.1", "member", 0)] {
                let found = try await server.find("Song", ["where": [Name(key): .string(value)]]).results
                #expect(found.count == count, "\(key) \(value)")
            }
        }
    }

    @Test("A projection of 20 fields and a pipeline of 20 stages stay fast")
    func pipelines() async throws {
        try await TestServer.run { server in
            let names = (0..<20).map { "f\($0)" }
            let object = JSONObject(uniqueKeysWithValues: names.enumerated().map { (Name($1), .number(Double($0))) })
            _ = try await server.create("Song", object)
            let kept = JSONValue.object(JSONObject(uniqueKeysWithValues: names.map { (Name($0), 1) }))
            let sum: JSONValue = ["$addFields": ["total": ["$add": ["$f1", "$f2", "$f3"]]]]
            let began = ContinuousClock.now
            for pipeline in [[["$project": kept]], Array(repeating: sum, count: 20)] as [[JSONValue]] {
                let answer = try await server.send(
                    "POST", "/aggregate/Song", ["_method": "GET", "pipeline": .array(pipeline)], as: .master)
                #expect(answer.status == 200, "\(answer.text)")
                #expect(answer.results.first?["f7"] == 7)
                #expect(answer.results.first?["total"] == (pipeline.count == 1 ? nil : 6))
            }
            #expect(ContinuousClock.now - began < Self.bound)
        }
    }

    @Test("A query with 100 subqueries, the maximum, stays fast")
    func innerQueries() async throws {
        try await TestServer.run { server in
            let first = try await server.create("Song", ["plays": 1])
            _ = try await server.create("Song", ["plays": 1, "next": .pointer("Song", first)])
            func condition(_ operation: Name, _ bound: (Int) -> JSONValue) -> JSONObject {
                let parts = (0..<100).map { index -> JSONValue in
                    ["next": [operation: ["className": "Song", "where": ["plays": ["$gt": bound(index)]]]]]
                }
                return ["where": ["$and": .array(parts)]]
            }
            let began = ContinuousClock.now
            let all = try await server.find("Song", condition("$inQuery") { .number(Double(-$0)) })
            #expect(all.results.count == 1, "\(all.text)")
            let none = try await server.find("Song", condition("$inQuery") { $0 == 99 ? 5 : 0 })
            #expect(none.status == 200 && none.results.isEmpty)
            let others = try await server.find("Song", condition("$notInQuery") { .number(Double(5 + $0)) })
            #expect(others.results.count == 2, "\(others.text)")
            #expect(ContinuousClock.now - began < Self.bound)
        }
    }
}
