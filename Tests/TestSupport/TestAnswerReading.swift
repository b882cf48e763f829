import JSON

extension TestAnswer {
    public var results: [JSONValue] { self["results"]?.arrayValue ?? [] }

    public var code: Int? { self["code"]?.numberValue.map { Int($0) } }

    public var error: String? { self["error"]?.stringValue }

    public var text: String { String(decoding: bytes, as: UTF8.self) }

    public func succeeded() throws -> TestAnswer {
        guard (200..<300).contains(status) else { throw UnexpectedAnswer(answer: self) }
        return self
    }

    public func string(_ key: String) throws -> String {
        guard let value = self[key]?.stringValue else { throw UnexpectedAnswer(answer: self) }
        return value
    }
}

extension JSONValue {
    public static func pointer(_ className: String, _ id: String) -> JSONValue {
        ["__type": "Pointer", "className": .string(className), "objectId": .string(id)]
    }

    public static func operation(_ name: String, _ objects: [JSONValue]) -> JSONValue {
        ["__op": .string(name), "objects": .array(objects)]
    }

    public static func increment(_ amount: Double) -> JSONValue {
        ["__op": "Increment", "amount": .number(amount)]
    }

    /// Returns a date in the format of a `Date` field.
    public static func date(_ text: String) -> JSONValue {
        ["__type": "Date", "iso": .string(text)]
    }
}

/// Returns whether two JSON values are equal, ignoring the order of members.
public func same(_ first: JSONValue?, _ second: JSONValue?) -> Bool {
    switch (first, second) {
    case (.array(let first), .array(let second)):
        first.count == second.count && zip(first, second).allSatisfy { same($0, $1) }
    case (.object(let first), .object(let second)):
        first.count == second.count && first.allSatisfy { same($0.value, second[$0.key]) }
    default: first == second
    }
}
