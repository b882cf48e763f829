import JSON
import ParseModel
import Postgres

/// Compiles an aggregation pipeline into one statement: every stage is a query on that of the one before it.
///
/// Stages read the rows of the class for as long as they can, then documents: jsonb, in the form in which objects travel.
/// They come in any order and number.
struct AggregateCompiler {
    let schemas: SchemaSnapshot
    /// The class of the pipeline, which is another one inside a `$lookup`.
    var schema: ClassSchema
    /// The time that relative dates count from, in milliseconds since 1970.
    let now: Int64
    /// Whether objects whose dates differ, but not in the parts that make a group, are one group.
    let mergesDateParts: Bool
    var builder = SQLBuilder()
    /// The SQL of the variables `$$name`, as jsonb.
    var variables: [Name: String] = [:]
    var uniqueNames = 0
    /// The number of `$lookup` stages around the pipeline.
    var lookups = 0
    private var stageCount = 0
    private var expressionCount = 0
    private var expressionDepth = 0

    init(schemas: SchemaSnapshot, schema: ClassSchema, now: Int64, mergesDateParts: Bool) {
        self.schemas = schemas
        self.schema = schema
        self.now = now
        self.mergesDateParts = mergesDateParts
    }

    /// The statement of a pipeline, which gives one column of documents.
    ///
    /// - Throws: 102 for stages and expressions that do not exist, 105 for names that no field has.
    mutating func compile(_ stages: [AggregateStage]) throws(ParseError) -> Statement {
        var plain = stages
        for (index, stage) in stages.enumerated() { plain[index].operand = try ExtendedJSON.plain(stage.operand) }
        let query = try pipeline(plain, AggregateInput(of: schema))
        return Statement(query, builder.parameters)
    }

    mutating func pipeline(_ stages: [AggregateStage], _ input: AggregateInput) throws(ParseError) -> String {
        stageCount += stages.count
        guard stageCount <= HardLimits.stages else {
            throw ParseError(ParseError.invalidQuery, "Too many aggregate stages")
        }
        var stages = stages[...]
        var input = input
        if let first = stages.first, first.name == "$geoNear" {
            stages.removeFirst()
            input = .documents(query: try near(first.operand, AggregateFields(stages)))
        }
        while let next = stages.first {
            if !AggregateInput.readsColumns(next.name) {
                input = .documents(query: documents(input, AggregateFields(stages)))
            }
            input = try stage(next.name, next.operand, input)
            stages.removeFirst()
        }
        return documents(input, AggregateFields(stages))
    }

    /// Counts an expression while `body` compiles it.
    ///
    /// - Throws: 102 for more than ``HardLimits`` allow.
    mutating func counted(_ body: (inout AggregateCompiler) throws(ParseError) -> String) throws(ParseError) -> String {
        expressionCount += 1
        try HardLimits.check(expressionCount, atMost: HardLimits.expressions, "expressions")
        expressionDepth += 1
        defer { expressionDepth -= 1 }
        try HardLimits.check(expressionDepth, atMost: HardLimits.expressionDepth, "expressions inside expressions")
        return try body(&self)
    }

    /// Makes documents of rows; those that are documents stay as they are.
    private func documents(_ input: AggregateInput, _ fields: AggregateFields) -> String {
        switch input {
        case .rows(let schema, _): "SELECT \(document(schema, fields.names)) AS doc \(input.source)"
        case .documents(let query): query
        }
    }

    /// One row as a document: fields that are null are left out, since the list of those that go is NULL for all others. A
    /// list is for some of the members only, because each name is looked for in all of them.
    ///
    /// - Parameter fields: Those that are wanted; nil for all.
    func document(_ schema: ClassSchema, _ fields: Set<Name>? = nil) -> String {
        var members: [(name: String, value: String)] = []
        var missing: [String] = []
        var parts: [String] = []
        func endPart() {
            guard !members.isEmpty else { return }
            parts.append("(\(Self.object(members)) - ARRAY[\(missing.joined(separator: ", "))])")
            (members, missing) = ([], [])
        }
        for (name, field) in schema.fields
        where TableLayout.hasColumn(name.text, of: schema.name, type: field.type) && fields?.contains(name) ?? true {
            let (column, name) = (SQLBuilder.quote(name.text), SQL.literal(name.text))
            members.append((name, Self.value(column, field.type)))
            missing.append("CASE WHEN \(column) IS NULL THEN \(name) END")
            if members.count == Self.mostMembers { endPart() }
        }
        endPart()
        return parts.isEmpty ? "'{}'::jsonb" : "(\(parts.joined(separator: " || ")))"
    }

    /// A column as jsonb, NULL where it is.
    static func value(_ column: String, _ type: FieldType) -> String {
        switch type {
        // Numbers that JSON does not have are null, as in all other answers.
        case .number: "roost_json(\(column))"
        case .file: whenPresent(column, "jsonb_build_object('__type', 'File', 'name', \(column))")
        case .geoPoint:
            whenPresent(
                column,
                "jsonb_build_object('__type', 'GeoPoint', 'latitude', roost_json((\(column))[1]), "
                    + "'longitude', roost_json((\(column))[0]))")
        case .polygon: "to_jsonb(\(column)::text)"
        case .pointer, .date: whenPresent(column, FilterCompiler.jsonValue(column, type))
        default: FilterCompiler.jsonValue(column, type)
        }
    }

    private static func whenPresent(_ column: String, _ value: String) -> String {
        "CASE WHEN \(column) IS NOT NULL THEN \(value) END"
    }

    /// Whether values of a type have the same order in a column as in JSON.
    static func keepsOrder(_ type: FieldType) -> Bool {
        switch type {
        case .string, .number, .boolean, .date: true
        default: false
        }
    }
}
