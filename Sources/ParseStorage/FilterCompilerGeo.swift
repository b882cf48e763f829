import Foundation
import ParseModel
import Postgres

/// Conditions on places, without PostGIS: points are PostgreSQL's own, `(longitude, latitude)`.
extension FilterCompiler {
    mutating func geo(_ constraint: Constraint, _ column: String, _ type: FieldType) -> String {
        switch (constraint, type) {
        case (.near(let center, let radians), .geoPoint):
            let expression = distance(column, center)
            distance = expression
            guard let radians else { return "\(column) IS NOT NULL" }
            return "\(around(column, center, radians))\(expression) <= \(builder.bind(.double(radians)))"
        case (.insideCircle(let center, let radians), .geoPoint):
            let box = around(column, center, radians)
            return "\(box)\(distance(column, center)) <= \(builder.bind(.double(radians)))"
        case (.box(let southWest, let northEast), .geoPoint):
            return box(column, southWest, northEast)
        case (.insidePolygon(let points), .geoPoint):
            return "\(column) <@ \(builder.bind(.polygon(points.map { (x: $0.longitude, y: $0.latitude) })))"
        case (.polygonContains(let point), .polygon):
            return "\(column) @> \(builder.bind(.point(x: point.longitude, y: point.latitude)))"
        default:
            return "FALSE"
        }
    }

    /// A box around a circle, as a condition that an index on the column can serve before distances are computed; empty
    /// where the circle reaches a pole or the antimeridian, for there no single box holds it.
    private mutating func around(_ column: String, _ center: GeoPoint, _ radians: Double) -> String {
        let height = radians * 180 / .pi
        let south = center.latitude - height
        let north = center.latitude + height
        guard radians < .pi / 2, south > -89.9, north < 89.9 else { return "" }
        let width = asin(min(1, sin(radians) / cos(center.latitude * .pi / 180))) * 180 / .pi
        // A little wider, so that rounding never leaves out what lies on the edge.
        let margin = 1e-9 + height * 1e-9
        let west = center.longitude - width - margin
        let east = center.longitude + width + margin
        guard west > -180, east < 180 else { return "" }
        let corners = [west, south - margin, east, north + margin].map { builder.bind(.double($0)) }
        return "\(column) <@ box(point(\(corners[0]), \(corners[1])), point(\(corners[2]), \(corners[3]))) AND "
    }

    /// The great-circle distance in radians.
    private mutating func distance(_ column: String, _ center: GeoPoint) -> String {
        let longitude = builder.bind(.double(center.longitude))
        let latitude = builder.bind(.double(center.latitude))
        return "roost_distance(\(column), \(longitude), \(latitude))"
    }

    /// Inside a box; one whose west edge lies east of its east edge crosses the antimeridian.
    private mutating func box(_ column: String, _ southWest: GeoPoint, _ northEast: GeoPoint) -> String {
        let west = builder.bind(.double(southWest.longitude))
        let east = builder.bind(.double(northEast.longitude))
        let south = builder.bind(.double(southWest.latitude))
        let north = builder.bind(.double(northEast.latitude))
        let longitude = "(\(column))[0]"
        let between =
            southWest.longitude <= northEast.longitude
            ? "\(longitude) BETWEEN \(west) AND \(east)" : "(\(longitude) >= \(west) OR \(longitude) <= \(east))"
        return "(\(between) AND (\(column))[1] BETWEEN \(south) AND \(north))"
    }
}
