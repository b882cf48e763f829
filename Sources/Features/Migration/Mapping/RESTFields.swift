import JSON
import ParseModel
import Postgres

/// Values of the REST interface as columns take them.
enum RESTFields {
    /// An object's id; nil for what is none.
    static func id(_ value: JSONValue) -> String? {
        value.stringValue ?? value.numberValue.flatMap { Int64(exactly: $0) }.map { "\($0)" }
    }

    /// The value for a column of a type; nil for null, and for what cannot be kept, which is noted.
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
            // What no JSON number is, as Roost's exports have it.
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
        losses.add(field, "expected \(type), found \(TypeInference.name(of: value))", value)
        return nil
    }

    /// Removes NUL characters.
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
            losses.add(field, "a GeoPoint that is out of range", shown())
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
