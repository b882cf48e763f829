import JSON
import OrderedCollections
import ParseModel
import Postgres

/// Compiles a write into a row to insert or an UPDATE statement, including the join rows of its relations.
struct WriteCompiler {
    let schema: ClassSchema
    var builder = SQLBuilder()

    func insertRow(objectId: String, _ write: ObjectWrite) throws(ParseError) -> InsertRow {
        // 5 columns besides the fields: the id, two dates and two permission lists.
        var row = InsertRow(
            className: schema.name, capacity: write.operations.count + write.hidden.count + 5)
        row.set("objectId", to: try ValueEncoder.text(objectId))
        if let date = write.createdAt { row.set("createdAt", to: .timestamp(milliseconds: date.milliseconds)) }
        if let date = write.updatedAt { row.set("updatedAt", to: .timestamp(milliseconds: date.milliseconds)) }
        let values = try newValues(write.operations)
        for (field, value) in values where !value.isNull {
            guard let type = schema.type(of: field.text), TableLayout.hasColumn(field.text, of: schema.name, type: type)
            else {
                continue
            }
            row.set(field.text, to: try ValueEncoder.encode(value, type, field: field.text))
        }
        for (column, value) in write.hidden where !value.isNull {
            row.set(column.text, to: try hiddenParameter(value, column.text))
        }
        if let acl = write.acl {
            let lists = try Self.permissions(acl)
            row.set("_rperm", to: lists.readers)
            row.set("_wperm", to: lists.writers)
        }
        if let field = schema.placingField, !row.columns.contains(field.text) {
            throw ClassSchema.missing(field, of: schema.name)
        }
        try ObjectSize.check(values.values, row.parameters, write.sizeLimit)
        for change in RelationChange.all(in: write.operations, of: schema) where !change.added.isEmpty {
            row.joins.append(
                Statement(
                    "INSERT INTO \(SQL.identifier(change.table)) (\"relatedId\", \"owningId\") "
                        + "SELECT unnest($1::text[]), $2 ON CONFLICT DO NOTHING",
                    [.textArray(change.added), .text(objectId)]))
        }
        return row
    }

    /// The columns of an update that returns the object before and after the change as two rows. Both end with the
    /// sequence number of the change, which is NULL in the former row.
    struct Observation {
        /// The columns of the former row.
        var former: String
        /// The columns of the current row, NULL for those that aren't requested.
        var current: String
        var number: String
    }

    /// Returns the statement that updates an object. It returns one row with the columns in `returning`, or none if no
    /// object matches.
    ///
    /// - Parameter observation: The columns to return of the object before and after the change, instead of
    ///   `returning`.
    mutating func update(
        objectId: String, _ write: ObjectWrite, condition: String, returning: [String], observation: Observation? = nil
    ) throws(ParseError) -> Statement {
        try schema.checkPlace(write.operations.keys)
        var assignments: [String] = []
        if let date = write.updatedAt {
            assignments.append("\"updatedAt\" = \(builder.bind(.timestamp(milliseconds: date.milliseconds)))")
        }
        if let date = write.createdAt {
            assignments.append("\"createdAt\" = \(builder.bind(.timestamp(milliseconds: date.milliseconds)))")
        }
        var expressions: OrderedDictionary<Name, String> = [:]
        var nested: OrderedDictionary<Name, [(path: FieldPath, operation: FieldOperation)]> = [:]
        for (key, operation) in write.operations {
            let path = FieldPath(key)
            guard let type = schema.type(of: path.root),
                TableLayout.hasColumn(path.root, of: schema.name, type: type)
            else { continue }
            let column = SQL.identifier(path.root)
            guard path.steps.isEmpty else {
                nested[Name(path.root), default: []].append((path, operation))
                continue
            }
            if let expression = try self.expression(operation, column, type, field: path.root) {
                expressions[path.root] = expression
            }
        }
        for (root, changes) in nested {
            guard let type = schema.type(of: root.text) else { continue }
            let current = expressions[root] ?? SQL.identifier(root.text)
            let expression =
                changes.count == 1
                ? try nestedExpression(changes[0].operation, current, type, changes[0].path)
                : try nestedExpression(changes, current, type)
            if let expression { expressions[root] = expression }
        }
        for (field, expression) in expressions { assignments.append("\(SQL.identifier(field.text)) = \(expression)") }
        for (column, value) in write.hidden {
            assignments.append(
                "\(SQL.identifier(column.text)) = \(builder.bind(try hiddenParameter(value, column.text)))")
        }
        if let acl = write.acl {
            let lists = try Self.permissions(acl)
            assignments.append("\"_rperm\" = \(builder.bind(lists.readers))")
            assignments.append("\"_wperm\" = \(builder.bind(lists.writers))")
        }
        if assignments.isEmpty { assignments.append("\"objectId\" = \"objectId\"") }
        let table = SQL.identifier(schema.name)
        try ObjectSize.check([], builder.parameters, write.sizeLimit)
        let bound = ObjectSize.bound(on: table, write, builder.parameters).map { ", \($0)" } ?? ""
        let id = builder.bind(try ValueEncoder.text(objectId))
        let update = "UPDATE \(table) SET \(assignments.joined(separator: ", ")) WHERE \"objectId\" = "
        let columns = returning.isEmpty ? "1" : returning.map(SQL.identifier).joined(separator: ", ")
        let changes = RelationChange.all(in: write.operations, of: schema)
        if changes.isEmpty, observation == nil {
            return Statement("\(update)\(id) AND \(condition) RETURNING \(columns)\(bound)", builder.parameters)
        }
        // A single statement, so that the join rows change only if the row does. Its names begin with an underscore,
        // which names of an app's fields and classes never do.
        var parts: [String] = []
        if let observation {
            // `FOR UPDATE` locks the newest version of the row that meets the condition, and no other transaction can
            // change it before the update. The condition is in both parts: a class distributed by a field may have the
            // id twice, and Citus sends the statement to the server that has the object.
            parts = [
                "_old AS (SELECT * FROM \(table) WHERE \"objectId\" = \(id) AND \(condition) FOR UPDATE)",
                "_updated AS (\(update)\(id) AND \(condition) AND EXISTS (SELECT 1 FROM _old) "
                    + "RETURNING *\(bound), \(observation.number) AS _number)",
            ]
        } else {
            parts = ["_updated AS (\(update)\(id) AND \(condition) RETURNING *\(bound))"]
        }
        for (index, change) in changes.enumerated() {
            let join = SQL.identifier(change.table)
            if !change.added.isEmpty {
                parts.append(
                    "_added\(index) AS (INSERT INTO \(join) (\"relatedId\", \"owningId\") SELECT _related._id, "
                        + "_updated.\"objectId\" FROM _updated, "
                        + "unnest(\(builder.bind(.textArray(change.added)))) AS _related(_id) "
                        + "ON CONFLICT DO NOTHING)")
            }
            if !change.removed.isEmpty {
                parts.append(
                    "_removed\(index) AS (DELETE FROM \(join) AS _member USING _updated "
                        + "WHERE _member.\"owningId\" = _updated.\"objectId\" "
                        + "AND _member.\"relatedId\" = ANY(\(builder.bind(.textArray(change.removed)))))")
            }
        }
        let selected =
            observation.map {
                "SELECT \($0.former), NULL::bigint AS _number FROM _old "
                    + "UNION ALL SELECT \($0.current), _number FROM _updated"
            } ?? "SELECT \(columns) FROM _updated"
        return Statement("WITH \(parts.joined(separator: ", ")) \(selected)", builder.parameters)
    }

    private mutating func expression(
        _ operation: FieldOperation, _ column: String, _ type: FieldType, field: String
    ) throws(ParseError) -> String? {
        switch operation {
        case .set(let value): return builder.bind(try ValueEncoder.encode(value, type, field: field))
        case .delete: return "NULL"
        case .increment(let amount): return "COALESCE(\(column), 0) + \(builder.bind(.double(amount)))"
        case .add(let objects):
            return "COALESCE(\(column), '[]'::jsonb) || \(builder.bind(.jsonb(try ValueEncoder.json(.array(objects)))))"
        case .addUnique(let objects):
            return "roost_add_unique(\(column), \(builder.bind(.jsonb(try ValueEncoder.json(.array(objects))))))"
        case .remove(let objects):
            return "roost_remove(\(column), \(builder.bind(.jsonb(try ValueEncoder.json(.array(objects))))))"
        case .addRelation, .removeRelation, .batch: return nil
        }
    }

    /// Returns the SQL for a change at a path of a jsonb column, or nil for others. New values create missing parents.
    private mutating func nestedExpression(
        _ operation: FieldOperation, _ current: String, _ type: FieldType, _ path: FieldPath
    ) throws(ParseError) -> String? {
        guard TableLayout.columnType(type) == "jsonb" else { return nil }
        // A missing array counts as empty, so that a path such as `list.0` creates an array and not an object.
        let current = type == .array ? "COALESCE(\(current), '[]')" : current
        let steps = builder.bind(.textArray(path.steps))
        let here = "(\(current) #> \(steps))"
        let value: String
        switch operation {
        case .set(let json): value = builder.bind(.jsonb(try ValueEncoder.json(json)))
        case .delete: return "roost_unset(\(current), \(steps))"
        case .increment(let amount): value = "roost_increment(\(here), \(builder.bind(.double(amount))))"
        case .add(let objects):
            value = "roost_add(\(here), \(builder.bind(.jsonb(try ValueEncoder.json(.array(objects))))))"
        case .addUnique(let objects):
            value = "roost_add_unique(\(here), \(builder.bind(.jsonb(try ValueEncoder.json(.array(objects))))))"
        case .remove(let objects):
            value = "roost_remove(\(here), \(builder.bind(.jsonb(try ValueEncoder.json(.array(objects))))))"
        case .addRelation, .removeRelation, .batch: return nil
        }
        return "roost_set(\(current), \(steps), \(value))"
    }

    /// Returns the SQL for changes at several paths with one function call, or nil if none applies. Nested calls would
    /// each copy the previous ones, so the statement would double in size with every key.
    private mutating func nestedExpression(
        _ changes: [(path: FieldPath, operation: FieldOperation)], _ current: String, _ type: FieldType
    ) throws(ParseError) -> String? {
        guard TableLayout.columnType(type) == "jsonb" else { return nil }
        var list: [JSONValue] = []
        // Changes that only set members of the same object are merged. Copying the whole value for each would take
        // quadratic time.
        var members: JSONObject = [:]
        var parent: ArraySlice<String> = []
        func merge() {
            if !members.isEmpty {
                list.append(["merge", .array(parent.map { .string($0) }), .object(members)])
            }
            members = [:]
        }
        for (path, operation) in changes {
            if type == .object, case .set(let value) = operation {
                let owner = path.steps.dropLast()
                if owner.names != parent.names { merge() }
                parent = owner
                members[path.steps[path.steps.count - 1]] = value
                continue
            }
            merge()
            let change: (name: String, operand: JSONValue)
            switch operation {
            case .set(let value): change = ("set", value)
            case .delete: change = ("delete", .null)
            case .increment(let amount): change = ("increment", .number(amount))
            case .add(let objects): change = ("add", .array(objects))
            case .addUnique(let objects): change = ("addUnique", .array(objects))
            case .remove(let objects): change = ("remove", .array(objects))
            case .addRelation, .removeRelation, .batch: continue
            }
            list.append([.string(change.name), .array(path.steps.map { .string($0) }), change.operand])
        }
        merge()
        guard !list.isEmpty else { return nil }
        let current = type == .array ? "COALESCE(\(current), '[]')" : current
        return "roost_change(\(current), \(builder.bind(.jsonb(try ValueEncoder.json(.array(list))))))"
    }

    /// Returns a new object's values, with dotted keys folded into objects and lists. An operation without a value
    /// yields null or no entry. Whole values come first, so that a default doesn't undo a dotted key.
    ///
    /// - Throws: 111 if all lists together would be filled with more nulls than ``HardLimits/filledElements``.
    private func newValues(_ operations: OrderedDictionary<Name, FieldOperation>) throws(ParseError)
        -> OrderedDictionary<Name, JSONValue>
    {
        guard operations.keys.contains(where: { $0.utf8.contains(UInt8(ascii: ".")) }) else {
            return operations.mapValues { $0.valueOnCreate ?? .null }
        }
        var values: OrderedDictionary<Name, JSONValue> = [:]
        var filled = 0
        for (key, operation) in operations where FieldPath(key).steps.isEmpty {
            values[key] = operation.valueOnCreate
        }
        for (key, operation) in operations {
            let path = FieldPath(key)
            guard !path.steps.isEmpty, let value = operation.valueOnCreate else { continue }
            let empty: JSONValue = schema.type(of: path.root) == .array ? .array([]) : .object([:])
            filled += values[Name(path.root), default: empty].set(value, at: path.steps[...]) ?? .max / 2
            guard filled <= HardLimits.filledElements else {
                throw ParseError(ParseError.incorrectType, "Cannot set \(path.steps[0]) of an array")
            }
        }
        return values
    }

    private static func permissions(_ acl: ACL) throws(ParseError)
        -> (readers: PostgresParameter, writers: PostgresParameter)
    {
        for principal in acl.readers + acl.writers { _ = try ValueEncoder.text(principal.text) }
        return (.textArray(acl.readers.texts), .textArray(acl.writers.texts))
    }

    /// Encodes the value of a hidden column. Dates may be strings or Date objects.
    private func hiddenParameter(_ value: JSONValue, _ column: String) throws(ParseError) -> PostgresParameter {
        let type = SystemClass.internalUserFields[column] ?? .string
        let isDateText = type == .date && value.stringValue != nil
        return try ValueEncoder.encode(isDateText ? ["iso": value] : value, type, field: column)
    }
}
