import JSON
import ParseModel
import Postgres

/// Compiles `$dateToString` and time zones.
extension AggregateExpressions {
    /// The SQL of each format specifier. `utc` is the time in UTC, `local` in the requested zone.
    private static let parts: [Character: String] = [
        "Y": "to_char(local, 'YYYY')", "m": "to_char(local, 'MM')", "d": "to_char(local, 'DD')",
        "H": "to_char(local, 'HH24')", "M": "to_char(local, 'MI')", "S": "to_char(local, 'SS')",
        "L": "to_char(local, 'MS')", "j": "to_char(local, 'DDD')", "w": "to_char(local, 'D')",
        "u": "to_char(local, 'ID')", "G": "to_char(local, 'IYYY')", "V": "to_char(local, 'IW')",
        // Weeks begin on Sunday. The days before the first Sunday are week 0.
        "U": "to_char((extract(doy FROM local)::int + 6 - extract(dow FROM local)::int) / 7, 'FM00')",
        "b": "to_char(local, 'Mon')", "B": "to_char(local, 'FMMonth')",
        "z": "concat(CASE WHEN local < utc THEN '-' ELSE '+' END, "
            + "to_char(CASE WHEN local < utc THEN utc - local ELSE local - utc END, 'HH24MI'))",
        "Z": "to_char(extract(epoch FROM local - utc) / 60, 'FMSG9990')",
    ]
    private static let longestFormat = 1024

    /// Compiles `$dateToString`. Throws 102 for an invalid format or offset. PostgreSQL checks zone names.
    mutating func dateText(_ operand: JSONValue, _ document: AggregateDocument) throws(ParseError) -> String {
        let object = try AggregateOperand.members(
            of: operand, "$dateToString", ["date", "format", "timezone", "onNull"])
        guard let date = object["date"] else { throw AggregateOperand.malformed("$dateToString") }
        let zone = try zone(object["timezone"])
        // The default format ends with Z only without a time zone.
        let format = object["format"] ?? (object["timezone"] == nil ? "%Y-%m-%dT%H:%M:%S.%LZ" : "%Y-%m-%dT%H:%M:%S.%L")
        guard let format = format.stringValue, format.utf8.count <= Self.longestFormat else {
            throw ParseError(ParseError.invalidQuery, "$dateToString: 'format' must be a string of at most 1 KB")
        }
        let text = try pieces(of: format).map { "(\($0))" }.joined(separator: " || ")
        let fallback = try object["onNull"].map { value throws(ParseError) in try expression(value, document) }
        // The fallback is outside the subquery, so that it can't refer to the subquery's columns.
        return "COALESCE((SELECT to_jsonb(\(text)) FROM (SELECT utc, \(zone.local("utc")) AS local "
            + "FROM (SELECT \(try time(date, document)) AS utc OFFSET 0) AS _roost_time) AS _roost_time "
            + "WHERE utc IS NOT NULL), \(fallback ?? "'null'"))"
    }

    /// Returns the time for a date-part operator, whose operand is a date, alone or in a list, or `{date, timezone}`.
    mutating func partedTime(_ operand: JSONValue, _ name: String, _ document: AggregateDocument) throws(ParseError)
        -> String
    {
        if let list = operand.arrayValue {
            guard list.count == 1 else { throw AggregateOperand.malformed(name) }
            return try time(list[0], document)
        }
        guard let object = operand.objectValue, object["__type"] == nil,
            !object.keys.contains(where: { $0.hasPrefix("$") })
        else { return try time(operand, document) }
        let members = try AggregateOperand.members(of: operand, name, ["date", "timezone"])
        guard let date = members["date"] else { throw AggregateOperand.malformed(name) }
        let local = try zone(members["timezone"]).local("utc")
        return "(SELECT \(local) FROM (SELECT \(try time(date, document)) AS utc OFFSET 0) AS _roost_time)"
    }

    private mutating func pieces(of format: String) throws(ParseError) -> [String] {
        var pieces: [String] = []
        var literal = ""
        var characters = format.makeIterator()
        while let character = characters.next() {
            guard character == "%" else {
                literal.append(character)
                continue
            }
            let specifier = characters.next()
            if specifier == "%" {
                literal.append("%")
                continue
            }
            guard let specifier, let part = Self.parts[specifier] else {
                throw ParseError(
                    ParseError.invalidQuery,
                    "Invalid format character '%\(specifier.map(String.init) ?? "")' in format string")
            }
            if !literal.isEmpty { pieces.append("\(builder.bind(.text(literal)))::text") }
            literal = ""
            pieces.append(part)
        }
        if !literal.isEmpty || pieces.isEmpty { pieces.append("\(builder.bind(.text(literal)))::text") }
        return pieces
    }

    /// A time zone that converts SQL times.
    struct Zone {
        /// The zone's name or its offset in minutes, as an SQL text, or NULL for UTC.
        var name = "NULL"
        /// Converts a UTC time to local time.
        var local: (_ utc: String) -> String = { $0 }
        /// Converts a local time to UTC.
        var utc: (_ local: String) -> String = { $0 }
    }

    /// Reads an offset (`+05:30`) or a zone name, which PostgreSQL checks. Nil means UTC. Throws 102 for other values.
    mutating func zone(_ given: JSONValue?) throws(ParseError) -> Zone {
        let zone = given ?? "UTC"
        let unknown = ParseError(
            ParseError.invalidQuery, "unrecognized time zone identifier: \"\(zone.stringValue ?? zone.text)\"")
        guard let name = zone.stringValue, name.utf8.count <= 64, !name.utf8.contains(0) else { throw unknown }
        if name == "UTC" || name == "GMT" || name == "Z" { return Zone() }
        if let sign = name.utf8.first, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") {
            let digits = name.utf8.dropFirst().filter { $0 != UInt8(ascii: ":") }
            guard digits.count == 2 || digits.count == 4, digits.allSatisfy({ (48...57).contains($0) }),
                let number = Int(String(decoding: digits, as: UTF8.self))
            else { throw unknown }
            let minutes = digits.count == 2 ? number * 60 : number / 100 * 60 + number % 100
            guard number % 100 < 60 || digits.count == 2, minutes < 24 * 60 else { throw unknown }
            let offset = "\(builder.bind(.int(Int64(sign == UInt8(ascii: "-") ? -minutes : minutes))))::int"
            return Zone(
                name: "\(offset)::text", local: { "(\($0) + make_interval(mins => \(offset)))" },
                utc: { "(\($0) - make_interval(mins => \(offset)))" })
        }
        // Looking up a zone is slow, because PostgreSQL reads all its zones. A subquery runs only once per statement.
        let known = "(SELECT roost_zone(\(builder.bind(.text(name)))))"
        return Zone(
            name: known, local: { "(\($0) AT TIME ZONE 'UTC' AT TIME ZONE \(known))" },
            utc: { "(\($0) AT TIME ZONE \(known) AT TIME ZONE 'UTC')" })
    }
}
