import JSON
public import ParseModel
import Postgres

/// Encodes written values as parameters for their columns.
enum ValueEncoder {
    /// Returns the parameter for a value in a column of the given type.
    ///
    /// - Throws: Parse's errors for values that the column can't store.
    static func encode(_ value: JSONValue, _ type: FieldType, field: String) throws(ParseError) -> PostgresParameter {
        if value.isNull { return .null(TableLayout.parameterType(type)) }
        switch type {
        case .string:
            if let text = value.stringValue { return try Self.text(text) }
        case .number:
            if let number = value.numberValue { return .double(number) }
        case .boolean:
            if let flag = value.boolValue { return .bool(flag) }
        case .date:
            guard let iso = value["iso"]?.stringValue, let date = ParseDate(iso: iso) else {
                throw ParseError(ParseError.incorrectType, "This is not a valid Date")
            }
            return .timestamp(milliseconds: date.milliseconds)
        case .object, .array, .bytes:
            return .jsonb(try json(value))
        case .pointer:
            guard let id = value["objectId"], !id.isNull else { return .null(.text) }
            guard let id = Pointer.id(id) else {
                throw ParseError(ParseError.incorrectType, "This is not a valid Pointer")
            }
            return try Self.text(id)
        case .file:
            if let name = value["name"]?.stringValue { return try Self.text(name) }
        case .geoPoint:
            guard let latitude = value["latitude"]?.numberValue, let longitude = value["longitude"]?.numberValue else {
                throw ParseError(ParseError.incorrectType, "This is not a valid GeoPoint")
            }
            return .point(x: try coordinate(longitude), y: try coordinate(latitude))
        case .polygon:
            return .polygon(try corners(of: GeoPolygon(json: value)))
        case .acl, .relation:
            return .null(.text)
        }
        throw ParseError(ParseError.incorrectType, "This is not a valid \(type.name) for \(field)")
    }

    /// Encodes text for a column. PostgreSQL can't store NUL characters.
    static func text(_ text: String) throws(ParseError) -> PostgresParameter {
        .text(try ValueText.checked(text))
    }

    /// Encodes JSON for a jsonb column. Rejects NUL characters, and nested keys that contain `$` or a dot.
    static func json(_ value: JSONValue) throws(ParseError) -> [UInt8] {
        try checkNestedKeys(value)
        return value.serialized()
    }

    /// Returns the corners of a closed polygon as (longitude, latitude).
    static func corners(of polygon: GeoPolygon) throws(ParseError) -> [(x: Double, y: Double)] {
        try polygon.corners.map { corner throws(ParseError) in
            (x: try coordinate(corner.longitude), y: try coordinate(corner.latitude))
        }
    }

    /// Checks a coordinate, and rounds tiny ones to 0. PostgreSQL multiplies coordinates, also with those of other
    /// objects in its indexes, and fails if a result is out of range. No stored object may cause that.
    ///
    /// - Throws: 111 for values beyond a million.
    private static func coordinate(_ angle: Double) throws(ParseError) -> Double {
        guard abs(angle) <= 1e6 else {
            throw ParseError(ParseError.incorrectType, "A coordinate is out of range: \(angle)")
        }
        return abs(angle) < 1e-9 ? 0 : angle
    }

    fileprivate static let nulCharacter = ParseError(
        ParseError.invalidJSON, "Strings can't contain the NUL character")

    private static func checkNestedKeys(_ value: JSONValue) throws(ParseError) {
        switch value {
        case .object(let object):
            for (key, value) in object {
                guard !key.utf8.contains(where: { $0 == UInt8(ascii: "$") || $0 == UInt8(ascii: ".") }) else {
                    throw ParseError(
                        ParseError.invalidNestedKey, "Nested keys should not contain the '$' or '.' characters")
                }
                guard !key.utf8.contains(0) else { throw nulCharacter }
                try checkNestedKeys(value)
            }
        case .array(let list):
            for element in list { try checkNestedKeys(element) }
        case .string(let text):
            guard !text.utf8.contains(0) else { throw nulCharacter }
        case .null, .bool, .number: break
        }
    }
}

public enum ValueText {
    /// Returns the text if PostgreSQL can store it.
    ///
    /// - Throws: `ParseError` 107 if it contains a NUL character.
    public static func checked(_ text: String) throws(ParseError) -> String {
        guard !text.utf8.contains(0) else { throw ValueEncoder.nulCharacter }
        return text
    }
}
