import JSON
import ParseModel
import Postgres

/// Compiles an aggregation pipeline into one statement: every stage is a query on that of the one before it.
///
/// Stages read the rows of the class for as long as they can, then documents: jsonb, in the form in which objects travel.
/// They come in any order and number.
struct AggregateCompiler {
    let schemas: SchemaSnapshot
    let schema: ClassSchema
    /// The time that relative dates count from, in milliseconds since 1970.
    let now: Int64
    /// Whether objects whose dates differ, but not in the parts that make a group, are one group.
    let mergesDateParts: Bool
    var builder = SQLBuilder()

    /// The statement of a pipeline, which gives one column of documents.
    ///
    /// - Throws: 102 for stages and expressions that do not exist, 105 for names that no field has.
    mutating func compile(_ stages: [(name: String, operand: JSONValue)]) throws(ParseError) -> Statement {
        guard stages.count <= HardLimits.stages else {
            throw ParseError(ParseError.invalidQuery, "Too many aggregate stages")
        }
        var stages = stages[...]
        var input = AggregateInput(of: schema)
        if let first = stages.first, first.name == "$geoNear" {
            stages.removeFirst()
            input = .documents(query: try near(first.operand, AggregateFields(stages)))
        }
        while let (name, operand) = stages.first {
            if !AggregateInput.readsColumns(name) {
                input = .documents(query: documents(input, AggregateFields(stages)))
            }
            input = try stage(name, operand, input)
            stages.removeFirst()
        }
        return Statement(documents(input, AggregateFields(stages)), builder.parameters)
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

    /// A `$match` as a condition.
    mutating func condition(_ operand: JSONValue, _ document: AggregateDocument) throws(ParseError) -> String {
        guard var object = operand.objectValue else {
            throw ParseError(ParseError.invalidQuery, "$match needs an object")
        }
        var conditions: [String] = []
        if let expression = object.removeValue(forKey: "$expr") {
            conditions.append("roost_truth(\(try self.expression(expression, document)))")
        }
        if let id = object.removeValue(forKey: "_id") { object["objectId"] = id }
        let parser = FilterParser(isMaster: true, now: now, readsArrays: true)
        var compiler = FilterCompiler(schemas: schemas, builder: builder)
        if case .json(let document) = document { compiler.document = document }
        conditions.append(try compiler.compile(try parser.parse(object), schema))
        builder = compiler.builder
        return conditions.joined(separator: " AND ")
    }

    /// `$geoNear`: objects by their distance from a place, in metres.
    private mutating func near(_ operand: JSONValue, _ fields: AggregateFields) throws(ParseError) -> String {
        let coordinates = operand["near"]?["coordinates"]?.arrayValue ?? operand["near"]?.arrayValue
        let place =
            operand["near"].flatMap(GeoPoint.init(json:))
            ?? coordinates.flatMap { pair in
                guard pair.count == 2, let longitude = pair[0].numberValue, let latitude = pair[1].numberValue else {
                    return nil
                }
                return GeoPoint(latitude: latitude, longitude: longitude)
            }
        let key = operand["key"]?.stringValue ?? schema.fields.first { $0.value.type == .geoPoint }?.key.text
        guard let place, let key, schema.type(of: key) == .geoPoint else {
            throw ParseError(ParseError.invalidQuery, "$geoNear needs a place and a class with a GeoPoint field")
        }
        let column = SQLBuilder.quote(key)
        let longitude = builder.bind(.double(place.longitude))
        let latitude = builder.bind(.double(place.latitude))
        let metres = "(roost_distance(\(column), \(longitude), \(latitude)) * 6378100)"
        var conditions = ["\(column) IS NOT NULL"]
        if let most = operand["maxDistance"]?.numberValue {
            conditions.append("\(metres) <= \(builder.bind(.double(most)))")
        }
        if let least = operand["minDistance"]?.numberValue {
            conditions.append("\(metres) >= \(builder.bind(.double(least)))")
        }
        if let query = operand["query"] { conditions.append(try condition(query, .row(schema))) }
        let field = operand["distanceField"]?.stringValue ?? "distance"
        let name = builder.bind(.text(try Self.checked(field)))
        return "SELECT \(document(schema, fields.names)) || jsonb_build_object(\(name)::text, roost_json(\(metres))) "
            + "AS doc FROM \(SQLBuilder.quote(schema.name)) WHERE \(conditions.joined(separator: " AND ")) "
            + "ORDER BY \(metres)"
    }

    /// A field's name, dots included, after a check of its every step; throws 105.
    static func checked(_ name: String) throws(ParseError) -> String {
        let steps = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        let isKnown = steps.first == "_id" || steps.first.map(Names.isIdentifier) == true
        let areSteps = steps.dropFirst().allSatisfy { step in
            Names.isIdentifier(step) || (!step.isEmpty && step.utf8.allSatisfy { (48...57).contains($0) })
        }
        guard isKnown, areSteps else { throw ParseError(ParseError.invalidKeyName, "Invalid field name: \(name)") }
        return name
    }

    /// The steps of a name, in the words of documents.
    private static func steps(_ name: String) throws(ParseError) -> [String] {
        var steps = try checked(name).split(separator: ".").map(String.init)
        steps[0] = SystemClass.field(queriedAs: steps[0])
        return steps
    }

    /// The steps of a name, as a parameter.
    mutating func path(_ name: String) throws(ParseError) -> String {
        builder.bind(.textArray(try Self.steps(name)))
    }

    /// The value of a field as jsonb; NULL where it is missing.
    mutating func field(_ name: String, _ document: AggregateDocument) throws(ParseError) -> String {
        switch document {
        case .json(let document): return "(\(document) #> \(try path(name)))"
        case .row(let schema):
            let steps = try Self.steps(name)
            guard let column = Self.column(of: steps[0], schema) else { return "NULL::jsonb" }
            let value = Self.value(column.name, column.type)
            guard steps.count > 1 else { return value }
            return "((\(value)) #> \(builder.bind(.textArray(Array(steps.dropFirst())))))"
        }
    }

    /// The column that a value of a pipeline, such as `$price`, stands for as a whole, where it is read from rows.
    static func column(_ value: JSONValue, _ document: AggregateDocument) -> (name: String, type: FieldType)? {
        guard let text = value.stringValue, text.hasPrefix("$") else { return nil }
        return column(named: String(text.dropFirst()), document)
    }

    /// The column that a field's name stands for as a whole, where it is read from rows.
    static func column(named name: String, _ document: AggregateDocument) -> (name: String, type: FieldType)? {
        guard case .row(let schema) = document else { return nil }
        return column(of: SystemClass.field(queriedAs: name), schema)
    }

    private static func column(of field: String, _ schema: ClassSchema) -> (name: String, type: FieldType)? {
        guard let type = schema.type(of: field), TableLayout.hasColumn(field, of: schema.name, type: type) else {
            return nil
        }
        return (SQLBuilder.quote(field), type)
    }

    /// Whether values of a type have the same order in a column as in JSON.
    static func keepsOrder(_ type: FieldType) -> Bool {
        switch type {
        case .string, .number, .boolean, .date: true
        default: false
        }
    }
}
