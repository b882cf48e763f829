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
        // Each row gets the values of lists, to compute them only once, and its position, if the order matters.
        var inputs = [input.everything]
        let parsed = try accumulators.map { field, operand throws(ParseError) in
            (field, try Self.accumulator(operand))
        }
        let lists = parsed.count { Self.listAccumulators.contains($0.1.name) }
        for (field, accumulator) in parsed {
            guard !field.text.utf8.contains(UInt8(ascii: ".")) else {
                throw ParseError(ParseError.invalidQuery, "The field name '\(field)' cannot contain '.'")
            }
            let name = expressions.builder.bind(.text(try AggregateNames.checked(field.text)))
            members.append(("\(name)::text", "a\(columns.count)"))
            var value = try accumulation(accumulator.name, accumulator.argument, input.document)
            if Self.listAccumulators.contains(accumulator.name) {
                let column = "_roost_operand\(columns.count)"
                inputs.append("\(value) AS \(column)")
                value = Self.list(accumulator.name, column, lists)
            }
            columns.append("\(value) AS a\(columns.count)")
        }
        if columns.contains(where: { $0.contains(Self.place) }) {
            inputs.append("row_number() OVER () AS \(Self.place)")
        }
        let rows = input.replaced(by: "SELECT \(inputs.joined(separator: ", ")) \(input.source)")
        let keys = (["1"] + hidden).joined(separator: ", ")
        return "SELECT \(AggregateRow.object(members)) AS doc FROM (SELECT \(columns.joined(separator: ", ")) "
            + "\((inputs.count > 1 ? rows : input).source) GROUP BY \(keys)) AS r"
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

    private static func accumulator(_ operand: JSONValue) throws(ParseError) -> (name: Name, argument: JSONValue) {
        guard let object = operand.objectValue, object.count == 1, let (name, argument) = object.elements.first
        else { throw AggregateOperand.malformed("$group") }
        guard name != "$push", name != "$addToSet", let list = argument.arrayValue else { return (name, argument) }
        guard list.count == 1 else {
            throw ParseError(ParseError.invalidQuery, "The \(name) accumulator is a unary operator")
        }
        return (name, list[0])
    }

    /// The accumulators whose results grow with the number of rows.
    private static let listAccumulators: Set<Name> = ["$push", "$addToSet", "$mergeObjects"]

    private static func list(_ name: Name, _ column: String, _ lists: Int) -> String {
        let isPresent = "FILTER (WHERE \(column) IS NOT NULL)"
        return switch name {
        case "$push":
            AggregateRow.list("jsonb_agg(\(column) ORDER BY \(place)) \(isPresent)", of: column, amongLists: lists)
        case "$addToSet":
            AggregateRow.list(
                "jsonb_agg(DISTINCT \(column)) \(isPresent)", of: "DISTINCT \(column)", amongLists: lists)
        default: "roost_merged(\(column), \(AggregateRow.listBytes / lists) ORDER BY \(place))"
        }
    }

    /// Compiles an accumulator or, if its result is a list or merged, its operand.
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
        default: break
        }
        if name == "$min" || name == "$max", let column = AggregateNames.column(argument, document),
            AggregateRow.keepsOrder(column.type), column.type != .boolean
        {
            return AggregateRow.value("\(name.text.dropFirst())(\(column.name))", column.type)
        }
        let value = try expressions.expression(argument, document)
        // The extreme of pairs keeps one value in memory. Sorting all in an aggregate would keep each.
        func extreme(_ function: String, by key: String) -> String {
            "\(function)(ARRAY[to_jsonb(\(key)), \(value)])"
        }
        switch name {
        case "$first": return "(\(extreme("min", by: Self.place)))[2]"
        case "$last": return "(\(extreme("max", by: Self.place)))[2]"
        case "$min", "$max":
            let found = extreme(String(name.text.dropFirst()), by: "roost_rank(\(value))")
            return "(\(found) FILTER (WHERE \(value) <> 'null'))[2]"
        case _ where Self.listAccumulators.contains(name): return value
        default: throw AggregateOperand.malformed(name.text)
        }
    }
}
