import BSON
import JSON
import ParseModel
import Platform

/// Converts MongoDB values to the JSON format of Parse's REST interface.
enum MongoValues {
    /// Converts a value to JSON. A value that JSON can't represent becomes the nearest one or null, and is added to
    /// `losses`.
    ///
    /// - Parameter field: The field with the path inside it. Evaluated only for losses, because an array may have a
    ///   million elements, and a key a million characters.
    static func json(_ value: BSONValue, _ field: @autoclosure () -> String, _ losses: inout Losses) -> JSONValue {
        switch value {
        case .null, .undefined: return .null
        case .bool(let flag): return .bool(flag)
        case .double, .int32, .int64, .decimal128:
            return number(value, field(), &losses, isInJSON: true).map { .number($0) } ?? .null
        case .string(let text): return .string(self.text(text, field(), &losses))
        case .objectID(let id): return .string(id.hexadecimal)
        case .date(let milliseconds):
            guard isDate(milliseconds) else {
                losses.add(field(), "a date that is out of range", .string("\(milliseconds)"))
                return .null
            }
            return ParseDate(milliseconds: milliseconds).json
        case .binary(_, let bytes): return ["__type": "Bytes", "base64": .string(Base64.encode(bytes))]
        case .array(let elements):
            return .array(elements.enumerated().map { json($1, "\(field()).\($0)", &losses) })
        case .document(let document): return .object(object(document, field(), &losses))
        case .symbol(let text): return .string(self.text(text, field(), &losses))
        case .regularExpression, .dbPointer, .code, .codeWithScope, .timestamp, .minKey, .maxKey, .malformedText:
            losses.add(field(), "a \(value.typeName), which Parse can't store: it becomes null", reported(value))
            return .null
        }
    }

    private static func object(_ document: BSONDocument, _ field: @autoclosure () -> String, _ losses: inout Losses)
        -> JSONObject
    {
        var object = JSONObject(minimumCapacity: document.members.count)
        for member in document.members {
            let hasNUL = member.key.utf8.contains(0)
            let key = hasNUL ? Name(text(member.key.text, path(field(), member.key), &losses)) : member.key
            object[key] = json(member.value, path(field(), key), &losses)
        }
        return object
    }

    private static func path(_ outer: String, _ key: Name) -> String { outer.isEmpty ? key.text : "\(outer).\(key)" }

    /// Returns a number as a double, or nil if the value isn't a number. With `isInJSON`, also returns nil for infinity
    /// and NaN. Inexact results are added to `losses`.
    static func number(
        _ value: BSONValue, _ field: @autoclosure () -> String, _ losses: inout Losses, isInJSON: Bool = false
    ) -> Double? {
        switch value {
        case .int32(let number): return Double(number)
        case .int64(let number):
            if Double(exactly: number) == nil {
                losses.add(field(), "an integer beyond 2^53: it is rounded", .string("\(number)"))
            }
            return Double(number)
        case .decimal128(let number):
            let nearest = number.double
            if !isExact(number, nearest) {
                losses.add(field(), "a decimal number: it is rounded", .string(number.text))
            }
            return finite(nearest, field(), &losses, isInJSON)
        case .double(let number): return finite(number, field(), &losses, isInJSON)
        default: return nil
        }
    }

    /// Returns whether a double keeps all digits of the number, judging by their count and by the magnitude.
    private static func isExact(_ number: BSONDecimal, _ nearest: Double) -> Bool {
        let text = number.text
        guard nearest.isFinite else { return ["NaN", "Infinity", "-Infinity"].contains(text) }
        let digits = text.utf8.prefix { $0 != UInt8(ascii: "E") }.filter { $0 >= 48 && $0 <= 57 }
        let significant = digits.drop { $0 == 48 }.count
        return significant == 0 || significant <= 15 && nearest.isNormal
    }

    private static func finite(
        _ number: Double, _ field: @autoclosure () -> String, _ losses: inout Losses, _ isInJSON: Bool
    ) -> Double? {
        guard isInJSON, !number.isFinite else { return number }
        losses.add(
            field(), "\(number) inside an object, which JSON can't represent: it becomes null", .string("\(number)"))
        return nil
    }

    /// Removes NUL characters, which PostgreSQL can't store.
    static func text(_ text: String, _ field: @autoclosure () -> String, _ losses: inout Losses) -> String {
        guard text.utf8.contains(0) else { return text }
        losses.add(field(), "a string with NUL characters: they are removed", .string(text))
        return String(decoding: text.utf8.filter { $0 != 0 }, as: UTF8.self)
    }

    /// Returns whether both JavaScript and PostgreSQL support the date: from 4714 BC to the year 275760.
    static func isDate(_ milliseconds: Int64) -> Bool {
        (-210_866_803_200_000...8_640_000_000_000_000).contains(milliseconds)
    }

    /// Converts a value for the rejects file, as completely as possible.
    static func reported(_ value: BSONValue) -> JSONValue {
        switch value {
        case .int64(let number) where Double(exactly: number) == nil: ["$numberLong": .string("\(number)")]
        case .decimal128(let number): ["$numberDecimal": .string(number.text)]
        case .double(let number) where !number.isFinite: ["$numberDouble": .string("\(number)")]
        case .date(let milliseconds): ["$date": ["$numberLong": .string("\(milliseconds)")]]
        case .regularExpression(let pattern, let options): ["$regex": .string(pattern), "$options": .string(options)]
        case .code(let code): ["$code": .string(code)]
        case .codeWithScope(let code, let scope): ["$code": .string(code), "$scope": reported(.document(scope))]
        case .timestamp(let time):
            ["$timestamp": ["t": .number(Double(time >> 32)), "i": .number(Double(time & 0xFFFF_FFFF))]]
        case .dbPointer(let collection, let id): ["$ref": .string(collection), "$id": .string(id.hexadecimal)]
        case .minKey: ["$minKey": 1]
        case .maxKey: ["$maxKey": 1]
        case .malformedText(let bytes): ["base64": .string(Base64.encode(bytes))]
        case .document(let document):
            .object(
                JSONObject(document.members.map { ($0.key, reported($0.value)) }) { _, last in last })
        case .array(let elements): .array(elements.map { reported($0) })
        default: plain(value)
        }
    }

    private static func plain(_ value: BSONValue) -> JSONValue {
        var ignored = Losses()
        if case .string(let text) = value { return .string(text) }
        return json(value, "", &ignored)
    }
}

enum Base64 {
    static func encode(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

    /// Returns the bytes, or nil if the text isn't valid base64.
    static func decode(_ text: String) -> [UInt8]? { Data(base64Encoded: text).map { Array($0) } }
}
