import JSON
import TestSupport
import Testing

/// Exports of Parse.com, which contain the pairs of relations but not their target classes.
@Suite struct RelationTargetTests {
    private static func id(_ number: Int) -> String { "abcdefgh\(number)" }

    private static func rows(_ ids: [Int], _ fields: JSONObject = [:]) -> String {
        let dates: JSONObject = ["createdAt": "2015-01-01T00:00:00.000Z", "updatedAt": "2015-01-01T00:00:00.000Z"]
        let rows = ids.map { number in
            let row: JSONObject = ["objectId": .string(id(number))]
            return JSONValue.object(row.merging(dates) { $1 }.merging(fields) { $1 })
        }
        return JSONValue.object(["results": .array(rows)]).text
    }

    private static func pairs(_ pairs: [(Int, Int)]) -> String {
        JSONValue.object([
            "results": .array(
                pairs.map { ["owningId": .string(id($0.0)), "relatedId": .string(id($0.1))] })
        ]).text
    }

    private static func related(_ field: String, _ target: String, _ server: TestServer) async throws -> [String] {
        let condition: JSONValue = [
            "$relatedTo": ["object": .pointer("Page", id(10)), "key": .string(field)]
        ]
        let found = try await server.find(target, ["where": condition, "order": "objectId"], as: .master)
        return found.results.compactMap { $0["objectId"]?.stringValue }
    }

    private static func write(_ folder: ImportFolder) throws {
        try folder.write("Page.json", rows([10, 11, 12]))
        try folder.write("Tag.json", rows([20, 21]))
        try folder.write("_User.json", rows([30]))
        // Relations to the same class, to another class with a missing object, and to users.
        try folder.write("_Join:links:Page.json", pairs([(10, 11), (10, 12)]))
        try folder.write("_Join:tags:Page.json", pairs([(10, 20), (10, 99)]))
        try folder.write("_Join:readers:Page.json", pairs([(10, 30)]))
    }

    @Test("Finds a relation's target class by the objects in it")
    func found() async throws {
        try await ImportFolder.run { folder in
            try Self.write(folder)
            #expect(try await folder.look().exitCode == 0)
            try await TestServer.withDatabase { uri in
                let report = try await folder.load(into: TestServer(url: "", databaseURI: uri))
                #expect(report.exitCode == 0 && report.notes.isEmpty, "\(report.json.text)")
                try await TestServer.run(on: uri) { server in
                    #expect(try await Self.related("links", "Page", server) == [11, 12].map(Self.id))
                    #expect(try await Self.related("tags", "Tag", server) == [Self.id(20)])
                    #expect(try await Self.related("readers", "_User", server) == [Self.id(30)])
                    let schema = try await server.send("GET", "/schemas/Page", as: .master)
                    #expect(schema["fields"]?["tags"] == ["type": "Relation", "targetClass": "Tag"], "\(schema.text)")
                }
            }
        }
    }

    @Test("Finds target classes that aren't imported, and accepts types set by the caller")
    func chosen() async throws {
        try await ImportFolder.run { folder in
            try Self.write(folder)
            #expect(try await folder.look { $0.classes = ["Page"] }.notes.isEmpty)
            let look = try await folder.look {
                $0.types = ["Page": ["tags": .relation("Tag"), "links": .relation("Page")]]
            }
            #expect(look.notes.isEmpty, "\(look.notes)")
        }
    }

    @Test("Skips a relation with a note if several classes or none have its objects")
    func ambiguous() async throws {
        try await ImportFolder.run { folder in
            try folder.write("Page.json", Self.rows([10, 11]))
            try folder.write("Tag.json", Self.rows([11, 20]))
            try folder.write("_Join:either:Page.json", Self.pairs([(10, 11)]))
            try folder.write("_Join:gone:Page.json", Self.pairs([(10, 99)]))
            // All of them exist in one class, and some also in another.
            try folder.write("_Join:tags:Page.json", Self.pairs([(10, 11), (10, 20)]))
            let report = try await folder.look()
            #expect(report.exitCode == 2)
            #expect(report.notes.count == 3, "\(report.notes)")
            #expect(report.notes.contains("objects of Page.either are in several classes: Page, Tag"))
            for name in ["either", "gone"] {
                #expect(report.notes.contains { $0.hasPrefix("_Join:\(name):Page is skipped") }, "\(report.notes)")
            }
            #expect(report.classes.map(\.name) == ["Page", "Tag", "_Join:tags:Page"])
        }
    }

    @Test("Reports session tokens of users in one note instead of a reject for each user")
    func sessionTokens() async throws {
        try await ImportFolder.run { folder in
            try folder.write("_User.json", Self.rows([1, 2, 3], ["sessionToken": "r:secret", "username": .null]))
            for report in [
                try await folder.look(),
                try await TestServer.withDatabase { uri in
                    try await folder.load(into: TestServer(url: "", databaseURI: uri)) { $0.isStrict = true }
                },
            ] {
                #expect(report.rejectCount == 0 && report.exitCode == 2, "\(report.json.text)")
                #expect(report.notes.count == 1 && report.notes[0].contains("session tokens in _User"))
                #expect(!report.json.text.contains("secret"))
            }
        }
    }
}
