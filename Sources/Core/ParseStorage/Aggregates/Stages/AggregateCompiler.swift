import JSON
import ParseModel
import Postgres

/// Compiles an aggregation pipeline into one statement, in which each stage queries the previous one.
///
/// As many of the first stages as possible read the rows of the class. The others read jsonb documents in Parse's JSON
/// format.
struct AggregateCompiler {
    let schemas: SchemaSnapshot
    /// The class of the current pipeline. Inside a `$lookup` it is the class that is joined.
    var schema: ClassSchema
    /// Whether a group by date parts includes all objects with these parts, even if their full dates differ.
    let mergesDateParts: Bool
    var expressions: AggregateExpressions
    /// The nesting depth of `$lookup` stages.
    var lookups = 0
    private var stageCount = 0

    init(schemas: SchemaSnapshot, schema: ClassSchema, now: Int64, mergesDateParts: Bool) {
        self.schemas = schemas
        self.schema = schema
        self.mergesDateParts = mergesDateParts
        expressions = AggregateExpressions(now: now)
    }

    /// Returns the statement of a pipeline. It selects one jsonb column.
    ///
    /// - Throws: `ParseError`, for example 102 for unknown stages and expressions, and 105 for invalid field names.
    mutating func compile(_ stages: [AggregateStage]) throws(ParseError) -> Statement {
        var plain = stages
        for (index, stage) in stages.enumerated() { plain[index].operand = try ExtendedJSON.plain(stage.operand) }
        let query = try pipeline(plain, .rows(of: schema))
        return Statement(query, expressions.builder.parameters)
    }

    mutating func pipeline(_ stages: [AggregateStage], _ input: AggregateInput) throws(ParseError) -> String {
        stageCount += stages.count
        try HardLimits.check(stageCount, atMost: HardLimits.stages, "aggregate stages")
        var stages = stages[...]
        var input = input
        if let first = stages.first, first.name == "$geoNear" {
            stages.removeFirst()
            input = .documents(query: try near(first.operand, AggregateFields(stages)))
        }
        while let next = stages.first {
            if !AggregateInput.readersOfColumns.contains(next.name) {
                input = .documents(query: documents(input, AggregateFields(stages)))
            }
            input = try stage(next.name, next.operand, input)
            stages.removeFirst()
        }
        return documents(input, AggregateFields(stages))
    }

    private func documents(_ input: AggregateInput, _ fields: AggregateFields) -> String {
        guard let schema = input.schema else { return input.query }
        return "SELECT \(AggregateRow.document(schema, fields.names)) AS doc \(input.source)"
    }
}
