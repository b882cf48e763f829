import JSON
import ParseModel
import Postgres

/// GeoPoints and polygons as columns take them, from sources of all forms.
///
/// Databases hold points that are none, with numbers such as NaN. PostgreSQL has no distance to them, so that a query
/// for what is near would fail for all objects of the class.
enum PlaceFields {
    /// A point; nil for one that is not on earth, which is noted.
    ///
    /// - Parameter shown: The value as the source has it.
    static func point(_ place: GeoPoint, _ field: String, _ losses: inout Losses, _ shown: @autoclosure () -> JSONValue)
        -> PostgresParameter?
    {
        guard place.isOnEarth else {
            losses.add(field, "a place that is out of range", shown())
            return nil
        }
        return .point(x: place.longitude, y: place.latitude)
    }

    /// A polygon; nil for one with a corner that is not on earth, which is noted.
    ///
    /// - Parameter shown: The value as the source has it.
    static func polygon(
        _ corners: [GeoPoint], _ field: String, _ losses: inout Losses, _ shown: @autoclosure () -> JSONValue
    ) -> PostgresParameter? {
        guard corners.allSatisfy(\.isOnEarth) else {
            losses.add(field, "a polygon with a corner that is out of range", shown())
            return nil
        }
        return .polygon(corners.map { (x: $0.longitude, y: $0.latitude) })
    }
}
