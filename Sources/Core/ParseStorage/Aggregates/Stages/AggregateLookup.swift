import JSON
import ParseModel
import Postgres

struct AggregateLookup {
    let className: String
    /// The field that receives the matching objects.
    let target: String
    /// The fields that must be equal, or nil if only the pipeline selects objects.
    private(set) var fields: (local: String, foreign: String)?
    /// The pipeline's variables, as expressions on the outer document.
    let variables: JSONObject
    let stages: [AggregateStage]

    private static let name = "$lookup"
    private static let known: Set<Name> = ["from", "localField", "foreignField", "let", "pipeline", "as"]
    /// Tables that `$lookup` can't read.
    private static let closed: Set<Name> = ["_SCHEMA", "_Hooks"]

    init(_ operand: JSONValue) throws(ParseError) {
        let members = try AggregateOperand.members(of: operand, Self.name, Self.known)
        guard let className = try AggregateOperand.text("from", of: members, Self.name),
            let target = try AggregateOperand.text("as", of: members, Self.name)
        else { throw ParseError(ParseError.invalidQuery, "$lookup requires from and as") }
        guard !Self.closed.contains(Name(className)), !Names.isJoinName(className) else {
            throw ParseError(ParseError.invalidQuery, "$lookup can't read the internal class \(className)")
        }
        self.className = className
        self.target = target
        let local = try AggregateOperand.text("localField", of: members, Self.name)
        let foreign = try AggregateOperand.text("foreignField", of: members, Self.name)
        guard (local == nil) == (foreign == nil), local != nil || members["pipeline"] != nil else {
            throw ParseError(
                ParseError.invalidQuery, "$lookup requires a pipeline, or both localField and foreignField")
        }
        if let local, let foreign { fields = (local, foreign) }
        guard let list = (members["pipeline"] ?? []).arrayValue else {
            throw ParseError(ParseError.invalidQuery, "$lookup: pipeline must be a list of stages")
        }
        stages = try AggregateStage.list(list)
        guard stages.first?.name != "$geoNear" else {
            throw ParseError(ParseError.invalidQuery, "$geoNear is not supported in a $lookup")
        }
        guard let variables = (members["let"] ?? [:]).objectValue, variables.isEmpty || members["pipeline"] != nil
        else { throw ParseError(ParseError.invalidQuery, "$lookup: let must be an object, and requires a pipeline") }
        for name in variables.keys { try AggregateNames.checkVariable(name) }
        self.variables = variables
    }
}

extension AggregateCompiler {
    /// Compiles a `$lookup` stage.
    ///
    /// - Parameter from: The FROM clause of the input.
    mutating func lookup(_ operand: JSONValue, _ from: String) throws(ParseError) -> String {
        let lookup = try AggregateLookup(operand)
        guard let other = schemas[lookup.className] else {
            // Compile the pipeline anyway, to reject errors in it.
            var trial = self
            _ = try trial.joined(lookup, ClassSchema(name: lookup.className), from)
            return "SELECT roost_set(doc, \(try expressions.builder.newPath(lookup.target)), '[]') AS doc \(from)"
        }
        return try joined(lookup, other, from)
    }

    private mutating func joined(_ lookup: AggregateLookup, _ other: ClassSchema, _ from: String) throws(ParseError)
        -> String
    {
        let outer = expressions.uniqueName("outer")
        // These columns are computed once per document, however often the pipeline uses them.
        var columns = ["doc"]
        var rows = AggregateInput.rows(lookedUp: other)
        if let fields = lookup.fields {
            let keys = expressions.uniqueName("keys")
            let (values, conditions) = try equality(fields, rows.schema ?? other, keys: "\(outer).\(keys)")
            columns.append("\(values) AS \(keys)")
            let source = rows.source
            rows = rows.replaced(
                by: conditions.map { "SELECT * \(source) WHERE \($0)" }.joined(separator: " UNION ALL "))
        }
        var inner = expressions.variables
        for (name, value) in lookup.variables {
            let column = expressions.uniqueName("variable")
            columns.append("\(try expressions.expression(value, .json("doc"))) AS \(column)")
            inner[name] = "\(outer).\(column)"
        }
        let target = try expressions.builder.newPath(lookup.target)
        let found = try pipeline(lookup.stages, rows, of: rows.schema ?? other, inner)
        let list = AggregateRow.list("jsonb_agg(doc)", of: "doc")
        return
            "SELECT roost_put(\(outer).doc, \(target), (SELECT \(list) \(AggregateInput.documents(query: found).source)"
            + ")) AS doc FROM (SELECT \(columns.joined(separator: ", ")) \(from) OFFSET 0) AS \(outer)"
    }

    private mutating func pipeline(
        _ stages: [AggregateStage], _ input: AggregateInput, of other: ClassSchema, _ inner: [Name: String]
    ) throws(ParseError) -> String {
        let outer = (schema, expressions.variables)
        defer { (schema, expressions.variables) = outer }
        (schema, expressions.variables) = (other, inner)
        lookups += 1
        defer { lookups -= 1 }
        try HardLimits.check(lookups, atMost: HardLimits.lookups, "nested lookups")
        return try pipeline(stages, input)
    }

    /// Returns the document's values to look up and the conditions on the other class. If there is a second condition,
    /// it selects rows without the field. Pointers are compared by object id.
    private mutating func equality(_ fields: (local: String, foreign: String), _ other: ClassSchema, keys: String)
        throws(ParseError) -> (values: String, conditions: [String])
    {
        let value = try expressions.builder.field(fields.local, .json("doc"))
        func values(of target: Name?) -> String {
            "roost_keys(\(value), \(target.map { SQL.literal($0.text) } ?? "NULL"))"
        }
        /// Returns a condition on the bare column, so that PostgreSQL can use its index.
        func isText(_ column: String, _ text: String = "key #>> '{}'") -> String {
            "\(column) = ANY(ARRAY(SELECT \(text) FROM unnest(\(keys)) AS k(key) WHERE jsonb_typeof(key) = 'string'))"
        }
        func isMissing(_ column: String) -> String { "\(column) IS NULL AND 'null' = ANY(\(keys))" }
        if let (column, target) = try AggregateNames.storedPointer(fields.foreign, of: other) {
            let id = "roost_stored_id(key, \(SQL.literal(target.text + "$")))"
            return (values(of: nil), [isText(column, id), isMissing(column)])
        }
        switch AggregateNames.column(named: fields.foreign, .row(other)) {
        case (let column, .pointer(let target))?:
            return (values(of: target), [isText(column), isMissing(column)])
        case (let column, .string)? where SystemClass.field(queriedAs: fields.foreign) == "objectId":
            return (values(of: Name(other.name)), [isText(column)])
        case (let column, .string)?: return (values(of: nil), [isText(column), isMissing(column)])
        default:
            let foreign = "roost_keys(\(try expressions.builder.field(fields.foreign, .row(other))), NULL)"
            return (values(of: nil), ["\(foreign) && \(keys)"])
        }
    }
}
