import JSON
import ParseModel
import Postgres

/// Compiles type conversions, and text operators with named operands.
extension AggregateExpressions {
    private static let conversions: [Name: String] = [
        "$toString": "string", "$toInt": "int", "$toLong": "long", "$toDouble": "double", "$toDecimal": "decimal",
        "$toBool": "bool", "$toDate": "date", "$toObjectId": "objectId",
    ]
    /// The types of `$convert` by their BSON numbers.
    private static let types: [Double: String] = [
        1: "double", 2: "string", 7: "objectId", 8: "bool", 9: "date", 16: "int", 18: "long", 19: "decimal",
    ]
    private static let whitespace: JSONValue =
        " \t\n\u{0B}\u{0C}\r\u{A0}\u{1680}\u{2000}\u{2001}\u{2002}\u{2003}\u{2004}\u{2005}\u{2006}\u{2007}\u{2008}\u{2009}\u{200A}"

    /// Compiles a conversion or a text operator. Returns nil for other operators.
    mutating func conversion(_ name: String, _ operand: JSONValue, _ document: AggregateDocument) throws(ParseError)
        -> String?
    {
        if let type = Self.conversions[Name(name)] {
            let operands = operand.arrayValue ?? [operand]
            guard operands.count == 1 else { throw AggregateOperand.malformed(name) }
            return "roost_convert(\(try expression(operands[0], document)), '\(type)')"
        }
        switch name {
        case "$convert": return try convert(operand, document)
        case "$replaceOne", "$replaceAll":
            let values = try arguments(of: operand, name, ["input", "find", "replacement"], document)
            return "roost_replaced(\(values.joined(separator: ", ")), '\(name)')"
        case "$trim", "$ltrim", "$rtrim":
            let members = try AggregateOperand.members(of: operand, name, ["input", "chars"])
            guard let input = members["input"] else { throw AggregateOperand.malformed(name) }
            let characters = try members["chars"].map { value throws(ParseError) in try expression(value, document) }
            let text = try expression(input, document)
            return "roost_trimmed(\(text), \(characters ?? builder.literal(Self.whitespace)), '\(name)')"
        case "$regexMatch": return try regexMatch(operand, document)
        default: return nil
        }
    }

    private mutating func arguments(
        of operand: JSONValue, _ name: String, _ wanted: [Name], _ document: AggregateDocument
    ) throws(ParseError) -> [String] {
        let members = try AggregateOperand.members(of: operand, name, Set(wanted))
        return try wanted.map { member throws(ParseError) in
            guard let value = members[member] else {
                throw ParseError(ParseError.invalidQuery, "Missing '\(member)' parameter to \(name)")
            }
            return try expression(value, document)
        }
    }

    private mutating func convert(_ operand: JSONValue, _ document: AggregateDocument) throws(ParseError) -> String {
        let members = try AggregateOperand.members(of: operand, "$convert", ["input", "to", "onError", "onNull"])
        guard let input = members["input"], let to = members["to"] else { throw AggregateOperand.malformed("$convert") }
        guard let type = to.numberValue.flatMap({ Self.types[$0] }) ?? to.stringValue,
            Self.conversions.values.contains(type)
        else { throw ParseError(ParseError.invalidQuery, "$convert: unknown type name: \(to.stringValue ?? to.text)") }
        return try attempt(
            input, members["onNull"], members["onError"], document, "roost_converted", "'\(type)'", failure: type)
    }

    /// Calls an SQL function, with alternative results for a missing or null input and for a NULL result.
    ///
    /// - Parameter failure: The type named in the error for a NULL result without `onError`.
    mutating func attempt(
        _ input: JSONValue, _ onNull: JSONValue?, _ onError: JSONValue?, _ document: AggregateDocument,
        _ function: String, _ parameters: String, failure: String
    ) throws(ParseError) -> String {
        let (value, result) = (uniqueName("value"), uniqueName("result"))
        let otherwise =
            try onError.map { other throws(ParseError) in try expression(other, document) }
            ?? "roost_failed(\(value), '\(failure)')"
        let null = try onNull.map { other throws(ParseError) in try expression(other, document) } ?? "'null'::jsonb"
        return "(SELECT CASE WHEN COALESCE(\(value), 'null') = 'null' THEN \(null) "
            + "WHEN \(result) IS NULL THEN \(otherwise) ELSE \(result) END FROM (SELECT \(value), CASE WHEN "
            + "COALESCE(\(value), 'null') <> 'null' THEN \(function)(\(value), \(parameters)) END AS \(result) "
            + "FROM (SELECT \(try expression(input, document)) AS \(value) OFFSET 0) AS _value OFFSET 0) AS _result)"
    }

    private mutating func regexMatch(_ operand: JSONValue, _ document: AggregateDocument) throws(ParseError) -> String {
        let members = try AggregateOperand.members(of: operand, "$regexMatch", ["input", "regex", "options"])
        guard let input = members["input"], let regex = members["regex"] else {
            throw AggregateOperand.malformed("$regexMatch")
        }
        let object = regex.objectValue ?? ["$regex": regex]
        let options = members["options"] ?? object["$options"] ?? ""
        guard object.keys.allSatisfy({ $0 == "$regex" || $0 == "$options" }),
            let pattern = object["$regex"]?.stringValue, let flags = options.stringValue,
            !pattern.hasPrefix("$"), flags.allSatisfy({ "imxsu".contains($0) }), !pattern.utf8.contains(0)
        else {
            throw ParseError(
                ParseError.invalidQuery, "$regexMatch: regex must be a constant, and options only i, m, x, s, u")
        }
        try RegexPattern.checkLength(pattern)
        let translated = builder.bind(.text(try RegexPattern.postgres(pattern, options: flags)))
        let text = "roost_string(\(try expression(input, document)), '$regexMatch')"
        return "to_jsonb(COALESCE(\(text) ~ \(translated), FALSE))"
    }
}
