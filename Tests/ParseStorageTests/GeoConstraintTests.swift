import ParseModel
import Testing

@Suite("Geographic constraints")
struct GeoConstraintTests {
    private static func point(_ latitude: Double, _ longitude: Double) -> String {
        #"{"__type":"GeoPoint","latitude":\#(latitude),"longitude":\#(longitude)}"#
    }

    private static func fill(_ test: TestStore) async throws {
        try await test.create("G", "berlin", #"{"g":\#(point(52.52, 13.405))}"#)
        try await test.create("G", "fiji", #"{"g":\#(point(-17.8, 178))}"#)
        try await test.create("G", "paris", #"{"g":\#(point(48.857, 2.352))}"#)
        try await test.create("G", "samoa", #"{"g":\#(point(-13.8, -172))}"#)
        try await test.create("G", "zero")
    }

    @Test("Near queries return the nearest objects first and none without a location")
    func near() async throws {
        try await TestStore.run { test in
            try await Self.fill(test)
            let parser = FilterParser(isMaster: false, now: 0)
            let berlin = GeoPoint(latitude: 52.5, longitude: 13.4)
            let all = try await test.ids("G", .field(FieldPath("g"), .near(berlin, radians: nil)))
            #expect(all.prefix(2) == ["berlin", "paris"])
            #expect(all.count == 4)
            #expect(parser.isMaster == false)
            try await test.expect(
                "G",
                [
                    (#"{"g":{"$nearSphere":\#(Self.point(52.5, 13.4)),"$maxDistanceInKilometers":10}}"#, "berlin"),
                    (
                        #"{"g":{"$nearSphere":\#(Self.point(52.5, 13.4)),"$maxDistanceInKilometers":1000}}"#,
                        "berlin paris"
                    ),
                    (#"{"g":{"$nearSphere":\#(Self.point(52.5, 13.4)),"$maxDistanceInMiles":500}}"#, "berlin"),
                    (#"{"g":{"$nearSphere":\#(Self.point(52.5, 13.4)),"$maxDistance":0}}"#, ""),
                    (#"{"g":{"$geoWithin":{"$centerSphere":[\#(Self.point(52.5, 13.4)),0.2]}}}"#, "berlin paris"),
                    // The shortest route between Fiji and Samoa crosses the antimeridian.
                    (
                        #"{"g":{"$nearSphere":\#(Self.point(-17.8, 178)),"$maxDistanceInKilometers":1500}}"#,
                        "fiji samoa"
                    ),
                ])
        }
    }

    @Test("Boxes with corners outside valid longitudes and latitudes match the points between them")
    func boxesBeyond() async throws {
        try await TestStore.run { test in
            try await Self.fill(test)
            let rows: [(Double, Double, Double, Double, String)] = [
                (-90, 400, 90, 0, "samoa"), (-90, 400, 90, -400, ""), (-90, -400, 90, 400, "berlin fiji paris samoa"),
                (-90, 181, 90, -181, ""), (-90, 180, 90, -180, ""), (-90, 200, 90, 10, "paris samoa"),
                (-900, -180, 900, 180, "berlin fiji paris samoa"), (-90, 1e308, 90, -1e308, ""),
                (1e308, -1e308, -1e308, 1e308, "berlin fiji paris samoa"), (-90, 170, 90, -500, "fiji"),
            ]
            for (south, west, north, east, expected) in rows {
                let box = #"{"g":{"$within":{"$box":[\#(Self.point(south, west)),\#(Self.point(north, east))]}}}"#
                try await test.expect("G", [(box, expected)])
            }
        }
    }

    @Test("Boxes, polygons and equality match points, also across the antimeridian")
    func shapes() async throws {
        try await TestStore.run { test in
            try await Self.fill(test)
            try await test.expect(
                "G",
                [
                    (#"{"g":{"$within":{"$box":[\#(Self.point(45, 0)),\#(Self.point(55, 15))]}}}"#, "berlin paris"),
                    (#"{"g":{"$within":{"$box":[\#(Self.point(-30, 170)),\#(Self.point(0, -170))]}}}"#, "fiji samoa"),
                    (
                        #"{"g":{"$geoWithin":{"$polygon":[\#(Self.point(50, 10)),\#(Self.point(55, 10)),\#(Self.point(55, 20)),\#(Self.point(50, 20))]}}}"#,
                        "berlin"
                    ),
                    (#"{"g":\#(Self.point(52.52, 13.405))}"#, "berlin"),
                    (#"{"g":{"$ne":\#(Self.point(52.52, 13.405))}}"#, "fiji paris samoa zero"),
                    (#"{"g":{"$in":[\#(Self.point(52.52, 13.405)),null]}}"#, "berlin zero"),
                    (#"{"g":null}"#, "zero"),
                ])
        }
    }

    @Test("Finds polygons by a point inside them and by equality")
    func polygons() async throws {
        try await TestStore.run { test in
            try await test.create("P", "a", #"{"g":{"__type":"Polygon","coordinates":[[0,0],[0,10],[10,10],[10,0]]}}"#)
            try await test.create(
                "P", "b", #"{"g":{"__type":"Polygon","coordinates":[[20,20],[20,30],[30,30],[20,20]]}}"#)
            try await test.create("P", "c")
            try await test.expect(
                "P",
                [
                    (#"{"g":{"$geoIntersects":{"$point":\#(Self.point(5, 5))}}}"#, "a"),
                    (#"{"g":{"$geoIntersects":{"$point":\#(Self.point(50, 5))}}}"#, ""),
                    (#"{"g":{"__type":"Polygon","coordinates":[[0,0],[0,10],[10,10],[10,0],[0,0]]}}"#, "a"),
                    (#"{"g":{"__type":"Polygon","coordinates":[[0,0],[0,10],[10,10],[10,0]]}}"#, "a"),
                ])
        }
    }
}
