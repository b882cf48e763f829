import ParseModel
import ParseStorage
import Testing

@Suite("Constraints that use an index")
struct IndexUseTests {
    @Test("Near, box and polygon constraints use the field's index")
    func places() async throws {
        try await TestStore.run { test in
            try await test.create("G", "a", #"{"g":{"__type":"GeoPoint","latitude":0,"longitude":0}}"#)
            _ = try await test.client.query(
                """
                INSERT INTO "G" ("objectId", "g") SELECT 'r' || i, point(i * 7919 % 36000 / 100.0 - 180,
                    i * 104729 % 18000 / 100.0 - 90) FROM generate_series(1, 20000) AS i
                """)
            _ = try await test.client.query("ANALYZE \"G\"")
            func point(_ latitude: Double, _ longitude: Double) -> String {
                #"{"__type":"GeoPoint","latitude":\#(latitude),"longitude":\#(longitude)}"#
            }
            for condition in [
                #"{"$nearSphere":\#(point(50, 10)),"$maxDistanceInKilometers":100}"#,
                #"{"$nearSphere":\#(point(0, 179.9)),"$maxDistanceInMiles":100}"#,
                #"{"$nearSphere":\#(point(89.9, 0)),"$maxDistance":0.01}"#,
                #"{"$geoWithin":{"$centerSphere":[\#(point(-89.9, 0)),0.01]}}"#,
                #"{"$within":{"$box":[\#(point(1, 1)),\#(point(2, 2))]}}"#,
                #"{"$within":{"$box":[\#(point(1, 179)),\#(point(2, -179))]}}"#,
                #"{"$geoWithin":{"$polygon":[\#(point(1, 1)),\#(point(2, 2)),\#(point(1, 2))]}}"#,
            ] {
                let plan = try await test.plan("G", #"{"g":\#(condition)}"#)
                #expect(plan.contains("roost_geo:G:g"), "\(condition): \(plan)")
            }
        }
    }

    @Test("A search for polygons around a point uses the field's index")
    func polygons() async throws {
        try await TestStore.run { test in
            try await test.create("P", "a", #"{"g":{"__type":"Polygon","coordinates":[[0,0],[0,1],[1,1]]}}"#)
            _ = try await test.client.query(
                """
                INSERT INTO "P" ("objectId", "g") SELECT 'r' || i, polygon(box(point(i % 180, i / 250),
                    point(i % 180 + 1, i / 250 + 1))) FROM generate_series(1, 20000) AS i
                """)
            _ = try await test.client.query("ANALYZE \"P\"")
            let condition = #"{"g":{"$geoIntersects":{"$point":{"__type":"GeoPoint","latitude":5.5,"longitude":5.5}}}}"#
            let plan = try await test.plan("P", condition)
            #expect(plan.contains("roost_geo:P:g"), "\(plan)")
            #expect(try await test.ids("P", condition) == ["r1265", "r1445"])
        }
    }

    @Test(
        "Prefix searches use an index from the schema under every locale",
        arguments: ["TEMPLATE template0 LOCALE 'C'", "TEMPLATE template0 LOCALE 'C.UTF-8'"])
    func prefixes(options: String) async throws {
        try await TestStore.run(options: options) { test in
            try await test.create("S", "a", #"{"s":"x"}"#)
            try await test.catalog.change("S") { schema in
                var schema = schema ?? ClassSchema(name: "S")
                schema.indexes["byText"] = ["s": 1]
                return schema
            }
            _ = try await test.client.query(
                """
                INSERT INTO "S" ("objectId", "s") SELECT 'r' || i, 'song_' || i FROM generate_series(1, 20000) AS i
                """)
            _ = try await test.client.query("ANALYZE \"S\"")
            for (pattern, count) in [
                (#"^\\Qsong_1234\\E"#, 11), ("^song_1234", 11), ("^song_1234[0-4]", 5), ("^songs1", 0),
            ] {
                let condition = #"{"s":{"$regex":"\#(pattern)"}}"#
                let plan = try await test.plan("S", condition)
                #expect(plan.contains("Index Cond"), "\(pattern): \(plan)")
                #expect(try await test.ids("S", condition).count == count, "\(pattern)")
            }
            try await test.catalog.change("S") { schema in
                var schema = schema ?? ClassSchema(name: "S")
                schema.indexes.removeValue(forKey: "byText")
                return schema
            }
            let left = try await test.client.query(
                "SELECT 1 FROM pg_indexes WHERE indexname = 'byText' OR indexname LIKE 'roost\\_index:%'")
            #expect(left.rowCount == 0)
        }
    }
}
