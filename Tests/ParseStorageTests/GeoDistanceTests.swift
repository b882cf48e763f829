import Foundation
import JSON
import ParseModel
import ParseStorage
import Testing

@Suite("Distances on the sphere")
struct GeoDistanceTests {
    private static let pointCount = 400
    /// The radius of the earth in meters according to `$geoNear`.
    private static let metersPerRadian = 6_378_100.0

    private static let centers: [GeoPoint] = [
        GeoPoint(latitude: 52.5, longitude: 13.4), GeoPoint(latitude: 0, longitude: 180),
        GeoPoint(latitude: -17.8, longitude: -180), GeoPoint(latitude: 10, longitude: 179.999),
        GeoPoint(latitude: 90, longitude: 0), GeoPoint(latitude: -90, longitude: 77),
        GeoPoint(latitude: 89.5, longitude: -120),
    ]

    /// The great-circle distance in radians, by a formula that is exact for both near and opposite points.
    private static func distance(_ a: GeoPoint, _ b: GeoPoint) -> Double {
        let (north, south) = (a.latitude * .pi / 180, b.latitude * .pi / 180)
        let turn = (b.longitude - a.longitude) * .pi / 180
        let x = cos(south) * sin(turn)
        let y = cos(north) * sin(south) - sin(north) * cos(south) * cos(turn)
        return atan2((x * x + y * y).squareRoot(), sin(north) * sin(south) + cos(north) * cos(south) * cos(turn))
    }

    private static func points() -> [String: GeoPoint] {
        var random = DifferentialRandom(seed: 4711)
        var points: [String: GeoPoint] = [:]
        for number in 0..<pointCount {
            var point = GeoPoint(
                latitude: Double.random(in: -90...90, using: &random),
                longitude: Double.random(in: -180...180, using: &random))
            switch number % 8 {
            case 0:
                let center = random.pick(centers)
                let offset = Double.random(in: -0.01...0.01, using: &random)
                point = GeoPoint(
                    latitude: max(-90, min(90, center.latitude + offset)),
                    longitude: max(-180, min(180, center.longitude + offset)))
            case 1: point.longitude = random.pick([180, -180, 179.99, -179.99])
            case 2: point.latitude = random.pick([90, -90, 89.99, -89.99])
            default: break
            }
            points["r\(1000 + number)"] = point
        }
        return points
    }

    private static func fill(_ test: TestStore, _ points: [String: GeoPoint]) async throws {
        _ = try await test.store.ensure("G", ["g": Field(.geoPoint)])
        for (id, point) in points { try await test.create("G", id, JSONValue.object(["g": point.json]).text) }
    }

    @Test("Distances match the great-circle formula to a millionth, also at poles and the antimeridian")
    func distances() async throws {
        try await TestStore.run { test in
            let points = Self.points()
            try await Self.fill(test, points)
            for center in Self.centers {
                let found = try await test.aggregate(
                    "G", #"[{"$geoNear":{"near":\#(center.json.text),"distanceField":"away"}}]"#)
                #expect(found.arrayValue?.count == points.count)
                for row in found.arrayValue ?? [] {
                    let id = try #require(row["objectId"]?.stringValue)
                    let expected = Self.distance(center, try #require(points[id]))
                    let away = try #require(row["away"]?.numberValue) / Self.metersPerRadian
                    #expect(
                        abs(away - expected) <= expected * 1e-6 + 1e-12, "\(center) \(id): \(away), not \(expected)")
                }
            }
        }
    }

    @Test("Near queries work with stored points whose latitudes lie beyond the poles")
    func beyondPoles() async throws {
        try await TestStore.run { test in
            var random = DifferentialRandom(seed: 1414)
            var centers: [GeoPoint] = []
            for _ in 0..<40 {
                centers.append(
                    GeoPoint(
                        latitude: Double.random(in: -89...89, using: &random),
                        longitude: Double.random(in: -179...0, using: &random)))
            }
            // The same points with coordinates that go over the pole.
            var points: [String: GeoPoint] = [:]
            for (number, center) in centers.enumerated() {
                points["p\(number)"] = GeoPoint(latitude: 180 - center.latitude, longitude: center.longitude + 180)
            }
            try await Self.fill(test, points)
            for (number, center) in centers.enumerated() {
                let found = try await test.ids("G", .field(FieldPath("g"), .near(center, radians: nil)))
                #expect(found.count == points.count && found.first == "p\(number)", "\(center): \(found)")
            }
        }
    }

    @Test("Every form of maximum distance finds the objects within it, nearest first")
    func limits() async throws {
        try await TestStore.run { test in
            let points = Self.points()
            try await Self.fill(test, points)
            for center in Self.centers {
                let sorted = points.map { (id: $0.key, away: Self.distance(center, $0.value)) }.sorted {
                    $0.away < $1.away
                }
                for count in [20, 60, 200] {
                    let radians = (sorted[count - 1].away + sorted[count].away) / 2
                    // Equal distances can't be separated.
                    guard sorted[count].away - sorted[count - 1].away > 1e-9 else { continue }
                    let expected = Set(sorted.prefix(count).map(\.id))
                    for (name, value) in [
                        ("$maxDistance", radians), ("$maxDistanceInRadians", radians),
                        ("$maxDistanceInMiles", radians * 3959), ("$maxDistanceInKilometers", radians * 6371),
                    ] {
                        let filter = try FilterParser(isMaster: false, now: 0).parse([
                            "g": ["$nearSphere": center.json, Name(name): .number(value)]
                        ])
                        let found = try await test.ids("G", filter)
                        #expect(Set(found) == expected, "\(center) \(name) \(value)")
                        let distances = found.compactMap { points[$0] }.map { Self.distance(center, $0) }
                        #expect(zip(distances, distances.dropFirst()).allSatisfy { $0 <= $1 + 1e-9 })
                    }
                    let circle = try FilterParser(isMaster: false, now: 0).parse([
                        "g": ["$geoWithin": ["$centerSphere": [center.json, .number(radians)]]]
                    ])
                    #expect(Set(try await test.ids("G", circle)) == expected, "\(center) circle \(radians)")
                }
            }
        }
    }
}
