import Foundation

/// Where points lie, as the SQL functions of Roost and PostgreSQL's own types tell.
extension GeoPoint {
    /// The great-circle distance in radians.
    func distance(to other: GeoPoint) -> Double {
        func radians(_ degrees: Double) -> Double { degrees * .pi / 180 }
        let height = sin(radians(latitude - other.latitude) / 2)
        let width = sin(radians(longitude - other.longitude) / 2)
        let square = height * height + cos(radians(latitude)) * cos(radians(other.latitude)) * width * width
        return 2 * asin(min(1, square).squareRoot())
    }

    /// Whether the point is inside a box of two opposite corners, its edges included. One whose first corner lies east of
    /// the second crosses the antimeridian where that is the shorter way.
    func isInside(_ first: GeoPoint, _ second: GeoPoint) -> Bool {
        guard latitude >= min(first.latitude, second.latitude), latitude <= max(first.latitude, second.latitude) else {
            return false
        }
        if first.longitude - second.longitude > 180 {
            return longitude >= first.longitude || longitude <= second.longitude
        }
        return longitude >= min(first.longitude, second.longitude)
            && longitude <= max(first.longitude, second.longitude)
    }

    /// Whether the point is inside a polygon on the plane of degrees, its edges included.
    func isInside(_ corners: [GeoPoint]) -> Bool {
        guard var previous = corners.last else { return false }
        var isInside = false
        for corner in corners {
            if isOn(previous, corner) { return true }
            if (corner.latitude > latitude) != (previous.latitude > latitude) {
                let share = (latitude - corner.latitude) / (previous.latitude - corner.latitude)
                if longitude < corner.longitude + share * (previous.longitude - corner.longitude) { isInside.toggle() }
            }
            previous = corner
        }
        return isInside
    }

    /// PostgreSQL takes coordinates for equal that differ by less.
    private static let tolerance = 1e-6

    private func isOn(_ start: GeoPoint, _ end: GeoPoint) -> Bool {
        let width = end.longitude - start.longitude
        let height = end.latitude - start.latitude
        let length = (width * width + height * height).squareRoot()
        guard length > Self.tolerance else {
            return abs(longitude - start.longitude) < Self.tolerance && abs(latitude - start.latitude) < Self.tolerance
        }
        let across = (longitude - start.longitude) * height - (latitude - start.latitude) * width
        let along = (longitude - start.longitude) * width + (latitude - start.latitude) * height
        return abs(across) / length < Self.tolerance && along / length > -Self.tolerance
            && along / length < length + Self.tolerance
    }
}
