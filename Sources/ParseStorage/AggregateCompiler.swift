import JSON
import ParseModel
import Postgres

/// Compiles an aggregation pipeline into one statement: every stage is a query on the documents of the one before it.
///
/// Documents are jsonb, in the form in which objects travel; stages come in any order and number.
struct AggregateCompiler {
    let schemas: SchemaSnapshot
    let schema: ClassSchema
    /// The time that relative dates count from, in milliseconds since 1970.
    let now: Int64
    /// Whether objects whose dates differ, but not in the parts that make a group, are one group.
    let mergesDateParts: Bool
    var builder = SQLBuilder()

    init(schemas: SchemaSnapshot, schema: ClassSchema, now: Int64, mergesDateParts: Bool) {
        self.schemas = schemas
        self.schema = schema
        self.now = now
        self.mergesDateParts = mergesDateParts
    }

    /// The statement of a pipeline, which gives one column of documents.
    ///
    /// - Throws: 102 for stages and expressions that do not exist, 105 for names that no field has.
    mutating func compile(_ stages: [(name: String, operand: JSONValue)]) throws(ParseError) -> Statement {
        guard stages.count <= 100 else { throw ParseError(ParseError.invalidQuery, "Too many aggregate stages") }
        var stages = stages[...]
        var query = try source(&stages)
        for (name, operand) in stages { query = try stage(name, operand, query) }
        return Statement(query, builder.parameters)
    }

    /// The class's rows as documents. Conditions that come first are put on the table itself, where indexes are.
    private mutating func source(_ stages: inout ArraySlice<(name: String, operand: JSONValue)>) throws(ParseError)
        -> String
    {
        var conditions: [String] = []
        var order = ""
        var extra = ""
        if let first = stages.first, first.name == "$geoNear" {
            stages.removeFirst()
            (conditions, order, extra) = try near(first.operand)
        }
        while let first = stages.first, first.name == "$match", first.operand["$expr"] == nil {
            stages.removeFirst()
            conditions.append(try condition(first.operand, document: nil))
        }
        let fields = AggregateFields(stages).names
        var query = "SELECT \(document(schema, fields))\(extra) AS doc FROM \(SQLBuilder.quote(schema.name))"
        if !conditions.isEmpty { query += " WHERE \(conditions.joined(separator: " AND "))" }
        return query + order
    }

    /// One row as a document: fields that are null are left out.
    ///
    /// - Parameter fields: Those that are wanted; nil for all.
    func document(_ schema: ClassSchema, _ fields: Set<String>? = nil) -> String {
        var pairs: [String] = []
        for (name, field) in schema.fields
        where TableLayout.hasColumn(name, of: schema.name, type: field.type) && fields?.contains(name) ?? true {
            let value = Self.value(SQLBuilder.quote(name), field.type)
            pairs.append("(\(SQL.literal(name)), CASE WHEN \(SQLBuilder.quote(name)) IS NOT NULL THEN \(value) END)")
        }
        guard !pairs.isEmpty else { return "'{}'::jsonb" }
        return "COALESCE((SELECT jsonb_object_agg(k, v) FROM (VALUES \(pairs.joined(separator: ", "))) AS f(k, v) "
            + "WHERE v IS NOT NULL), '{}')"
    }

    private static func value(_ column: String, _ type: FieldType) -> String {
        switch type {
        case .file: "jsonb_build_object('__type', 'File', 'name', \(column))"
        case .geoPoint:
            "jsonb_build_object('__type', 'GeoPoint', 'latitude', (\(column))[1], 'longitude', (\(column))[0])"
        case .polygon: "to_jsonb(\(column)::text)"
        default: FilterCompiler.jsonValue(column, type)
        }
    }

    /// A `$match` as a condition: on the table, or on documents.
    mutating func condition(_ operand: JSONValue, document: String?) throws(ParseError) -> String {
        guard var object = operand.objectValue else {
            throw ParseError(ParseError.invalidQuery, "$match needs an object")
        }
        var conditions: [String] = []
        if let expression = object.removeValue(forKey: "$expr") {
            conditions.append("roost_truth(\(try self.expression(expression, document ?? "doc")))")
        }
        if let id = object.removeValue(forKey: "_id") { object["objectId"] = id }
        let parser = FilterParser(isMaster: true, now: now)
        var compiler = FilterCompiler(schemas: schemas, builder: builder)
        compiler.document = document
        conditions.append(try compiler.compile(try parser.parse(object), schema))
        builder = compiler.builder
        return conditions.joined(separator: " AND ")
    }

    /// `$geoNear`: objects by their distance from a place, in metres.
    private mutating func near(_ operand: JSONValue) throws(ParseError) -> ([String], String, String) {
        let coordinates = operand["near"]?["coordinates"]?.arrayValue ?? operand["near"]?.arrayValue
        let place =
            operand["near"].flatMap(GeoPoint.init(json:))
            ?? coordinates.flatMap { pair in
                guard pair.count == 2, let longitude = pair[0].numberValue, let latitude = pair[1].numberValue else {
                    return nil
                }
                return GeoPoint(latitude: latitude, longitude: longitude)
            }
        let key = operand["key"]?.stringValue ?? schema.fields.first { $0.value.type == .geoPoint }?.key
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
        if let query = operand["query"] { conditions.append(try condition(query, document: nil)) }
        let field = operand["distanceField"]?.stringValue ?? "distance"
        return (
            conditions, " ORDER BY \(metres)",
            " || jsonb_build_object(\(builder.bind(.text(try Self.checked(field))))::text, \(metres))"
        )
    }

    /// A field's name, dots included, after a check of its every step.
    ///
    /// - Throws: 105.
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
    mutating func path(_ name: String) throws(ParseError) -> String {
        var steps = try Self.checked(name).split(separator: ".").map(String.init)
        steps[0] = TableLayout.field(steps[0])
        return builder.bind(.textArray(steps))
    }
}
