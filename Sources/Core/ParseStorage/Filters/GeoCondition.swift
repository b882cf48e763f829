import ParseModel
import Platform
import Postgres

/// Compiles conditions on GeoPoints and polygons without PostGIS, using PostgreSQL's geometric types.
struct GeoCondition {
    let column: String

    /// Compiles a constraint.
    ///
    /// - Parameter distance: Set to the SQL distance to sort by, if the constraint is `near`.
    func sql(_ constraint: Constraint, _ type: FieldType, _ builder: inout SQLBuilder, distance: inout String?)
        -> String
    {
        switch (constraint, type) {
        case (.near(let center, let radians), .geoPoint):
            let expression = arc(to: center, &builder)
            distance = expression
            guard let radians else { return "\(column) IS NOT NULL" }
            return "\(around(center, radians, &builder))\(expression) <= \(builder.bind(.double(radians)))"
        case (.insideCircle(let center, let radians), .geoPoint):
            let box = around(center, radians, &builder)
            return "\(box)\(arc(to: center, &builder)) <= \(builder.bind(.double(radians)))"
        case (.box(let first, let second), .geoPoint):
            return box(between: first, and: second, &builder)
        case (.insidePolygon(let points), .geoPoint):
            return "\(column) <@ \(builder.bind(.polygon(points.map { (x: $0.longitude, y: $0.latitude) })))"
        case (.polygonContains(let point), .polygon):
            // An index supports overlapping polygons, but not points within polygons.
            let place = builder.bind(.point(x: point.longitude, y: point.latitude))
            return "(\(column) && polygon(box(\(place), \(place))) AND \(column) @> \(place))"
        default:
            return "FALSE"
        }
    }

    /// Returns the condition for a box around a circle, with a trailing AND. PostgreSQL can use an index for it before
    /// computing distances. The text is empty if the circle is too large to benefit, or if its center isn't on Earth.
    private func around(_ center: GeoPoint, _ radians: Double, _ builder: inout SQLBuilder) -> String {
        guard radians < .pi / 2, center.isOnEarth else { return "" }
        // A small margin, so that rounding doesn't exclude points on the edge.
        let height = radians * 180 / .pi
        let margin = 1e-9 + height * 1e-9
        let south = center.latitude - height - margin
        let north = center.latitude + height + margin
        guard south > -90, north < 90 else {
            // A circle around a pole includes all longitudes.
            let cap = (south: max(south, -90), north: min(north, 90))
            return "\(box(west: -180, east: 180, south: cap.south, north: cap.north, &builder)) AND "
        }
        let width = asin(min(1, sin(radians) / cos(center.latitude * .pi / 180))) * 180 / .pi + margin
        let west = center.longitude - width
        let east = center.longitude + width
        let box = box(
            west: west < -180 ? west + 360 : west, east: east > 180 ? east - 360 : east, south: south,
            north: north, &builder)
        return "\(box) AND "
    }

    private func arc(to center: GeoPoint, _ builder: inout SQLBuilder) -> String {
        let longitude = builder.bind(.double(center.longitude))
        let latitude = builder.bind(.double(center.latitude))
        return "roost_distance(\(column), \(longitude), \(latitude))"
    }

    /// Returns the condition for a box with two opposite corners, in either order.
    ///
    /// If the first corner is more than 180° east of the second, the box crosses the antimeridian.
    private func box(between first: GeoPoint, and second: GeoPoint, _ builder: inout SQLBuilder) -> String {
        let crosses = first.longitude - second.longitude > 180
        return box(
            west: crosses ? first.longitude : min(first.longitude, second.longitude),
            east: crosses ? second.longitude : max(first.longitude, second.longitude),
            south: min(first.latitude, second.latitude), north: max(first.latitude, second.latitude), &builder)
    }

    /// Returns the condition for a box, including its edges. If its west edge is east of its east edge, it crosses the
    /// antimeridian.
    private func box(west: Double, east: Double, south: Double, north: Double, _ builder: inout SQLBuilder) -> String {
        guard south <= north else { return "FALSE" }
        guard west <= east else {
            // An edge outside the range of longitudes leaves one side empty.
            let halves = [(west, 180.0), (-180.0, east)].filter { $0.0 <= $0.1 }.map { west, east in
                rectangle(west: west, east: east, south: south, north: north, &builder)
            }
            return halves.isEmpty ? "FALSE" : "(\(halves.joined(separator: " OR ")))"
        }
        return rectangle(west: west, east: east, south: south, north: north, &builder)
    }

    private func rectangle(west: Double, east: Double, south: Double, north: Double, _ builder: inout SQLBuilder)
        -> String
    {
        let corners = [west, south, east, north].map { builder.bind(.double($0)) }
        return "\(column) <@ box(point(\(corners[0]), \(corners[1])), point(\(corners[2]), \(corners[3])))"
    }
}
