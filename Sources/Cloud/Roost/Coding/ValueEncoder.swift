import JSON
import Platform

/// Encodes Swift values as Parse's JSON. Dates, bytes and Parse types get their `__type`.
package struct ValueEncoder: Encoder {
    /// A mutable node of the JSON tree being encoded.
    final class Node {
        enum Content {
            case value(JSONValue)
            case object([(key: String, node: Node)])
            case array([Node])
        }

        var content = Content.object([])

        init(_ value: JSONValue? = nil) {
            if let value { content = .value(value) }
        }

        var value: JSONValue {
            switch content {
            case .value(let value): value
            case .object(let members):
                .object(JSONObject(members.map { (Name($0.key), $0.node.value) }, uniquingKeysWith: { $1 }))
            case .array(let nodes): .array(nodes.map(\.value))
            }
        }
    }

    let node: Node
    package let codingPath: [any CodingKey]
    package var userInfo: [CodingUserInfoKey: Any] { [:] }

    /// Encodes a value. Throws `EncodingError` if JSON can't represent it, and the errors of the type's own
    /// `encode(to:)`.
    package static func encode(_ value: some Encodable) throws -> JSONValue { try node(value, []).value }

    static func encodeObject(_ value: some Encodable) throws -> JSONObject {
        guard case .object(let object) = try encode(value) else {
            throw EncodingError.invalidValue(
                value, EncodingError.Context(codingPath: [], debugDescription: "The value isn't encoded as an object"))
        }
        return object
    }

    fileprivate static func node(_ value: some Encodable, _ path: [any CodingKey]) throws -> Node {
        switch value {
        case let value as JSONValue: return Node(value)
        case let value as JSONObject: return Node(.object(value))
        case let value as Name: return Node(.string(value.text))
        case let value as ParseObject: return Node(.object(value.embedded))
        case let value as Date: return Node(value.parseJSON)
        case let value as Data:
            return Node(["__type": "Bytes", "base64": .string(value.base64EncodedString())])
        case let value as URL: return Node(.string(value.absoluteString))
        default:
            let node = Node()
            try value.encode(to: ValueEncoder(node: node, codingPath: path))
            return node
        }
    }

    package func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(Keyed(node: node, codingPath: codingPath))
    }

    package func unkeyedContainer() -> any UnkeyedEncodingContainer {
        if case .object(let members) = node.content, members.isEmpty { node.content = .array([]) }
        return Unkeyed(node: node, codingPath: codingPath)
    }

    package func singleValueContainer() -> any SingleValueEncodingContainer {
        Single(node: node, codingPath: codingPath)
    }

    private struct Keyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
        let node: Node
        let codingPath: [any CodingKey]

        private func put(_ child: Node, _ key: any CodingKey) {
            guard case .object(var members) = node.content else {
                node.content = .object([(key.stringValue, child)])
                return
            }
            node.content = .object([])
            members.append((key.stringValue, child))
            node.content = .object(members)
        }

        mutating func encodeNil(forKey key: Key) { put(Node(.null), key) }

        mutating func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
            put(try ValueEncoder.node(value, codingPath + [key]), key)
        }

        mutating func nestedContainer<NestedKey: CodingKey>(keyedBy type: NestedKey.Type, forKey key: Key)
            -> KeyedEncodingContainer<NestedKey>
        {
            inner(key).container(keyedBy: type)
        }

        mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
            inner(key).unkeyedContainer()
        }

        mutating func superEncoder() -> any Encoder { inner("super".codingKey) }
        mutating func superEncoder(forKey key: Key) -> any Encoder { inner(key) }

        private func inner(_ key: any CodingKey) -> ValueEncoder {
            let child = Node()
            put(child, key)
            return ValueEncoder(node: child, codingPath: codingPath + [key])
        }
    }

    private struct Unkeyed: UnkeyedEncodingContainer {
        let node: Node
        let codingPath: [any CodingKey]

        var count: Int {
            if case .array(let nodes) = node.content { nodes.count } else { 0 }
        }

        private func put(_ child: Node) {
            guard case .array(var nodes) = node.content else {
                node.content = .array([child])
                return
            }
            node.content = .array([])
            nodes.append(child)
            node.content = .array(nodes)
        }

        mutating func encodeNil() { put(Node(.null)) }
        mutating func encode<T: Encodable>(_ value: T) throws { put(try ValueEncoder.node(value, codingPath)) }

        mutating func nestedContainer<NestedKey: CodingKey>(keyedBy type: NestedKey.Type)
            -> KeyedEncodingContainer<NestedKey>
        {
            inner().container(keyedBy: type)
        }

        mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { inner().unkeyedContainer() }
        mutating func superEncoder() -> any Encoder { inner() }

        private func inner() -> ValueEncoder {
            let child = Node()
            put(child)
            return ValueEncoder(node: child, codingPath: codingPath)
        }
    }

    private struct Single: SingleValueEncodingContainer {
        let node: Node
        let codingPath: [any CodingKey]

        private func put(_ value: JSONValue) { node.content = .value(value) }

        mutating func encodeNil() { put(.null) }
        mutating func encode(_ value: Bool) { put(.bool(value)) }
        mutating func encode(_ value: String) { put(.string(value)) }
        mutating func encode(_ value: Double) { put(Self.number(value)) }
        mutating func encode(_ value: Float) { put(Self.number(Double(value))) }

        mutating func encode<T: Encodable>(_ value: T) throws {
            node.content = try ValueEncoder.node(value, codingPath).content
        }

        /// Encodes NaN and infinity as `null`, as in JavaScript.
        private static func number(_ value: Double) -> JSONValue { value.isFinite ? .number(value) : .null }

        /// Rejects integers that a double can't represent exactly: all numbers of Parse are doubles.
        mutating func encode<T: Encodable & BinaryInteger>(_ value: T) throws {
            guard let number = Double(exactly: value) else {
                throw EncodingError.invalidValue(
                    value,
                    EncodingError.Context(
                        codingPath: codingPath, debugDescription: "\(value) can't be represented exactly as a double"))
            }
            put(.number(number))
        }
    }
}
