import JSON
import ParseModel
import Postgres

/// Resolves the names of fields and variables in pipelines.
enum AggregateNames {
    /// Validates every step of a dotted field name, and returns the name. Throws 105 if a step is invalid.
    static func checked(_ name: String) throws(ParseError) -> String {
        let steps = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        func isField(_ step: String) -> Bool { Names.isIdentifier(String(step.drop { $0 == "_" })) }
        let areSteps = steps.dropFirst().allSatisfy { step in
            isField(step) || (!step.isEmpty && step.utf8.allSatisfy { (48...57).contains($0) })
        }
        guard steps.first.map(isField) == true, areSteps else {
            throw ParseError(ParseError.invalidKeyName, "Invalid field name: \(name)")
        }
        return name
    }

    fileprivate static func steps(_ name: String) throws(ParseError) -> [String] {
        try checked(name).split(separator: ".").map { SystemClass.field(queriedAs: String($0)) }
    }

    /// Returns the column and target class of a stored pointer such as `_p_author`, or nil for other names and unknown
    /// fields.
    static func storedPointer(_ name: String, of schema: ClassSchema) throws(ParseError) -> (
        column: String, target: Name
    )? {
        StoredFieldNames.pointerField(try steps(name)).flatMap { pointerColumn($0, .row(schema)) }
    }

    fileprivate static func pointerColumn(_ steps: [String], _ document: AggregateDocument) -> (
        column: String, target: Name
    )? {
        guard case .row(let schema) = document, steps.count == 1, let column = column(of: steps[0], schema),
            case .pointer(let target) = column.type
        else { return nil }
        return (column.name, target)
    }

    /// Returns the column for a value such as `$price`, or nil if it doesn't exist or the stage reads documents.
    static func column(_ value: JSONValue, _ document: AggregateDocument) -> (name: String, type: FieldType)? {
        guard let text = value.stringValue, text.hasPrefix("$") else { return nil }
        return column(named: String(text.dropFirst()), document)
    }

    /// Returns the column with a field's name, or nil if it doesn't exist or the stage reads documents.
    static func column(named name: String, _ document: AggregateDocument) -> (name: String, type: FieldType)? {
        guard case .row(let schema) = document else { return nil }
        return column(of: SystemClass.field(queriedAs: name), schema)
    }

    fileprivate static func column(of field: String, _ schema: ClassSchema) -> (name: String, type: FieldType)? {
        guard let type = schema.type(of: field), TableLayout.hasColumn(field, of: schema.name, type: type) else {
            return nil
        }
        return (SQL.identifier(field), type)
    }

    /// Checks the name of a variable that a pipeline defines. Throws 102 if the name is invalid.
    static func checkVariable(_ name: Name) throws(ParseError) {
        guard let first = name.utf8.first, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first),
            Names.isIdentifier(name.text)
        else {
            throw ParseError(
                ParseError.invalidQuery, "Invalid variable name '\(name)': it must match [a-z][A-Za-z0-9_]*")
        }
    }
}

/// Binds the paths of fields in pipelines.
extension SQLBuilder {
    /// Binds the path of a computed field as a parameter.
    mutating func newPath(_ name: String) throws(ParseError) -> String {
        bind(.textArray(try AggregateNames.steps(name)))
    }

    /// Binds the path of a document field as a parameter. The stored pointer `_p_author` becomes the field `author`.
    mutating func path(_ name: String) throws(ParseError) -> String {
        let steps = try AggregateNames.steps(name)
        return bind(.textArray(StoredFieldNames.pointerField(steps) ?? steps))
    }

    /// Compiles a field to its value as jsonb, or NULL if it is missing. The stored pointer `_p_author` becomes the
    /// text `Person$id`.
    mutating func field(_ name: String, _ document: AggregateDocument) throws(ParseError) -> String {
        let steps = try AggregateNames.steps(name)
        guard let pointer = StoredFieldNames.pointerField(steps) else { return value(at: steps, document) }
        if let (column, target) = AggregateNames.pointerColumn(pointer, document) {
            return "to_jsonb(\(SQL.literal(target.text + "$")) || \(column))"
        }
        let text = "roost_stored_pointer(\(value(at: pointer, document)))"
        // A previous stage may have computed a field with this name.
        guard case .json = document else { return text }
        return "COALESCE(\(value(at: steps, document)), \(text))"
    }

    private mutating func value(at steps: [String], _ document: AggregateDocument) -> String {
        switch document {
        case .json(let document): return reached(document, steps[...])
        case .row(let schema):
            guard let column = AggregateNames.column(of: steps[0], schema) else { return "NULL::jsonb" }
            let value = AggregateRow.value(column.name, column.type)
            return steps.count == 1 ? value : reached("(\(value))", steps.dropFirst())
        }
    }

    /// Follows a path into a value. In a list, a step that isn't an index is followed into each element.
    private mutating func reached(_ value: String, _ steps: ArraySlice<String>) -> String {
        let path = bind(.textArray(Array(steps)))
        // A stage's document is never a list.
        if value == "doc", steps.count == 1 { return "(doc #> \(path))" }
        return "COALESCE(\(value) #> \(path), roost_reached(\(value), \(path)))"
    }

    mutating func literal(_ value: JSONValue) -> String {
        FilterCompiler.bytes(value).map { bind(.jsonb($0)) } ?? "NULL::jsonb"
    }
}
