import JSON
import ParseModel
import Postgres

/// Compiles `$geoNear`, which sorts objects by distance from a point, in meters.
extension AggregateCompiler {
    private static let nearMembers: Set<Name> = [
        "near", "key", "distanceField", "spherical", "minDistance", "maxDistance", "distanceMultiplier", "query",
        "includeLocs",
    ]

    mutating func near(_ operand: JSONValue, _ fields: AggregateFields) throws(ParseError) -> String {
        let members = try AggregateOperand.members(of: operand, "$geoNear", Self.nearMembers)
        let key =
            try AggregateOperand.text("key", of: members, "$geoNear")
            ?? schema.fields.first { $0.value.type == .geoPoint }?.key.text
        guard let place = Self.place(members["near"] ?? .null), let key, schema.type(of: key) == .geoPoint else {
            throw ParseError(ParseError.invalidQuery, "$geoNear: near must be a point, and key a GeoPoint field")
        }
        _ = try AggregateOperand.flag("spherical", of: members, "$geoNear")
        let column = SQL.identifier(key)
        let longitude = expressions.builder.bind(.double(place.longitude))
        let latitude = expressions.builder.bind(.double(place.latitude))
        let metres = "(roost_distance(\(column), \(longitude), \(latitude)) * 6378100)"
        var conditions = ["\(column) IS NOT NULL"]
        if let maxDistance = try AggregateOperand.number("maxDistance", of: members, "$geoNear") {
            conditions.append("\(metres) <= \(expressions.builder.bind(.double(maxDistance)))")
        }
        if let minDistance = try AggregateOperand.number("minDistance", of: members, "$geoNear") {
            conditions.append("\(metres) >= \(expressions.builder.bind(.double(minDistance)))")
        }
        if let query = members["query"] { conditions.append("(\(try condition(query, .row(schema))))") }
        let factor = try AggregateOperand.number("distanceMultiplier", of: members, "$geoNear") ?? 1
        let field = try expressions.builder.newPath(
            try AggregateOperand.text("distanceField", of: members, "$geoNear") ?? "distance")
        let distance = "roost_json(\(metres) * \(expressions.builder.bind(.double(factor))))"
        var document = "roost_set(\(AggregateRow.document(schema, fields.names)), \(field), \(distance))"
        if let locations = try AggregateOperand.text("includeLocs", of: members, "$geoNear") {
            let path = try expressions.builder.newPath(locations)
            document = "roost_set(\(document), \(path), \(AggregateRow.value(column, .geoPoint)))"
        }
        return "SELECT \(document) AS doc FROM \(SQL.identifier(schema.name)) "
            + "WHERE \(conditions.joined(separator: " AND ")) ORDER BY \(metres)"
    }

    /// Reads `near`: a GeoPoint, a GeoJSON point, or a list of longitude and latitude.
    private static func place(_ near: JSONValue) -> GeoPoint? {
        if let point = GeoPoint(json: near) { return point }
        guard let pair = near["coordinates"]?.arrayValue ?? near.arrayValue, pair.count == 2,
            let longitude = pair[0].numberValue, let latitude = pair[1].numberValue
        else { return nil }
        return GeoPoint(latitude: latitude, longitude: longitude)
    }
}
