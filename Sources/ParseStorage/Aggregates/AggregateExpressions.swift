import JSON
import ParseModel
import Postgres

extension AggregateCompiler {
    /// An expression of a pipeline as a jsonb expression of SQL; NULL for a field that is missing.
    mutating func expression(_ value: JSONValue, _ document: AggregateDocument) throws(ParseError) -> String {
        switch value {
        case .string(let text) where text == "$$ROOT":
            switch document {
            case .row(let schema): return self.document(schema)
            case .json(let document): return document
            }
        case .string(let text) where text.hasPrefix("$"): return try field(String(text.dropFirst()), document)
        case .array(let list):
            var items: [String] = []
            for item in list { items.append(try expression(item, document)) }
            return AggregateOperators.list(items)
        case .object(let object):
            if object["__type"] != nil { return literal(value) }
            if object.count == 1, let (name, operand) = object.elements.first.map({ ($0.key, $0.value) }),
                name.hasPrefix("$")
            {
                return try operation(name.text, operand, document)
            }
            var members: [(String, String)] = []
            for (key, member) in object {
                guard !key.hasPrefix("$") else { throw Self.malformed(key.text) }
                let name = builder.bind(.text(try Self.checked(key.text)))
                members.append(("\(name)::text", try expression(member, document)))
            }
            return members.isEmpty ? "'{}'::jsonb" : "(\(Self.object(members)))"
        default: return literal(value)
        }
    }

    /// An expression as a number of SQL, double precision; NULL for what is none.
    mutating func number(_ value: JSONValue, _ document: AggregateDocument) throws(ParseError) -> String {
        if let column = Self.column(value, document), column.type == .number { return column.name }
        if let number = value.numberValue { return "\(builder.bind(.double(number)))::double precision" }
        return "roost_number(\(try expression(value, document)))"
    }

    /// An expression as a time of SQL, in UTC and exact to the millisecond, as dates travel; NULL for what is none.
    mutating func time(_ value: JSONValue, _ document: AggregateDocument) throws(ParseError) -> String {
        if let column = Self.column(value, document), column.type == .date {
            return "date_trunc('milliseconds', \(column.name) AT TIME ZONE 'UTC')"
        }
        return "roost_time(\(try expression(value, document)))"
    }

    private mutating func literal(_ value: JSONValue) -> String {
        FilterCompiler.bytes(value).map { builder.bind(json: $0) } ?? "NULL::jsonb"
    }

    /// The dates of which a group's id, an object, takes parts.
    mutating func dates(of id: JSONValue, _ document: AggregateDocument) throws(ParseError) -> [String] {
        var dates: [String] = []
        for (_, member) in id.objectValue ?? [:] {
            guard let operation = member.objectValue, operation.count == 1, let (name, date) = operation.elements.first,
                AggregateOperators.dateParts[name] != nil
            else { continue }
            dates.append(try expression(date, document))
        }
        return dates
    }

    private mutating func operation(_ name: String, _ operand: JSONValue, _ document: AggregateDocument)
        throws(ParseError) -> String
    {
        if name == "$literal" { return literal(operand) }
        let operands = operand.arrayValue ?? [operand]
        guard let first = operands.first else { throw Self.malformed(name) }
        if let part = AggregateOperators.dateParts[name] { return "to_jsonb(\(part(try time(first, document))))" }
        if let calculation = AggregateOperators.calculations[name] {
            var numbers: [String] = []
            for operand in operands { numbers.append(try number(operand, document)) }
            guard let result = calculation(numbers) else { throw AggregateOperators.unknown(name) }
            return "roost_json(\(result))"
        }
        // Its members are compiled once: expressions inside expressions would double with every level.
        if name == "$cond", operand["if"] != nil { return try condition(operand, [], document) }
        if name == "$dateToString" { return try dateText(operand, document) }
        var arguments: [String] = []
        for operand in operands { arguments.append(try expression(operand, document)) }
        switch name {
        case "$ifNull" where arguments.count == 2: return "COALESCE(NULLIF(\(arguments[0]), 'null'), \(arguments[1]))"
        case "$cond": return try condition(operand, arguments, document)
        default: break
        }
        return try AggregateOperators.result(of: name, arguments)
    }

    private mutating func condition(_ operand: JSONValue, _ arguments: [String], _ document: AggregateDocument)
        throws(ParseError)
        -> String
    {
        var parts = arguments
        if let test = operand["if"], let yes = operand["then"], let no = operand["else"] {
            parts = [try expression(test, document), try expression(yes, document), try expression(no, document)]
        }
        guard parts.count == 3 else { throw Self.malformed("$cond") }
        return "CASE WHEN roost_truth(\(parts[0])) THEN \(parts[1]) ELSE \(parts[2]) END"
    }
}
