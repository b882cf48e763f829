import JSON

/// An area on the sphere, by its corners.
public struct GeoPolygon: Hashable, Sendable {
    /// The corners in order, the first once more at the end.
    public let corners: [GeoPoint]

    /// Makes a polygon of its corners, and closes it.
    public init(_ corners: [GeoPoint]) {
        let isClosed = corners.isEmpty || corners.first == corners.last
        self.corners = isClosed ? corners : corners + corners.prefix(1)
    }

    /// Reads `{"__type":"Polygon","coordinates":[[latitude,longitude],…]}`.
    ///
    /// - Throws: 107 for what has fewer than three different corners, and for corners that are none.
    public init(json value: JSONValue) throws(ParseError) {
        guard let pairs = value["coordinates"]?.arrayValue, pairs.count >= 3 else {
            throw ParseError(ParseError.invalidJSON, "Polygon must have at least 3 values")
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
