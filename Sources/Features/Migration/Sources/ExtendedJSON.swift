import BSON
import Encoding
import JSON
import ParseModel

/// Converts MongoDB's extended JSON to BSON values, in the canonical, relaxed and legacy formats.
enum ExtendedJSON {
    static func document(_ object: JSONObject) -> BSONDocument {
        BSONDocument(object.map { BSONDocument.Member($0.key, value($0.value)) })
    }

    static func value(_ json: JSONValue) -> BSONValue {
        switch json {
        case .null: .null
        case .bool(let flag): .bool(flag)
        case .number(let number): .double(number)
        case .string(let text): .string(text)
        case .array(let elements): .array(elements.map { value($0) })
        case .object(let members): typed(members) ?? .document(document(members))
        }
    }

    /// Returns the value that `$` keys stand for, or nil if the object is an ordinary document.
    private static func typed(_ object: JSONObject) -> BSONValue? {
        guard let first = object.keys.first, first.hasPrefix("$") else { return nil }
        return object.count == 1 ? single(first, object.values[0]) : several(object)
    }

    private static func single(_ key: Name, _ value: JSONValue) -> BSONValue? {
        switch key {
        case "$oid": value.stringValue.flatMap(BSONObjectID.init(hexadecimal:)).map { .objectID($0) }
        case "$date": date(value).map { .date($0) }
        case "$numberLong": integer(value).map { .int64($0) }
        case "$numberInt": integer(value).flatMap { Int32(exactly: $0) }.map { .int32($0) }
        case "$numberDouble": double(value).map { .double($0) }
        case "$numberDecimal": value.stringValue.flatMap { BSONDecimal(text: $0) }.map { .decimal128($0) }
        case "$binary":
            value["base64"]?.stringValue.flatMap(Base64.decode).flatMap { bytes in
                value["subType"]?.stringValue.flatMap { UInt8($0, radix: 16) }.map { .binary(subtype: $0, bytes) }
            }
        case "$uuid":
            value.stringValue.flatMap { [UInt8](hexadecimal: $0.replacing("-", with: "")) }
                .flatMap { $0.count == 16 ? .binary(subtype: 4, $0) : nil }
        case "$undefined": .undefined
        case "$regularExpression":
            value["pattern"]?.stringValue.map {
                .regularExpression(pattern: $0, options: value["options"]?.stringValue ?? "")
            }
        case "$regex": value.stringValue.map { .regularExpression(pattern: $0, options: "") }
        case "$timestamp":
            if let time = value["t"]?.numberValue.flatMap({ UInt32(exactly: $0) }),
                let counter = value["i"]?.numberValue.flatMap({ UInt32(exactly: $0) })
            {
                .timestamp(UInt64(time) << 32 | UInt64(counter))
            } else {
                nil
            }
        case "$symbol": value.stringValue.map { .symbol($0) }
        case "$code": value.stringValue.map { .code($0) }
        case "$minKey": .minKey
        case "$maxKey": .maxKey
        default: nil
        }
    }

    private static func several(_ object: JSONObject) -> BSONValue? {
        guard object.count == 2 else { return nil }
        if let text = object["$binary"]?.stringValue, let type = object["$type"] {
            let subtype =
                type.stringValue.flatMap { UInt8($0, radix: 16) } ?? type.numberValue.flatMap(UInt8.init(exactly:))
            guard let bytes = Base64.decode(text), let subtype else { return nil }
            return .binary(subtype: subtype, bytes)
        }
        if let pattern = object["$regex"]?.stringValue, let options = object["$options"]?.stringValue {
            return .regularExpression(pattern: pattern, options: options)
        }
        if let code = object["$code"]?.stringValue, let scope = object["$scope"]?.objectValue {
            return .codeWithScope(code, document(scope))
        }
        return nil
    }

    /// Returns the milliseconds since 1970 of an ISO date, a number or a `$numberLong`, or nil for other values.
    private static func date(_ value: JSONValue) -> Int64? {
        switch value {
        case .string(let text): ParseDate(iso: text)?.milliseconds
        case .number(let number): Int64(exactly: number)
        case .object: value["$numberLong"].flatMap { integer($0) }
        default: nil
        }
    }

    private static func integer(_ value: JSONValue) -> Int64? {
        value.stringValue.flatMap { Int64($0) } ?? value.numberValue.flatMap { Int64(exactly: $0) }
    }

    private static func double(_ value: JSONValue) -> Double? {
        if let text = value.stringValue { Double(text) } else { value.numberValue }
    }
}
