import JSON

/// Truncates long values after triggers ran, because triggers get whole values. Without triggers, the query truncates
/// them.
enum ShortenedValue {
    /// Types whose values are never truncated.
    private static let kept: Set<Name> = ["Pointer", "Date", "File", "GeoPoint", "Polygon", "Relation"]
    private static let common: Set<Name> = ["objectId", "createdAt", "updatedAt", "ACL", "__type", "className"]

    /// Truncates an object's field values, including those of included objects.
    static func shortened(_ object: JSONObject, most: Int) -> JSONObject {
        var object = object
        for (name, value) in object where !common.contains(name) { object[name] = shortened(value, most) }
        return object
    }

    private static func shortened(_ value: JSONValue, _ most: Int) -> JSONValue {
        switch value {
        case .string(let text):
            guard text.utf8.count > most else { return value }
            return short("String", bytes: text.utf8.count, start: text, most)
        case .array(let list):
            let text = value.text
            guard text.utf8.count > most else { return value }
            return short("Array", bytes: text.utf8.count, count: list.count, start: text, most)
        case .object(let object):
            let type = object["__type"]?.nameValue
            if type == "Object" { return .object(shortened(object, most: most)) }
            if let type, kept.contains(type) { return value }
            let text = value.text
            guard text.utf8.count > most else { return value }
            if type == "Bytes", let base64 = object["base64"]?.stringValue {
                return short("Bytes", bytes: base64.utf8.count * 3 / 4, start: base64, most)
            }
            return short("Object", bytes: text.utf8.count, count: object.count, start: text, most)
        default: return value
        }
    }

    private static func short(
        _ type: String, bytes: Int, count: Int? = nil, start: String, _ most: Int
    ) -> JSONValue {
        var short: JSONObject = [
            "__type": "Shortened", "type": .string(type), "bytes": .number(Double(bytes)),
            "start": .string(String(String.UnicodeScalarView(start.unicodeScalars.prefix(most)))),
        ]
        if let count { short["count"] = .number(Double(count)) }
        return .object(short)
    }
}
