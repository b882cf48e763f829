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
    /// The reference time for relative dates, in milliseconds since 1970.
    let now: Int64
    /// Whether a group by date parts includes all objects with these parts, even if their full dates differ.
    let mergesDateParts: Bool
    var builder = SQLBuilder()
    /// The SQL of each variable `$$name`, as jsonb.
    var variables: [Name: String] = [:]
    var uniqueNames = 0
    /// The nesting depth of `$lookup` stages.
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

    /// Returns the statement of a pipeline. It selects one jsonb column.
    ///
    /// - Throws: `ParseError`, for example 102 for unknown stages and expressions, and 105 for invalid field names.
    mutating func compile(_ stages: [AggregateStage]) throws(ParseError) -> Statement {
        var plain = stages
        for (index, stage) in stages.enumerated() { plain[index].operand = try ExtendedJSON.plain(stage.operand) }
        let query = try pipeline(plain, AggregateInput(of: schema))
        return Statement(query, builder.parameters)
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
            if !AggregateInput.readsColumns(next.name) {
                input = .documents(query: documents(input, AggregateFields(stages)))
            }
            input = try stage(next.name, next.operand, input)
            stages.removeFirst()
        }
        return documents(input, AggregateFields(stages))
    }

    /// Counts an expression and its depth while `body` compiles it.
    ///
    /// - Throws: 102 if a limit in ``HardLimits`` is exceeded.
    mutating func counted(_ body: (inout AggregateCompiler) throws(ParseError) -> String) throws(ParseError) -> String {
        expressionCount += 1
        try HardLimits.check(expressionCount, atMost: HardLimits.expressions, "expressions")
        expressionDepth += 1
        defer { expressionDepth -= 1 }
        try HardLimits.check(expressionDepth, atMost: HardLimits.expressionDepth, "nested expressions")
        return try body(&self)
    }

    private func documents(_ input: AggregateInput, _ fields: AggregateFields) -> String {
        switch input {
        case .rows(let schema, _): "SELECT \(document(schema, fields.names)) AS doc \(input.source)"
        case .documents(let query): query
        }
    }

    /// Returns the SQL for a row's document without its null fields. The fields are split into parts, because
    /// subtracting a list of names searches each name in the whole list.
    ///
    /// - Parameter fields: The fields to include, or nil for all.
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
            if members.count == Self.maxMembers { endPart() }
        }
        endPart()
        return parts.isEmpty ? "'{}'::jsonb" : "(\(parts.joined(separator: " || ")))"
    }

    /// Returns a column as jsonb, or NULL if the column is NULL.
    static func value(_ column: String, _ type: FieldType) -> String {
        switch type {
        // Numbers that JSON can't represent become null, as in all other responses.
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

    /// Whether SQL sorts columns of a type in the same order as their jsonb values.
    static func keepsOrder(_ type: FieldType) -> Bool {
        switch type {
        case .string, .number, .boolean, .date: true
        default: false
        }
    }
}
