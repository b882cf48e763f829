import JSON
import ParseModel
import Platform

/// Decodes Swift values from Parse's JSON.
package struct ValueDecoder: Decoder {
    let value: JSONValue
    package let codingPath: [any CodingKey]
    package var userInfo: [CodingUserInfoKey: Any] { [:] }

    /// Decodes a value. Throws `DecodingError` and the errors of the type's own `init(from:)`.
    package static func decode<T: Decodable>(
        _ type: T.Type = T.self, from value: JSONValue, _ path: [any CodingKey] = []
    )
        throws -> T
    {
        func result(_ value: Any?) throws -> T {
            guard let value = value as? T else { throw mismatch(type, path) }
            return value
        }
        switch type {
        case is JSONValue.Type: return try result(value)
        case is JSONObject.Type: return try result(value.objectValue)
        case is Name.Type: return try result(value.nameValue)
        case is ParseObject.Type: return try result(ParseObject(embedded: value))
        case is Date.Type: return try result(Date(parseJSON: value))
        case is Data.Type:
            return try result((value["base64"] ?? value).stringValue.flatMap { Data(base64Encoded: $0) })
        case is URL.Type: return try result(value.stringValue.flatMap { URL(string: $0) })
        default: return try T(from: ValueDecoder(value: value, codingPath: path))
        }
    }

    /// Decodes parameters or a record. Throws 142 with a text like a validator's if a value is missing or invalid.
    static func params<Value: Decodable>(_ json: JSONObject) throws -> Value {
        func name(_ path: [any CodingKey]) -> String { path.map(\.stringValue).joined(separator: ".") }
        do {
            return try decode(from: .object(json))
        } catch DecodingError.keyNotFound(let key, let context) {
            throw ParseError(
                ParseError.validationError,
                "Validation failed. Please specify data for \(name(context.codingPath + [key])).")
        } catch DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
            DecodingError.dataCorrupted(let context)
        {
            throw ParseError(
                ParseError.validationError, "Validation failed. Invalid value for \(name(context.codingPath)).")
        }
    }

    fileprivate static func mismatch(_ type: Any.Type, _ path: [any CodingKey]) -> DecodingError {
        .typeMismatch(type, DecodingError.Context(codingPath: path, debugDescription: "The value has another type"))
    }

    package func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .object(let object) = value else { throw Self.mismatch([String: JSONValue].self, codingPath) }
        return KeyedDecodingContainer(Keyed(object: object, codingPath: codingPath))
    }

    package func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let array) = value else { throw Self.mismatch([JSONValue].self, codingPath) }
        return Unkeyed(array: array, codingPath: codingPath)
    }

    package func singleValueContainer() -> any SingleValueDecodingContainer {
        Single(value: value, codingPath: codingPath)
    }

    private struct Keyed<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let object: JSONObject
        let codingPath: [any CodingKey]
        var allKeys: [Key] { object.keys.compactMap { Key(stringValue: $0.text) } }

        private func member(_ key: any CodingKey) throws -> JSONValue {
            guard let value = object[key.stringValue] else {
                throw DecodingError.keyNotFound(
                    key, DecodingError.Context(codingPath: codingPath, debugDescription: "The value is missing"))
            }
            return value
        }

        func contains(_ key: Key) -> Bool { object[key.stringValue] != nil }
        func decodeNil(forKey key: Key) throws -> Bool { try member(key).isNull }

        func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
            try ValueDecoder.decode(type, from: member(key), codingPath + [key])
        }

        func nestedContainer<NestedKey: CodingKey>(keyedBy type: NestedKey.Type, forKey key: Key) throws
            -> KeyedDecodingContainer<NestedKey>
        {
            try ValueDecoder(value: member(key), codingPath: codingPath + [key]).container(keyedBy: type)
        }

        func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
            try ValueDecoder(value: member(key), codingPath: codingPath + [key]).unkeyedContainer()
        }

        func superDecoder() -> any Decoder {
            ValueDecoder(value: object["super"] ?? .null, codingPath: codingPath)
        }

        func superDecoder(forKey key: Key) throws -> any Decoder {
            ValueDecoder(value: try member(key), codingPath: codingPath + [key])
        }
    }

    private struct Unkeyed: UnkeyedDecodingContainer {
        let array: [JSONValue]
        let codingPath: [any CodingKey]
        var currentIndex = 0
        var count: Int? { array.count }
        var isAtEnd: Bool { currentIndex >= array.count }

        private func element() throws -> JSONValue {
            guard !isAtEnd else {
                throw DecodingError.valueNotFound(
                    JSONValue.self,
                    DecodingError.Context(codingPath: codingPath, debugDescription: "The array has no more elements"))
            }
            return array[currentIndex]
        }

        mutating func decodeNil() throws -> Bool {
            guard try element().isNull else { return false }
            currentIndex += 1
            return true
        }

        private mutating func next<Result>(_ read: (ValueDecoder) throws -> Result) throws -> Result {
            let result = try read(ValueDecoder(value: element(), codingPath: codingPath))
            currentIndex += 1
            return result
        }

        mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
            try next { try ValueDecoder.decode(type, from: $0.value, $0.codingPath) }
        }

        mutating func nestedContainer<NestedKey: CodingKey>(keyedBy type: NestedKey.Type) throws
            -> KeyedDecodingContainer<NestedKey>
        {
            try next { try $0.container(keyedBy: type) }
        }

        mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
            try next { try $0.unkeyedContainer() }
        }

        mutating func superDecoder() throws -> any Decoder { try next { $0 } }
    }

    private struct Single: SingleValueDecodingContainer {
        let value: JSONValue
        let codingPath: [any CodingKey]

        private func get<T>(_ value: T?) throws -> T {
            guard let value else { throw ValueDecoder.mismatch(T.self, codingPath) }
            return value
        }

        func decodeNil() -> Bool { value.isNull }
        func decode(_ type: Bool.Type) throws -> Bool { try get(value.boolValue) }
        func decode(_ type: String.Type) throws -> String { try get(value.stringValue) }
        func decode(_ type: Double.Type) throws -> Double { try get(value.numberValue) }
        func decode(_ type: Float.Type) throws -> Float { try get(value.numberValue.map { Float($0) }) }
        func decode<T: Decodable & BinaryInteger>(_ type: T.Type) throws -> T {
            try get(value.numberValue.flatMap { T(exactly: $0) })
        }
        func decode<T: Decodable>(_ type: T.Type) throws -> T {
            try ValueDecoder.decode(type, from: value, codingPath)
        }
    }
}
