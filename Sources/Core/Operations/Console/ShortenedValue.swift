import JSON

/// Truncates long values after triggers have run, because triggers get whole values. Without triggers, the query
/// truncates them.
enum ShortenedValue {
    private static let kept: Set<Name> = ["Pointer", "Date", "File", "GeoPoint", "Polygon", "Relation"]
    private static let common: Set<Name> = ["objectId", "createdAt", "updatedAt", "ACL", "__type", "className"]

    /// Truncates an object's field values, including those of included objects.
    static func shortened(_ object: JSONObject, limit: Int) -> JSONObject {
        var object = object
        for (name, value) in object where !common.contains(name) { object[name] = shortened(value, limit) }
        return object
    }

    private static func shortened(_ value: JSONValue, _ limit: Int) -> JSONValue {
        switch value {
        case .string(let text):
            guard text.utf8.count > limit else { return value }
            return short("String", bytes: text.utf8.count, start: text, limit)
        case .array(let list):
            let text = value.text
            guard text.utf8.count > limit else { return value }
            return short("Array", bytes: text.utf8.count, count: list.count, start: text, limit)
        case .object(let object):
            let type = object["__type"]?.nameValue
            if type == "Object" { return .object(shortened(object, limit: limit)) }
            if let type, kept.contains(type) { return value }
            let text = value.text
            guard text.utf8.count > limit else { return value }
            if type == "Bytes", let base64 = object["base64"]?.stringValue {
                return short("Bytes", bytes: base64.utf8.count * 3 / 4, start: base64, limit)
            }
            return short("Object", bytes: text.utf8.count, count: object.count, start: text, limit)
        default: return value
        }
    }

    private static func short(
        _ type: String, bytes: Int, count: Int? = nil, start: String, _ limit: Int
    ) -> JSONValue {
        var short: JSONObject = [
            "__type": "Shortened", "type": .string(type), "bytes": .number(Double(bytes)),
            "start": .string(String(String.UnicodeScalarView(start.unicodeScalars.prefix(limit)))),
        ]
        if let count { short["count"] = .number(Double(count)) }
        return .object(short)
    }
}
