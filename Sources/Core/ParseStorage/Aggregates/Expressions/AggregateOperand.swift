import JSON
import ParseModel

/// Reads the operands of stages and operators. Unknown members are rejected, since ignoring them would return wrong
/// rows.
enum AggregateOperand {
    /// Returns the members of a stage or operator. Throws 102 for unknown members and operands that aren't objects.
    static func members(of operand: JSONValue, _ name: String, _ known: Set<Name>) throws(ParseError) -> JSONObject {
        guard let object = operand.objectValue else { throw malformed(name) }
        if let unknown = object.keys.first(where: { !known.contains($0) }) {
            throw ParseError(ParseError.invalidQuery, "\(name) does not support \(unknown)")
        }
        return object
    }

    /// Returns a string member, or nil if it is missing. Throws 102 for other types.
    static func text(_ member: Name, of members: JSONObject, _ name: String) throws(ParseError) -> String? {
        try read(member, of: members, name, "a string") { $0.stringValue }
    }

    /// Returns a number member, or nil if it is missing. Throws 102 for other types.
    static func number(_ member: Name, of members: JSONObject, _ name: String) throws(ParseError) -> Double? {
        try read(member, of: members, name, "a number") { $0.numberValue }
    }

    /// Returns a Boolean member, or nil if it is missing. Throws 102 for other types.
    static func flag(_ member: Name, of members: JSONObject, _ name: String) throws(ParseError) -> Bool? {
        try read(member, of: members, name, "true or false") { $0.boolValue }
    }

    private static func read<Value>(
        _ member: Name, of members: JSONObject, _ name: String, _ kind: String, _ value: (JSONValue) -> Value?
    ) throws(ParseError) -> Value? {
        guard let given = members[member] else { return nil }
        guard let value = value(given) else {
            throw ParseError(ParseError.invalidQuery, "\(name): \(member) must be \(kind)")
        }
        return value
    }

    static func malformed(_ name: String) -> ParseError {
        ParseError(ParseError.invalidQuery, "Malformed aggregate stage or expression \(name)")
    }

    /// Whether a value is a field, a variable or an operator instead of a constant.
    static func isComputed(_ value: JSONValue) -> Bool {
        value.stringValue?.hasPrefix("$") ?? (`operator`(in: value) != nil)
    }

    /// Returns the operator of an expression such as `{"$eq": […]}` and its operand, or nil for other values.
    static func `operator`(in value: JSONValue) -> (name: Name, operand: JSONValue)? {
        guard let object = value.objectValue, object.count == 1, let (name, operand) = object.elements.first,
            name.hasPrefix("$")
        else { return nil }
        return (name, operand)
    }

    /// Whether a value is a constant without objects. A list of such constants becomes a single parameter.
    static func isConstant(_ value: JSONValue) -> Bool {
        switch value {
        case .null, .bool, .number: true
        case .string(let text): !text.hasPrefix("$")
        case .array(let list): list.allSatisfy(isConstant)
        case .object: false
        }
    }

    /// Whether a value is the same for all documents of a pipeline.
    static func isOuter(_ value: JSONValue) -> Bool {
        switch value {
        case .null, .bool, .number: true
        case .string(let text):
            !text.hasPrefix("$") || text.hasPrefix("$$") && !text.hasPrefix("$$ROOT") && !text.hasPrefix("$$CURRENT")
        case .array(let list): list.allSatisfy(isOuter)
        case .object(let object): object.values.allSatisfy(isOuter)
        }
    }

    /// Converts a constant text that is an ISO date to a date, for a comparison with a date.
    static func dated(_ value: JSONValue) -> JSONValue {
        value.stringValue.flatMap(ParseDate.init(iso:))?.json ?? value
    }
}
