import JSON
import ParseModel
import Postgres

/// Compiles operators that define variables or select among expressions.
extension AggregateExpressions {
    /// Compiles an operator that defines variables or selects among expressions. Returns nil for other operators.
    mutating func scope(_ name: String, _ operand: JSONValue, _ document: AggregateDocument) throws(ParseError)
        -> String?
    {
        switch name {
        case "$map": try map(operand, document)
        case "$filter": try filter(operand, document)
        case "$reduce": try reduce(operand, document)
        case "$let": try bound(operand, document)
        case "$switch": try branches(operand, document)
        default: nil
        }
    }

    /// Compiles a variable such as `$$item.name`, given without its dollar signs. Throws 102 for an undefined variable.
    mutating func variable(_ reference: String, _ document: AggregateDocument) throws(ParseError) -> String {
        let dot = reference.firstIndex(of: ".")
        let name = dot.map { String(reference[..<$0]) } ?? reference
        let rest = dot.map { String(reference[reference.index(after: $0)...]) }
        if name == "ROOT" || name == "CURRENT" {
            if let rest { return try builder.field(rest, document) }
            switch document {
            case .row(let schema): return AggregateRow.document(schema)
            case .json(let document): return document
            }
        }
        let value: String? =
            switch name {
            case "NOW": builder.literal(ParseDate(milliseconds: now).json)
            case "REMOVE": "NULL::jsonb"
            default: variables[Name(name)]
            }
        guard let value else {
            throw ParseError(ParseError.invalidQuery, "Use of undefined variable: \(name)")
        }
        return try rest.map { rest throws(ParseError) in try builder.field(rest, .json(value)) } ?? value
    }

    /// Compiles `$map`: the result of an expression for each element, or null if the list is missing or null.
    private mutating func map(_ operand: JSONValue, _ document: AggregateDocument) throws(ParseError) -> String {
        let members = try AggregateOperand.members(of: operand, "$map", ["input", "as", "in"])
        guard let input = members["input"], let result = members["in"] else { throw AggregateOperand.malformed("$map") }
        return try elements("$map", input, members, document) { compiler, _ throws(ParseError) in
            (try compiler.expression(result, document), "")
        }
    }

    /// Compiles `$filter`: the elements that meet a condition, or null if the list is missing or null.
    private mutating func filter(_ operand: JSONValue, _ document: AggregateDocument) throws(ParseError) -> String {
        let name = "$filter"
        let members = try AggregateOperand.members(of: operand, name, ["input", "as", "cond", "limit"])
        guard let input = members["input"], let condition = members["cond"] else {
            throw AggregateOperand.malformed(name)
        }
        let found = try elements(name, input, members, document) { compiler, item throws(ParseError) in
            (item, "WHERE \(try compiler.truth(condition, document))")
        }
        guard let given = try AggregateOperand.number("limit", of: members, name) else { return found }
        guard let count = Int64(exactly: given), count > 0 else {
            throw ParseError(ParseError.invalidQuery, "$filter: limit must be a whole number of at least 1")
        }
        return "roost_slice(\(found), '0', to_jsonb(\(builder.bind(.int(count)))))"
    }

    /// Compiles a list with a value for each element of another list. In the expressions that `body` compiles, the current
    /// element is a variable.
    ///
    /// - Parameter body: Returns the value and a WHERE clause, given the column of the current element.
    private mutating func elements(
        _ name: String, _ input: JSONValue, _ members: JSONObject, _ document: AggregateDocument,
        _ body: (inout AggregateExpressions, _ item: String) throws(ParseError) -> (value: String, condition: String)
    ) throws(ParseError) -> String {
        let variable = Name(try AggregateOperand.text("as", of: members, name) ?? "this")
        try AggregateNames.checkVariable(variable)
        let list = try expression(input, document)
        let (all, item, place) = (uniqueName("list"), uniqueName("item"), uniqueName("index"))
        let outer = variables
        defer { variables = outer }
        variables[variable] = item
        let (value, condition) = try body(&self, item)
        var results = "jsonb_array_elements(\(all)) WITH ORDINALITY AS _items(\(item), \(place)) \(condition)"
        var aggregate = "COALESCE(jsonb_agg(\(item) ORDER BY \(place)), '[]')"
        if value != item {
            let result = uniqueName("result")
            results = "(SELECT \(value) AS \(result), \(place) FROM \(results) OFFSET 0) AS _results"
            aggregate = AggregateRow.list("jsonb_agg(\(result) ORDER BY \(place))", of: result)
        }
        return "(SELECT CASE WHEN \(all) IS NULL THEN 'null'::jsonb ELSE (SELECT \(aggregate) FROM \(results)) "
            + "END FROM (SELECT roost_list(\(list), '\(name)', true) AS \(all) OFFSET 0) AS _list)"
    }

    /// Compiles `$reduce`: the result of applying an expression to each element and the previous result, or null if the
    /// list is missing or null.
    private mutating func reduce(_ operand: JSONValue, _ document: AggregateDocument) throws(ParseError) -> String {
        let members = try AggregateOperand.members(of: operand, "$reduce", ["input", "initialValue", "in"])
        guard let input = members["input"], let first = members["initialValue"], let result = members["in"] else {
            throw AggregateOperand.malformed("$reduce")
        }
        let (list, initial) = (try expression(input, document), try expression(first, document))
        let (all, value, place, steps) = (
            uniqueName("list"), uniqueName("value"), uniqueName("index"), uniqueName("steps")
        )
        let outer = variables
        defer { variables = outer }
        variables["value"] = value
        variables["this"] = "(\(all) -> \(place))"
        let next = try expression(result, document)
        // The concatenation makes PostgreSQL fetch the list from its table once instead of for each element.
        return "(SELECT CASE WHEN \(all) IS NULL THEN 'null'::jsonb ELSE (WITH RECURSIVE \(steps)(\(value), \(place)) "
            + "AS (SELECT \(initial), 0 UNION ALL SELECT roost_bounded(\(next)), \(place) + 1 FROM \(steps) "
            + "WHERE \(place) < jsonb_array_length(\(all))) SELECT \(value) FROM \(steps) ORDER BY \(place) DESC "
            + "LIMIT 1) END FROM (SELECT roost_list(\(list), '$reduce', true) || '[]'::jsonb AS \(all) OFFSET 0) AS _list)"
    }

    /// Compiles `$let`: an expression with variables, each computed once.
    private mutating func bound(_ operand: JSONValue, _ document: AggregateDocument) throws(ParseError) -> String {
        let members = try AggregateOperand.members(of: operand, "$let", ["vars", "in"])
        guard let given = members["vars"]?.objectValue, let result = members["in"] else {
            throw AggregateOperand.malformed("$let")
        }
        var columns: [String] = []
        var inner = variables
        for (name, value) in given {
            try AggregateNames.checkVariable(name)
            let column = uniqueName("variable")
            columns.append("\(try expression(value, document)) AS \(column)")
            inner[name] = column
        }
        guard !columns.isEmpty else { return try expression(result, document) }
        let outer = variables
        defer { variables = outer }
        variables = inner
        let value = try expression(result, document)
        return "(SELECT \(value) FROM (SELECT \(columns.joined(separator: ", ")) OFFSET 0) AS _let)"
    }

    /// Compiles `$switch`: the expression of the first condition that is true, or else the default.
    private mutating func branches(_ operand: JSONValue, _ document: AggregateDocument) throws(ParseError) -> String {
        let name = "$switch"
        let members = try AggregateOperand.members(of: operand, name, ["branches", "default"])
        guard let list = members["branches"]?.arrayValue, !list.isEmpty else {
            throw ParseError(ParseError.invalidQuery, "$switch requires at least one branch")
        }
        var parts: [String] = []
        for branch in list {
            let branch = try AggregateOperand.members(of: branch, name, ["case", "then"])
            guard let test = branch["case"], let result = branch["then"] else { throw AggregateOperand.malformed(name) }
            parts.append("WHEN \(try truth(test, document)) THEN \(try expression(result, document))")
        }
        let otherwise = try members["default"].map { value throws(ParseError) in try expression(value, document) }
        return "CASE \(parts.joined(separator: " ")) ELSE \(otherwise ?? "roost_unmatched()") END"
    }
}
