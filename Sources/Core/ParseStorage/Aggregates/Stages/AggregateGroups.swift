import JSON
import ParseModel
import Postgres

/// Compiles `$group` and its accumulators.
extension AggregateCompiler {
    mutating func group(_ operand: JSONValue, _ input: AggregateInput) throws(ParseError) -> String {
        guard let object = operand.objectValue else { throw AggregateOperand.malformed("$group") }
        guard object["objectId"] == nil else {
            throw ParseError(ParseError.invalidQuery, "Cannot use 'objectId' in aggregation stage $group.")
        }
        guard var id = object["_id"] else {
            throw ParseError(ParseError.invalidQuery, "Invalid parameter for query: group. Missing key _id")
        }
        // An empty id puts all documents into one group, like null.
        if id == [:] || id == [] || id == "" { id = .null }
        let key = try groupKey(id, input.document)
        // The dates separate groups without appearing in them.
        let dates = mergesDateParts ? [] : try expressions.dates(of: id, input.document)
        return try groups(by: key, and: dates, object.filter { $0.key != "_id" }, input)
    }

    /// Compiles groups and their accumulators.
    ///
    /// - Parameters:
    ///   - key: The group's value, and its SQL in the document, where the value is called `grouped`.
    ///   - hidden: Further values that separate groups.
    mutating func groups(
        by key: (value: String, displayed: String), and hidden: [String] = [], _ accumulators: JSONObject,
        _ input: AggregateInput
    ) throws(ParseError) -> String {
        var members = [("'objectId'", key.displayed)]
        var columns = ["\(key.value) AS grouped"]
        for (field, accumulator) in accumulators {
            guard !field.text.utf8.contains(UInt8(ascii: ".")) else {
                throw ParseError(ParseError.invalidQuery, "The field name '\(field)' cannot contain '.'")
            }
            let name = expressions.builder.bind(.text(try AggregateNames.checked(field.text)))
            members.append(("\(name)::text", "a\(columns.count)"))
            columns.append("\(try self.accumulator(accumulator, input.document)) AS a\(columns.count)")
        }
        // Grouping loses the order of the documents, so each row gets its position first.
        let isOrdered = columns.contains { $0.contains("ORDER BY \(Self.place)") }
        let positions = "SELECT \(input.everything), row_number() OVER () AS \(Self.place) \(input.source)"
        let from = isOrdered ? input.replaced(by: positions).source : input.source
        let keys = (["1"] + hidden).joined(separator: ", ")
        return "SELECT \(AggregateRow.object(members)) AS doc FROM (SELECT \(columns.joined(separator: ", ")) \(from) "
            + "GROUP BY \(keys)) AS r"
    }

    private static let place = "_roost_place"

    /// Returns the group's value, and its SQL in the document, where the value is called `grouped`.
    ///
    /// A column is converted to JSON once per group instead of once per row.
    private mutating func groupKey(_ id: JSONValue, _ document: AggregateDocument) throws(ParseError)
        -> (value: String, displayed: String)
    {
        if id.isNull { return ("'null'::jsonb", "grouped") }
        if let column = AggregateNames.column(id, document) {
            switch column.type {
            // As in parse-server, pointers are grouped by their column, which contains only the object id.
            case .string, .boolean, .pointer: return (column.name, "to_jsonb(grouped)")
            case .number: return (column.name, AggregateRow.value("grouped", .number))
            case .date: return ("date_trunc('milliseconds', \(column.name))", AggregateRow.value("grouped", .date))
            default: break
            }
        }
        var value = "COALESCE(\(try expressions.expression(id, document)), 'null'::jsonb)"
        if let field = id.stringValue?.dropFirst(), case .pointer = schema.type(of: String(field)) {
            value = "roost_key(\(value))"
        }
        return (value, "grouped")
    }

    private mutating func accumulator(_ operand: JSONValue, _ document: AggregateDocument) throws(ParseError) -> String
    {
        guard let object = operand.objectValue, object.count == 1, let (name, argument) = object.elements.first
        else { throw AggregateOperand.malformed("$group") }
        guard name != "$push", name != "$addToSet", let list = argument.arrayValue else {
            return try accumulation(name, argument, document)
        }
        guard list.count == 1 else {
            throw ParseError(ParseError.invalidQuery, "The \(name) accumulator is a unary operator")
        }
        return try accumulation(name, list[0], document)
    }

    private mutating func accumulation(_ name: Name, _ argument: JSONValue, _ document: AggregateDocument)
        throws(ParseError) -> String
    {
        switch name {
        case "$count":
            guard argument.objectValue?.isEmpty ?? true else { throw AggregateOperand.malformed(name.text) }
            return "to_jsonb(count(*))"
        case "$sum": return "roost_json(COALESCE(sum(\(try expressions.number(argument, document))), 0))"
        case "$avg": return "roost_json(avg(\(try expressions.number(argument, document))))"
        case "$stdDevPop": return "roost_json(stddev_pop(\(try expressions.number(argument, document))))"
        case "$stdDevSamp": return "roost_json(stddev_samp(\(try expressions.number(argument, document))))"
        case "$min", "$max":
            if let column = AggregateNames.column(argument, document), AggregateRow.keepsOrder(column.type),
                column.type != .boolean
            {
                return AggregateRow.value("\(name.text.dropFirst())(\(column.name))", column.type)
            }
            let direction = name == "$min" ? "ASC" : "DESC"
            let value = try expressions.expression(argument, document)
            return "(array_agg(\(value) ORDER BY roost_rank(\(value)) \(direction), \(value) \(direction)) "
                + "FILTER (WHERE \(value) <> 'null'))[1]"
        default: break
        }
        let value = try expressions.expression(argument, document)
        switch name {
        case "$first": return "(array_agg(\(value) ORDER BY \(Self.place)))[1]"
        case "$last": return "(array_agg(\(value) ORDER BY \(Self.place) DESC))[1]"
        case "$push":
            return "COALESCE(jsonb_agg(\(value) ORDER BY \(Self.place)) FILTER (WHERE \(value) IS NOT NULL), '[]')"
        case "$addToSet":
            return "COALESCE(jsonb_agg(DISTINCT \(value)) FILTER (WHERE \(value) IS NOT NULL), '[]')"
        case "$mergeObjects":
            return "roost_merged(COALESCE(jsonb_agg(\(value) ORDER BY \(Self.place)), '[]'))"
        default: throw AggregateOperand.malformed(name.text)
        }
    }
}
