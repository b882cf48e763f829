import JSON
import ParseModel
import Postgres

/// Converts values of the REST interface to column values.
enum RESTFields {
    /// Returns the id of an object, or nil if the value can't be an id.
    static func id(_ value: JSONValue) -> String? {
        value.stringValue ?? value.numberValue.flatMap { Int64(exactly: $0) }.map { "\($0)" }
    }

    /// Returns the value for a column, or nil for null. Values that can't be stored become nil and are added to
    /// `losses`.
    static func parameter(_ value: JSONValue, _ type: FieldType, _ field: String, _ losses: inout Losses)
        -> PostgresParameter?
    {
        let kind = value["__type"]?.stringValue
        switch (type, value) {
        case (_, .null): return nil
        case (.string, .string(let text)): return .text(MongoValues.text(text, field, &losses))
        case (.number, .number(let number)):
            if number.magnitude > 9_007_199_254_740_992, number.rounded() == number, number.magnitude < 1e19 {
                losses.add(field, "an integer beyond 2^53: it may be rounded", value)
            }
            return .double(number)
        case (.number, .object):
            // Roost's exports write NaN and infinity as extended JSON.
            if case .double(let number) = ExtendedJSON.value(value), !number.isFinite { return .double(number) }
        case (.boolean, .bool(let flag)): return .bool(flag)
        case (.date, _):
            let text = kind == "Date" ? value["iso"]?.stringValue : value.stringValue
            if let date = text.flatMap(ParseDate.init(iso:)), MongoValues.isDate(date.milliseconds) {
                return .timestamp(milliseconds: date.milliseconds)
            }
        case (.object, .object), (.array, .array): return .jsonb(clean(value, field, &losses).serialized())
        case (.bytes, .object):
            if kind == "Bytes", value["base64"]?.stringValue != nil {
                return .jsonb(clean(value, field, &losses).serialized())
            }
        case (.pointer(let target), .object):
            if let pointer = Pointer(json: value), pointer.className.hasSameBytes(as: target.text) {
                return .text(MongoValues.text(pointer.objectId, field, &losses))
            }
        case (.file, .object):
            if let name = value["name"]?.stringValue { return .text(MongoValues.text(name, field, &losses)) }
        case (.geoPoint, .object):
            if let place = GeoPoint(json: value) { return PlaceFields.point(place, field, &losses, value) }
        case (.polygon, .object):
            if let polygon = try? GeoPolygon(json: value) {
                return PlaceFields.polygon(polygon.corners, field, &losses, value)
            }
        case (.relation, _), (.acl, _): return nil
        default: break
        }
        losses.add(field, "expected \(type), found \(TypeInference.type(of: value)?.description ?? "null")", value)
        return nil
    }

    /// Removes NUL characters from all strings, and adds those strings to `losses`.
    private static func clean(_ value: JSONValue, _ field: @autoclosure () -> String, _ losses: inout Losses)
        -> JSONValue
    {
        guard value.containsNUL else { return value }
        switch value {
        case .string(let text): return .string(MongoValues.text(text, field(), &losses))
        case .array(let list): return .array(list.enumerated().map { clean($1, "\(field()).\($0)", &losses) })
        case .object(let object):
            var result: JSONObject = [:]
            for (key, value) in object {
                let name = Name(MongoValues.text(key.text, field(), &losses))
                result[name] = clean(value, "\(field()).\(key)", &losses)
            }
            return .object(result)
        case .null, .bool, .number: return value
        }
    }
}

/// Converts GeoPoints and polygons from all source formats to column values.
///
/// Databases may contain invalid points, for example with NaN. PostgreSQL can't compute distances to them, so every
/// query for nearby objects of the class would fail.
enum PlaceFields {
    /// Returns a point, or nil if its coordinates are out of range, in which case it is added to `losses`.
    ///
    /// - Parameter value: The value for the rejects file.
    static func point(_ place: GeoPoint, _ field: String, _ losses: inout Losses, _ value: @autoclosure () -> JSONValue)
        -> PostgresParameter?
    {
        guard place.isOnEarth else {
            losses.add(field, "a GeoPoint that is out of range", value())
            return nil
        }
        return .point(x: place.longitude, y: place.latitude)
    }

    /// Returns a polygon, or nil if a corner's coordinates are out of range, in which case it is added to `losses`.
    ///
    /// - Parameter value: The value for the rejects file.
    static func polygon(
        _ corners: [GeoPoint], _ field: String, _ losses: inout Losses, _ value: @autoclosure () -> JSONValue
    ) -> PostgresParameter? {
        guard corners.allSatisfy(\.isOnEarth) else {
            losses.add(field, "a polygon with a corner that is out of range", value())
            return nil
        }
        return .polygon(corners.map { (x: $0.longitude, y: $0.latitude) })
    }
}
