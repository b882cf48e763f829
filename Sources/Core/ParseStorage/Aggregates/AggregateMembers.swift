import JSON
import ParseModel

/// Reads the members of stages and operators. Unknown members are rejected, since ignoring them would return wrong
/// rows.
extension AggregateCompiler {
    /// Returns the members of a stage or operator. Throws 102 for unknown members and operands that aren't objects.
    static func members(of operand: JSONValue, _ name: String, _ known: Set<Name>) throws(ParseError) -> JSONObject {
        guard let object = operand.objectValue else { throw malformed(name) }
        if let unknown = object.keys.first(where: { !known.contains($0) }) {
            throw ParseError(ParseError.invalidQuery, "\(name) does not support \(unknown)")
        }
        return object
    }

    /// Returns a text member, or nil if it is missing. Throws 102 for other types.
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
}
