import Platform

extension GeoPoint {
    /// Tolerance of coordinates in degrees, as in PostgreSQL.
    fileprivate static let tolerance = 1e-6

    func isSame(_ other: GeoPoint) -> Bool {
        abs(latitude - other.latitude) <= Self.tolerance && abs(longitude - other.longitude) <= Self.tolerance
    }

    /// Returns the great-circle distance in radians, by the haversine formula.
    func radians(to center: GeoPoint) -> Double {
        func radians(_ degrees: Double) -> Double { degrees * .pi / 180 }
        let height = sin(radians(center.latitude - latitude) / 2)
        let width = sin(radians(center.longitude - longitude) / 2)
        let part = height * height + cos(radians(center.latitude)) * cos(radians(latitude)) * width * width
        return 2 * asin(min(1, part).squareRoot())
    }

    /// Whether the point is inside or on the edges of a box given by two opposite corners in any order.
    ///
    /// If the first corner is more than 180° east of the second, the box crosses the antimeridian.
    func isInBox(between first: GeoPoint, and second: GeoPoint) -> Bool {
        guard isBetween(latitude, first.latitude, second.latitude) else { return false }
        guard first.longitude - second.longitude > 180 else {
            return isBetween(longitude, first.longitude, second.longitude)
        }
        return first.longitude <= longitude && longitude <= 180 || -180 <= longitude && longitude <= second.longitude
    }
}

private func isBetween(_ value: Double, _ one: Double, _ other: Double, tolerance: Double = 0) -> Bool {
    min(one, other) - tolerance <= value && value <= max(one, other) + tolerance
}

extension GeoPolygon {
    /// Whether a point is inside the polygon or on an edge, computed by its winding number.
    func contains(_ place: GeoPoint, _ budget: inout MatchBudget) throws(FilterMatcherError) -> Bool {
        try budget.spend(corners.count)
        guard var from = corners.last else { return false }
        var windings = 0
        for to in corners {
            defer { from = to }
            let (x, y) = (to.longitude - from.longitude, to.latitude - from.latitude)
            let (placeX, placeY) = (place.longitude - from.longitude, place.latitude - from.latitude)
            // Positive if the point is left of the edge.
            let side = x * placeY - y * placeX
            if abs(side) <= GeoPoint.tolerance,
                isBetween(place.latitude, from.latitude, to.latitude, tolerance: GeoPoint.tolerance),
                isBetween(place.longitude, from.longitude, to.longitude, tolerance: GeoPoint.tolerance)
            {
                return true
            }
            if from.latitude <= place.latitude {
                if to.latitude > place.latitude, side > 0 { windings += 1 }
            } else if to.latitude <= place.latitude, side < 0 {
                windings -= 1
            }
        }
        return windings != 0
    }

    /// Whether one corner list, including the repeated first corner, is a rotation of the other or of its reverse, like
    /// PostgreSQL's `~=`.
    func isSame(_ other: GeoPolygon, _ budget: inout MatchBudget) throws(FilterMatcherError) -> Bool {
        let count = corners.count
        guard count == other.corners.count, let first = corners.first else { return false }
        for start in 0..<count where first.isSame(other.corners[start]) {
            try budget.spend(2 * count)
            if (0..<count).allSatisfy({ corners[$0].isSame(other.corners[(start + $0) % count]) }) { return true }
            if (0..<count).allSatisfy({ corners[$0].isSame(other.corners[(start + count - $0) % count]) }) {
                return true
            }
        }
        try budget.spend(count)
        return false
    }
}
