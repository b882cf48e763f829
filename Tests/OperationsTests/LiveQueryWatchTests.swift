import JSON
import Operations
import ParseModel
import Testing

@Suite("Watched keys of live queries")
struct LiveQueryWatchTests {
    /// A list within fifty nested objects.
    private static func nested(_ last: JSONValue) -> JSONObject {
        var value: JSONValue = .array(Array(repeating: JSONValue.string("text"), count: 1_000) + [last])
        for _ in 0..<50 { value = .object(["a": value]) }
        return ["o": value]
    }

    private static func concerns(_ watched: Int, _ last: JSONValue, steps: Int) throws -> Bool {
        let keys = (0..<watched).map {
            JSONValue.string((["o"] + Array(repeating: "a", count: $0)).joined(separator: "."))
        }
        let query = try LiveQuery(["className": "Note", "watch": .array(keys)])
        var budget = MatchBudget(steps: steps)
        return try query.concerns(nested(1), nested(last), &budget)
    }

    @Test("Reports a change only if a watched value differs, at any depth")
    func values() throws {
        let isSame = try Self.concerns(50, 1, steps: 1_000_000)
        #expect(!isSame)
        #expect(try Self.concerns(1, 2, steps: 1_000_000))
        #expect(try Self.concerns(50, "1", steps: 1_000_000))
    }

    @Test("Comparing watched values consumes the match budget")
    func steps() throws {
        let isSame = try Self.concerns(1, 1, steps: 2_000)
        #expect(!isSame)
        #expect(throws: FilterMatcherError.tooMuchWork) { try Self.concerns(50, 1, steps: 2_000) }
    }
}
