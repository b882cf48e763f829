import JSON

extension TestAnswer {
    /// The objects of a find's answer; empty when there are none.
    public var results: [JSONValue] { self["results"]?.arrayValue ?? [] }

    /// The number of the error that was answered.
    public var code: Int? { self["code"]?.numberValue.map { Int($0) } }

    /// The text of the error that was answered.
    public var error: String? { self["error"]?.stringValue }

    /// The body as text, for the message of a failed expectation.
    public var text: String { String(decoding: bytes, as: UTF8.self) }

    /// The answer itself when the status is 200 to 299.
    ///
    /// - Throws: `UnexpectedAnswer` for any other status.
    public func succeeded() throws -> TestAnswer {
        guard (200..<300).contains(status) else { throw UnexpectedAnswer(answer: self) }
        return self
    }

    /// A string member of the body.
    ///
    /// - Throws: `UnexpectedAnswer` when there is none.
    public func string(_ key: String) throws -> String {
        guard let value = self[key]?.stringValue else { throw UnexpectedAnswer(answer: self) }
        return value
    }
}

extension JSONValue {
    /// A pointer to an object.
    public static func pointer(_ className: String, _ id: String) -> JSONValue {
        ["__type": "Pointer", "className": .string(className), "objectId": .string(id)]
    }

    /// An operation on a field that takes a list of objects, such as `Add`.
    public static func operation(_ name: String, _ objects: [JSONValue]) -> JSONValue {
        ["__op": .string(name), "objects": .array(objects)]
    }

    /// An operation that adds to a number.
    public static func increment(_ amount: Double) -> JSONValue {
        ["__op": "Increment", "amount": .number(amount)]
    }

    /// An object as a client stores a date.
    public static func date(_ text: String) -> JSONValue {
        ["__type": "Date", "iso": .string(text)]
    }
}

/// Whether two values are the same JSON, whatever the order of the members of their objects: no client reads it.
public func same(_ first: JSONValue?, _ second: JSONValue?) -> Bool {
    switch (first, second) {
    case (.array(let first), .array(let second)):
        first.count == second.count && zip(first, second).allSatisfy { same($0, $1) }
    case (.object(let first), .object(let second)):
        first.count == second.count && first.allSatisfy { same($0.value, second[$0.key]) }
    default: first == second
    }
}
