import JSON

enum GeoConstraint {
    /// The earth's radius as in the SDKs.
    private static let milesPerRadian = 3959.0
    private static let kilometersPerRadian = 6371.0

    static func parse(_ name: String, _ operand: JSONValue, beside object: JSONObject) throws(ParseError)
        -> Constraint
    {
        switch name {
        case "$nearSphere":
            guard let center = GeoPoint(json: operand) else {
                throw ParseError(107, "bad $nearSphere value, should be GeoPoint")
            }
            return .near(center, radians: try maximumDistance(object))
        case "$within":
            guard let corners = operand["$box"]?.arrayValue, corners.count == 2,
                let southWest = GeoPoint(json: corners[0]), let northEast = GeoPoint(json: corners[1])
            else { throw ParseError(107, "malformatted $within arg") }
            return .box(southWest: southWest, northEast: northEast)
        case "$geoWithin":
            if let polygon = operand["$polygon"] { return .insidePolygon(try points(polygon)) }
            if let circle = operand["$centerSphere"] { return try self.circle(circle) }
            throw ParseError(107, "bad $geoWithin value")
        default:
            guard let point = operand["$point"].flatMap(GeoPoint.init(json:)) else {
                throw ParseError(107, "bad $geoIntersect value; $point should be GeoPoint")
            }
            try check(point)
            return .polygonContains(point)
        }
    }

    private static func maximumDistance(_ object: JSONObject) throws(ParseError) -> Double? {
        let scales = [
            ("$maxDistance", 1), ("$maxDistanceInRadians", 1), ("$maxDistanceInMiles", milesPerRadian),
            ("$maxDistanceInKilometers", kilometersPerRadian),
        ]
        for (name, scale) in scales {
            guard let value = object[name] else { continue }
            guard let number = value.numberValue, number >= 0 else {
                throw ParseError(107, "\(name) must be a number, 0 or greater")
            }
            return number / scale
        }
        return nil
    }

    private static func points(_ value: JSONValue) throws(ParseError) -> [GeoPoint] {
        var points: [GeoPoint] = []
        if value["__type"]?.stringValue == "Polygon" {
            guard let coordinates = value["coordinates"]?.arrayValue, coordinates.count >= 3 else {
                throw ParseError(
                    107, "bad $geoWithin value; Polygon.coordinates should contain at least 3 lon/lat pairs")
            }
            // As in parse-server, a `Polygon` in a query has the longitude first, unlike a stored one.
            for pair in coordinates { points.append(try point(pair)) }
        } else if let list = value.arrayValue {
            guard list.count >= 3 else {
                throw ParseError(107, "bad $geoWithin value; $polygon should contain at least 3 GeoPoints")
            }
            for element in list { points.append(try point(element)) }
        } else {
            throw ParseError(
                107, "bad $geoWithin value; $polygon should be Polygon object or Array of Parse.GeoPoint's")
        }
        for point in points { try check(point) }
        return points
    }

    /// Reads a GeoPoint, or a list of longitude and latitude.
    private static func point(_ value: JSONValue) throws(ParseError) -> GeoPoint {
        if let point = GeoPoint(json: value) { return point }
        guard let pair = value.arrayValue, pair.count == 2, let longitude = pair[0].numberValue,
            let latitude = pair[1].numberValue
        else { throw ParseError(107, "bad $geoWithin value") }
        return GeoPoint(latitude: latitude, longitude: longitude)
    }

    private static func circle(_ value: JSONValue) throws(ParseError) -> Constraint {
        guard let parts = value.arrayValue, parts.count >= 2 else {
            throw ParseError(
                107, "bad $geoWithin value; $centerSphere should be an array of Parse.GeoPoint and distance")
        }
        guard let center = try? point(parts[0]) else {
            throw ParseError(107, "bad $geoWithin value; $centerSphere geo point invalid")
        }
        try check(center)
        guard let radians = parts[1].numberValue, radians >= 0 else {
            throw ParseError(107, "bad $geoWithin value; $centerSphere distance invalid")
        }
        return .insideCircle(center, radians: radians)
    }

    private static func check(_ point: GeoPoint) throws(ParseError) {
        guard abs(point.latitude) <= 90 else {
            throw ParseError(107, "Latitude out of bounds: \(JSONValue.number(point.latitude).text)")
        }
        guard abs(point.longitude) <= 180 else {
            throw ParseError(107, "Longitude out of bounds: \(JSONValue.number(point.longitude).text)")
        }
    }
}

/// A polygon on the map, given by its corners.
public struct GeoPolygon: Hashable, Sendable {
    /// The corners in order. The first one is repeated at the end.
    public let corners: [GeoPoint]

    /// The maximum number of corners. PostgreSQL compares the corners of two polygons pairwise and can't be interrupted
    /// meanwhile.
    private static let maxCorners = 10_000

    /// Creates a polygon from its corners and closes it.
    public init(_ corners: [GeoPoint]) {
        let isClosed = corners.isEmpty || corners.first == corners.last
        self.corners = isClosed ? corners : corners + corners.prefix(1)
    }

    /// Parses `{"__type":"Polygon","coordinates":[[latitude,longitude],…]}`.
    ///
    /// - Throws: 107 for fewer than three distinct corners, more than 10,000, or a corner that is neither a pair of
    ///   numbers nor a GeoPoint.
    public init(json value: JSONValue) throws(ParseError) {
        guard let pairs = value["coordinates"]?.arrayValue, pairs.count >= 3 else {
            throw ParseError(ParseError.invalidJSON, "Polygon must have at least 3 values")
        }
        guard pairs.count <= Self.maxCorners else {
            throw ParseError(ParseError.invalidJSON, "Polygon must have at most \(Self.maxCorners) values")
        }
        var corners: [GeoPoint] = []
        for pair in pairs {
            let point = GeoPoint(json: pair)
            guard let latitude = point?.latitude ?? pair.arrayValue?.first?.numberValue,
                let longitude = point?.longitude ?? pair.arrayValue?.dropFirst().first?.numberValue
            else { throw ParseError(ParseError.invalidJSON, "bad polygon: coordinates should be pairs of numbers") }
            corners.append(GeoPoint(latitude: latitude, longitude: longitude))
        }
        guard Set(corners).count >= 3 else {
            throw ParseError(ParseError.invalidJSON, "GeoJSON: Loop must have at least 3 different vertices")
        }
        self.init(corners)
    }
}
