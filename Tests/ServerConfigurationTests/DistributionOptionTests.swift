import JSON
import ServerConfiguration
import Testing

@Suite struct DistributionOptionTests {
    private static func rows(_ others: JSONObject) -> JSONObject {
        let option: JSONObject = ["engine": "citus", "mode": "rows"]
        return ["distribution": .object(option.merging(others) { $1 })]
    }

    @Test("Reads how each class is distributed, with * for classes that aren't listed")
    func classes() throws {
        let option = try load(
            Self.rows([
                "shards": 8, "classes": ["Message": ["by": "room"], "Country": "reference", "*": ["by": "objectId"]],
            ])
        ).distribution
        #expect(option?.mode == .rows)
        #expect(option?.shards == 8)
        #expect(option?.classes == ["Message": .rows(by: "room"), "Country": .reference])
        #expect(option?.others == .rows(by: "objectId"))
        let least = try load(Self.rows([:])).distribution
        #expect(least?.shards == 4)
        #expect(least?.others == .local)
        #expect(try load().distribution == nil)
    }

    @Test("Mode schema requires databaseSchema, and mode rows can't be combined with it")
    func schema() throws {
        let option: JSONValue = ["engine": "citus", "mode": "schema"]
        #expect(try load(["distribution": option, "databaseSchema": "shop"]).distribution?.mode == .schema)
        #expect(
            refusal(["distribution": option])
                == "distribution.mode \"schema\" requires databaseSchema, the schema of the app")
        #expect(refusal(Self.rows(["mode": "schema", "shards": 2]))?.contains("requires the mode \"rows\"") == true)
        let both = Self.rows([:]).merging(["databaseSchema": "shop"]) { $1 }
        #expect(refusal(both)?.contains("combined with databaseSchema") == true)
    }

    @Test(
        "Rejects invalid values by name",
        arguments: [
            (["engine": "other"], "distribution.engine must be \"citus\""),
            (["mode": "tables"], "distribution.mode must be \"schema\" or \"rows\""),
            (["mode": nil], "distribution.mode must be \"schema\" or \"rows\""),
            (["shard": 4], "unknown option distribution.shard"),
            (["shards": 0], "distribution.shards must be between 1 and 1024"),
            (["shards": -1], "distribution.shards must be between 1 and 1024"),
            (["shards": "many"], "distribution.shards must be between 1 and 1024"),
            (["unique": "lookup"], "unknown option distribution.unique"),
            (
                ["classes": ["_User": ["by": "objectId"]]],
                "distribution.classes._User: system classes are always \"local\""
            ),
            (
                ["classes": ["_Role": "reference"]],
                "distribution.classes._Role: system classes are always \"local\""
            ),
            (["classes": []], "distribution.classes must be an object keyed by class name"),
            (
                ["classes": ["A": "remote"]],
                "distribution.classes.A must be \"local\", \"reference\" or {\"by\": \"<field>\"}"
            ),
            (
                ["classes": ["A": ["by": 1]]],
                "distribution.classes.A must be \"local\", \"reference\" or {\"by\": \"<field>\"}"
            ),
            (
                ["classes": ["A": ["by": "a.b"]]],
                "distribution.classes.A.by must be objectId or a String or Pointer field"
            ),
            (
                ["classes": ["A": ["by": "createdAt"]]],
                "distribution.classes.A.by must be objectId or a String or Pointer field"
            ),
        ] as [(JSONObject, String)])
    func refused(option: JSONObject, message: String) {
        #expect(refusal(Self.rows(option)) == message)
    }
}
