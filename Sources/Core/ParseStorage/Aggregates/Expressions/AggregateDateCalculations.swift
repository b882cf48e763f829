import JSON
import ParseModel
import Postgres

/// Compiles date operators with named operands, such as `$dateAdd` and `$dateDiff`.
extension AggregateExpressions {
    private static let units: Set<String> = [
        "year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond",
    ]
    private static let days = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]

    /// Compiles a date operator with named operands. Returns nil for other operators.
    mutating func dateCalculation(_ name: String, _ operand: JSONValue, _ document: AggregateDocument)
        throws(ParseError) -> String?
    {
        switch name {
        case "$dateToString": return try dateText(operand, document)
        case "$dateFromString": return try dateFromText(operand, document)
        case "$dateTrunc":
            let members = try AggregateOperand.members(
                of: operand, name, ["date", "unit", "binSize", "timezone", "startOfWeek"])
            let size = try AggregateOperand.number("binSize", of: members, name) ?? 1
            guard let size = Int32(exactly: size), size > 0 else {
                throw ParseError(ParseError.invalidQuery, "$dateTrunc: binSize must be a whole number of at least 1")
            }
            let zone = try zone(members["timezone"])
            let (unit, day) = (try unit(of: members, name), try firstDay(of: members, name))
            let length = builder.bind(.int(Int64(size)))
            let start = "roost_truncated(\(zone.local("utc")), \(unit), \(length)::int, \(day))"
            return try dates(["date"], of: members, name, document, "roost_date(\(zone.utc(start)))")
        case "$dateAdd", "$dateSubtract":
            let members = try AggregateOperand.members(of: operand, name, ["startDate", "unit", "amount", "timezone"])
            guard let amount = members["amount"] else { throw AggregateOperand.malformed(name) }
            let zone = try zone(members["timezone"])
            let unit = try unit(of: members, name)
            let sign = name == "$dateAdd" ? "" : "-"
            // An hour has a fixed length. A day ends at the same local time, even if daylight saving changes.
            let isExact = ["hour", "minute", "second", "millisecond"].contains(members["unit"]?.stringValue ?? "")
            let sum = "roost_later(\(isExact ? "utc" : zone.local("utc")), \(unit), \(sign)amount)"
            return try dates(
                ["startDate"], of: members, name, document, "roost_date(\(isExact ? sum : zone.utc(sum)))",
                more: ", \(try number(amount, document)) AS amount")
        case "$dateDiff":
            let members = try AggregateOperand.members(
                of: operand, name, ["startDate", "endDate", "unit", "timezone", "startOfWeek"])
            let zone = try zone(members["timezone"])
            let (unit, day) = (try unit(of: members, name), try firstDay(of: members, name))
            let difference = "roost_borders(\(zone.local("utc")), \(zone.local("past")), \(unit), \(day))"
            return try dates(["startDate", "endDate"], of: members, name, document, "to_jsonb(\(difference))")
        default: return nil
        }
    }

    /// Compiles `result`, an SQL expression of one or two dates named `utc` and `past`. Invalid dates yield null.
    private mutating func dates(
        _ names: [Name], of members: JSONObject, _ operation: String, _ document: AggregateDocument, _ result: String,
        more: String = ""
    ) throws(ParseError) -> String {
        var columns: [String] = []
        for (name, column) in zip(names, ["utc", "past"]) {
            guard let date = members[name] else {
                throw ParseError(ParseError.invalidQuery, "Missing '\(name)' argument to \(operation)")
            }
            columns.append("\(try time(date, document)) AS \(column)")
        }
        return "COALESCE((SELECT \(result) FROM (SELECT \(columns.joined(separator: ", "))\(more) OFFSET 0) "
            + "AS _roost_time), 'null')"
    }

    private mutating func unit(of members: JSONObject, _ name: String) throws(ParseError) -> String {
        guard let unit = members["unit"]?.stringValue, Self.units.contains(unit) else {
            throw ParseError(
                ParseError.invalidQuery, "\(name): unknown time unit value: \(members["unit"]?.text ?? "missing")")
        }
        return SQL.literal(unit)
    }

    /// Returns the first day of the week, from 1 (Monday) to 7 (Sunday, the default).
    private func firstDay(of members: JSONObject, _ name: String) throws(ParseError) -> Int {
        let given = try AggregateOperand.text("startOfWeek", of: members, name)?.lowercased() ?? "sunday"
        guard let day = Self.days.firstIndex(where: { $0 == given || $0.prefix(3) == given }) else {
            throw ParseError(ParseError.invalidQuery, "\(name): unknown day of week value: \(given)")
        }
        return day + 1
    }

    private mutating func dateFromText(_ operand: JSONValue, _ document: AggregateDocument) throws(ParseError) -> String
    {
        let name = "$dateFromString"
        let members = try AggregateOperand.members(
            of: operand, name, ["dateString", "format", "timezone", "onError", "onNull"])
        guard let input = members["dateString"] else {
            throw ParseError(ParseError.invalidQuery, "Missing 'dateString' parameter to \(name)")
        }
        var (pattern, letters) = ("NULL", "")
        if let format = try AggregateOperand.text("format", of: members, name) {
            let read = try Self.pattern(of: format)
            pattern = builder.bind(.text(read.pattern))
            letters = read.letters
        }
        let zone = try zone(members["timezone"]).name
        return try attempt(
            input, members["onNull"], members["onError"], document, "roost_parsed",
            "\(pattern)::text, \(SQL.literal(letters)), \(zone)", failure: "date")
    }

    /// The regular expression of each format specifier of `$dateFromString`.
    private static let patterns: [Character: String] = [
        "Y": "([0-9]{4})", "m": "([0-9]{1,2})", "d": "([0-9]{1,2})", "H": "([0-9]{1,2})", "M": "([0-9]{1,2})",
        "S": "([0-9]{1,2})", "L": "([0-9]{1,3})", "z": "(Z|[+-][0-9]{2}:?[0-9]{2})", "j": "([0-9]{1,3})",
    ]

    /// Returns a format of `$dateFromString` as a regular expression, and the specifiers of its groups in order.
    private static func pattern(of format: String) throws(ParseError) -> (pattern: String, letters: String) {
        var (pattern, letters) = ("^", "")
        var characters = format.makeIterator()
        while let character = characters.next() {
            if character == "%", let specifier = characters.next(), specifier != "%" {
                guard let part = patterns[specifier], !letters.contains(specifier) else {
                    throw ParseError(
                        ParseError.invalidQuery, "Invalid format character '%\(specifier)' in format string")
                }
                pattern += part
                letters.append(specifier)
            } else {
                // Regular expressions allow a backslash before any character except letters and digits.
                pattern += character.isLetter || character.isNumber ? "\(character)" : "\\\(character)"
            }
        }
        guard format.utf8.count <= 1024, !format.utf8.contains(0) else {
            throw ParseError(ParseError.invalidQuery, "$dateFromString: format must have at most 1024 bytes and no NUL")
        }
        return (pattern + "$", letters)
    }
}
