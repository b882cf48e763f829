import JSON
import Operations
import ParseModel
import Testing

@Suite("Read access to objects in memory")
struct ObjectReaderTests {
    private static func mayRead(_ object: JSONObject, roles: Int, steps: Int) throws -> Bool {
        let readers: [Name] = ["*"] + (0..<roles).map { Name("role:\($0)") } + ["kim"]
        let reader = try ObjectReader(
            ReadAccess(readers: readers), seesEverything: false, schema: ClassSchema(name: "Note"))
        var budget = MatchBudget(steps: steps)
        return try reader.mayRead(object, &budget)
    }

    @Test("Grants access by ACL, also to users with many roles")
    func visible() throws {
        let object: JSONObject = ["ACL": ["role:7": ["read": true], "lou": ["read": true]]]
        #expect(try Self.mayRead(object, roles: 1_000, steps: 1_000))
        let isVisible = try Self.mayRead(object, roles: 3, steps: 1_000)
        #expect(!isVisible)
    }

    @Test("Comparing many roles with an ACL consumes the match budget")
    func steps() throws {
        let object: JSONObject = ["ACL": ["lou": ["read": true]]]
        #expect(throws: FilterMatcherError.self) { try Self.mayRead(object, roles: 1_000, steps: 100) }
        // Neither callers with few roles nor objects without an ACL use up the budget.
        for (roles, object) in [(1, object), (1_000, ["title": "x"])] as [(Int, JSONObject)] {
            _ = try Self.mayRead(object, roles: roles, steps: 1)
        }
    }
}
