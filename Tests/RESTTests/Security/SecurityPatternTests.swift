import JSON
import TestSupport
import Testing

/// Attacks on other clients with regular expressions.
@Suite struct SecurityPatternTests {
    /// A pattern whose cost grows quickly, because its groups can share the letters in many ways.
    private static let slow: JSONValue = ["text": ["$regex": "^(a*)(a*)(a*)b\\3\\2\\1bc$"]]

    private static let inner: JSONValue = ["other": ["$inQuery": ["className": "Row", "where": slow]]]

    private static let places: [JSONValue] = [
        slow, ["$or": [slow, ["n": 1]]], ["$nor": [slow]], ["$and": [["$or": [slow]]]],
        inner, ["other": ["$inQuery": ["className": "Row", "where": inner]]],
        ["other": ["$notInQuery": ["className": "Row", "where": slow]]],
        ["text": ["$select": ["key": "text", "query": ["className": "Row", "where": slow]]]],
        ["text": ["$dontSelect": ["key": "text", "query": ["className": "Row", "where": ["$or": [slow]]]]]],
    ]

    private static func fill(_ server: TestServer) async throws {
        for index in 0..<6 {
            // One letter is missing, so no way to share them matches.
            let letters = String(repeating: "a", count: 500)
            let body = JSONValue.string(letters + "b" + letters.dropLast() + "bc")
            let id = try await server.create("Row", ["n": .number(Double(index)), "text": body])
            _ = try await server.send("PUT", "/classes/Row/\(id)", ["other": .pointer("Row", id)]).succeeded()
        }
    }

    @Test("Rejects back references in a client's $regex anywhere in a query")
    func backReferences() async throws {
        try await TestServer.run { server in
            _ = try await server.create("Row", ["text": "abab", "n": 1])
            for place in Self.places {
                for parameters: JSONObject in [["where": place], ["where": place, "count": 1, "limit": 0]] {
                    let answer = try await server.find("Row", parameters)
                    #expect(answer.code == 102, "\(place.text): \(answer.text)")
                }
            }
            let twice: JSONObject = ["where": ["text": ["$regex": "^(ab)\\1$"]]]
            #expect(
                try await server.find("Row", twice).error == "Back references in regular expressions are not allowed")
            #expect(try await server.find("Row", twice, as: .master).results.count == 1)
            #expect(try await server.find("Row", ["where": ["text": ["$regex": "\\Q(\\1\\E"]]]).status == 200)
            #expect(try await server.find("Row", ["where": ["text": ["$regex": "(ab)\\\\1"]]]).status == 200)
        }
    }

    @Test("A client's slow $regex times out anywhere in a query, while other finds are answered")
    func timeLimit() async throws {
        try await TestServer.run(["regexTimeout": 150, "allowRegexBackReferences": true, "statementTimeout": 60_000]) {
            server in
            try await Self.fill(server)
            let start = ContinuousClock.now
            let answers = try await concurrently(Self.places.count + 1) { index in
                index == Self.places.count
                    ? try await server.find("Row", ["where": ["n": 1]])
                    : try await server.find("Row", ["where": Self.places[index]])
            }
            for (place, answer) in zip(Self.places, answers) {
                #expect(answer.code == 124, "\(place.text): \(answer.text.prefix(200))")
            }
            #expect(answers.last?.results.count == 1)
            let path =
                "/parse/classes/Row?where=%7B%22text%22:%7B%22$regex%22:%22%5E(a*)(a*)(a*)b%5C%5C3%5C%5C2%5C%5C1bc$%22%7D%7D"
            let batch = try await server.send(
                "POST", "/batch", ["transaction": true, "requests": [["method": "GET", "path": .string(path)]]])
            #expect(batch.code == 124, "\(batch.text.prefix(200))")
            #expect(start.duration(to: .now) < .seconds(30))
        }
    }

    @Test("Rejects overlong $regex patterns with 102, even from the master key")
    func length() async throws {
        try await TestServer.run { server in
            _ = try await server.create("Row", ["text": "abab"])
            let long = JSONValue.string("^" + String(repeating: "(a|b)*", count: 200_000))
            for identity in [TestServer.Identity.anonymous, .master] {
                let answer = try await server.find("Row", ["where": ["text": ["$regex": long]]], as: identity)
                #expect(answer.code == 102)
            }
            let quoted = JSONValue.string("^\\Q" + String(repeating: "a", count: 5000) + "\\E")
            #expect(try await server.find("Row", ["where": ["text": ["$all": [["$regex": quoted]]]]]).code == 102)
        }
    }
}
