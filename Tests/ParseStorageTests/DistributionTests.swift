import JSON
import ParseModel
import ParseStorage
import Postgres
import Testing

/// Distributed classes, tested without Citus.
@Suite struct DistributionTests {
    private static func schema(_ name: String, _ placement: ClassPlacement, _ index: JSONObject? = nil) -> ClassSchema {
        var schema = ClassSchema(
            name: name, fields: ["room": Field(.pointer("Room")), "n": Field(.number)],
            indexes: index.map { ["one": .object($0)] } ?? [:])
        schema.placement = placement
        return schema
    }

    @Test("Rejects a unique index without the distribution field")
    func uniqueIndexes() throws {
        let indexes: JSONObject = ["byN": ["n": 1], "one": ["n": 1, "$unique": true]]
        let message = Self.schema("Message", .rows(by: "room"))
        let error = #expect(throws: ParseError.self) { try message.checkUnique(indexes) }
        #expect(error?.code == 102)
        #expect(
            error?.message == "A unique index on Message must include room: the class is distributed by it, and each "
                + "server checks only its own objects")
        for field: Name in ["room", "_p_room"] {
            try message.checkUnique(["one": ["n": 1, field: -1, "$unique": true], "two": ["n": 1, "$unique": false]])
        }
        for placement in [ClassPlacement.local, .reference] {
            try Self.schema("Country", placement).checkUnique(indexes)
        }
    }

    @Test("Detects distributed classes whose unique values are checked only per server")
    func split() {
        let unique: JSONObject = ["n": 1, "$unique": true]
        #expect(Self.schema("_User", .rows(by: "objectId")).splitsUniqueValues)
        #expect(Self.schema("Message", .rows(by: "objectId"), unique).splitsUniqueValues)
        #expect(!Self.schema("_User", .local).splitsUniqueValues)
        #expect(!Self.schema("Message", .local, unique).splitsUniqueValues)
        #expect(!Self.schema("Message", .rows(by: "n"), unique).splitsUniqueValues)
        #expect(!Self.schema("Message", .rows(by: "objectId"), ["n": 1]).splitsUniqueValues)
    }

    @Test("Declares functions IMMUTABLE for Citus only in databases that have it")
    func functions() async throws {
        try await TestStore.run { test in
            // Only aggregations call `roost_unmatched`, which changes nothing.
            let volatile = """
                SELECT proname::text FROM pg_proc
                WHERE starts_with(proname, 'roost_') AND provolatile = 'v' AND proname <> 'roost_unmatched' ORDER BY 1
                """
            let rows = try await test.client.query(volatile)
            #expect((0..<rows.rowCount).map { rows.string($0, 0) } == ["roost_change_number", "roost_is_over"])
            // Debian has no package of Citus, so this only checks that the functions' definitions are valid.
            try await test.client.execute(script: Distribution.functions)
            #expect(try await test.client.query(volatile).rowCount == 0)
        }
    }
}
