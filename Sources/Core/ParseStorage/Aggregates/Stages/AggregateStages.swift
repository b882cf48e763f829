import JSON
import ParseModel
import Postgres

extension AggregateCompiler {
    /// Compiles a stage. Stages that filter, sort or limit rows return rows. All others return documents.
    mutating func stage(_ name: String, _ operand: JSONValue, _ input: AggregateInput) throws(ParseError)
        -> AggregateInput
    {
        let members = operand.objectValue?.count ?? operand.arrayValue?.count ?? 0
        try HardLimits.check(members, atMost: HardLimits.stageMembers, "members of \(name)")
        let from = input.source
        let select = "SELECT \(input.everything) \(from)"
        switch name {
        case "$match":
            // Two conditions query the input twice. In later stages this would double the statement each time, so only
            // a class itself is split.
            let conditions =
                input.isClass
                ? try conditions(operand, input.document) : [try condition(operand, input.document)]
            return input.replaced(by: conditions.map { "\(select) WHERE \($0)" }.joined(separator: " UNION ALL "))
        case "$sort": return input.replaced(by: "\(select) ORDER BY \(try order(operand, input.document))")
        case "$limit": return input.replaced(by: "\(select) LIMIT \(try count(operand, name))")
        case "$skip": return input.replaced(by: "\(select) OFFSET \(try count(operand, name))")
        case "$sample":
            let size = try count(try AggregateOperand.members(of: operand, name, ["size"])["size"] ?? .null, name)
            return input.replaced(by: "\(select) ORDER BY random() LIMIT \(size)")
        case "$group": return .documents(query: try group(operand, input))
        case "$count":
            let key = expressions.builder.bind(.text(try Self.countField(operand)))
            return .documents(
                query: "SELECT jsonb_build_object(\(key)::text, count(*)) AS doc \(from) HAVING count(*) > 0")
        case "$sortByCount":
            guard AggregateOperand.isComputed(operand) else {
                throw ParseError(
                    ParseError.invalidQuery,
                    "the sortByCount field must be specified either as a $-prefixed path or a valid expression object")
            }
            let groups = try group(["_id": operand, "count": ["$sum": 1]], input)
            return try stage("$sort", ["count": -1], .documents(query: groups))
        case "$bucket": return try stage("$sort", ["_id": 1], .documents(query: try bucket(operand, input)))
        case "$facet": return .documents(query: try facet(operand, input))
        default: return .documents(query: try documentStage(name, operand, from))
        }
    }

    private mutating func documentStage(_ name: String, _ operand: JSONValue, _ from: String) throws(ParseError)
        -> String
    {
        switch name {
        case "$project": return "SELECT \(try projection(operand)) AS doc \(from)"
        case "$addFields", "$set": return "SELECT \(try additions(operand, to: "doc")) AS doc \(from)"
        case "$unset": return try unset(operand, from)
        case "$unwind": return try unwind(operand, from)
        case "$lookup": return try lookup(operand, from)
        case "$replaceRoot", "$replaceWith":
            let isShort = name == "$replaceWith"
            guard let root = isShort ? operand : try AggregateOperand.members(of: operand, name, ["newRoot"])["newRoot"]
            else { throw AggregateOperand.malformed(name) }
            return "SELECT roost_root(\(try expressions.expression(root, .json("doc")))) AS doc \(from)"
        default:
            throw ParseError(ParseError.invalidQuery, "Invalid aggregate stage '\(name)'.")
        }
    }

    private static func countField(_ operand: JSONValue) throws(ParseError) -> String {
        guard let field = operand.stringValue, !field.isEmpty else {
            throw ParseError(ParseError.invalidQuery, "the count field must be a non-empty string")
        }
        guard !field.hasPrefix("$") else {
            throw ParseError(ParseError.invalidQuery, "the count field cannot be a $-prefixed path")
        }
        guard !field.utf8.contains(UInt8(ascii: ".")) else {
            throw ParseError(ParseError.invalidQuery, "the count field cannot contain '.'")
        }
        return try AggregateNames.checked(field)
    }

    private mutating func count(_ operand: JSONValue, _ name: String) throws(ParseError) -> String {
        guard let number = operand.numberValue, let count = Int64(exactly: number), count >= 0 else {
            throw AggregateOperand.malformed(name)
        }
        return expressions.builder.bind(.int(count))
    }

    /// Compiles `$project`, which includes, excludes or computes fields.
    private mutating func projection(_ operand: JSONValue) throws(ParseError) -> String {
        guard let given = operand.objectValue, !given.isEmpty else { throw AggregateOperand.malformed("$project") }
        let object = Self.flattened(given)
        func isRemoval(_ value: JSONValue) -> Bool { value == 0 || value == false }
        let ids: Set<Name> = ["_id", "objectId"]
        // If both names are present, `objectId` counts unless it is an exclusion.
        let chosen = object["objectId"].flatMap { isRemoval($0) ? JSONValue?.none : $0 }
        let id = chosen ?? object["_id"] ?? object["objectId"] ?? 1
        let others = object.filter { !ids.contains($0.key) }
        if !others.isEmpty || isRemoval(id),
            others.values.allSatisfy(isRemoval)
        {
            var document = "doc"
            for field in object.keys where isRemoval(object[field] ?? .null) {
                document = "roost_excluded(\(document), \(try expressions.builder.path(field.text)))"
            }
            return document
        }
        if let removed = others.first(where: { isRemoval($0.value) })?.key {
            throw ParseError(
                ParseError.invalidQuery, "Cannot do exclusion on field \(removed) in inclusion projection")
        }
        var kept = "'{}'::jsonb"
        var computed: JSONObject = [:]
        let fields = (isRemoval(id) ? [] : ["objectId"]) + others.keys
        for field in fields {
            let value = field == "objectId" ? id : object[field] ?? 1
            if value == 1 || value == true || value.numberValue != nil {
                kept = "roost_included(\(kept), doc, \(try expressions.builder.path(field.text)))"
            } else if !isRemoval(value) {
                computed[field] = value
            }
        }
        return computed.isEmpty ? kept : try additions(.object(computed), to: kept)
    }

    private static func hasSwitch(_ object: JSONObject) -> Bool {
        object.values.contains { value in
            value.numberValue != nil || value.boolValue != nil || plainObject(value).map(hasSwitch) ?? false
        }
    }

    private static func plainObject(_ value: JSONValue) -> JSONObject? {
        guard let object = value.objectValue, !object.isEmpty, object["__type"] == nil,
            !object.keys.contains(where: { $0.hasPrefix("$") })
        else { return nil }
        return object
    }

    /// Returns the members of a `$project`, with nested inclusions and exclusions under dotted names.
    static func flattened(_ object: JSONObject) -> JSONObject {
        var flattened: JSONObject = [:]
        for (field, value) in object {
            if let inner = plainObject(value), hasSwitch(inner) {
                for (name, value) in Self.flattened(inner) { flattened[Name("\(field.text).\(name.text)")] = value }
            } else {
                flattened[field] = value
            }
        }
        return flattened
    }

    /// Adds computed fields to a document. A field with a missing value is removed. Objects are merged into the
    /// existing field.
    ///
    /// - Parameter prefix: The path of the enclosing field, with a trailing dot.
    private mutating func additions(_ operand: JSONValue, to document: String, under prefix: String = "")
        throws(ParseError) -> String
    {
        guard let object = operand.objectValue else { throw AggregateOperand.malformed("$addFields") }
        var result = document
        for (field, value) in object {
            let name = prefix + field.text
            let steps = try expressions.builder.newPath(name)
            if let inner = Self.plainObject(value) {
                result = "roost_opened(\(result), \(steps))"
                result = try additions(.object(inner), to: result, under: name + ".")
            } else {
                result = "roost_put(\(result), \(steps), \(try expressions.expression(value, .json("doc"))))"
            }
        }
        return result
    }

    private mutating func unset(_ operand: JSONValue, _ from: String) throws(ParseError) -> String {
        let given = operand.arrayValue ?? [operand]
        let names = given.compactMap(\.stringValue)
        guard !names.isEmpty, names.count == given.count else { throw AggregateOperand.malformed("$unset") }
        var document = "doc"
        for name in names { document = "roost_excluded(\(document), \(try expressions.builder.path(name)))" }
        return "SELECT \(document) AS doc \(from)"
    }

    private mutating func order(_ operand: JSONValue, _ document: AggregateDocument) throws(ParseError) -> String {
        guard let object = operand.objectValue, !object.isEmpty else { throw AggregateOperand.malformed("$sort") }
        var terms: [String] = []
        for (field, direction) in object {
            guard direction == 1 || direction == -1 else { throw AggregateOperand.malformed("$sort") }
            let suffix = direction == 1 ? "ASC NULLS FIRST" : "DESC NULLS LAST"
            terms += try sortKeys(field.text, document).map { "\($0) \(suffix)" }
        }
        return terms.joined(separator: ", ")
    }

    /// Returns the sort keys: the column itself if SQL sorts it as MongoDB does, or the type followed by the value.
    /// Missing values and null rank equally.
    private mutating func sortKeys(_ field: String, _ document: AggregateDocument) throws(ParseError) -> [String] {
        if let column = AggregateNames.column(named: field, document), AggregateRow.keepsOrder(column.type) {
            return [column.name]
        }
        let value = "NULLIF(\(try expressions.builder.field(field, document)), 'null')"
        return ["roost_rank(\(value))", value]
    }

    private mutating func unwind(_ operand: JSONValue, _ from: String) throws(ParseError) -> String {
        let name = "$unwind"
        let known: Set<Name> = ["path", "includeArrayIndex", "preserveNullAndEmptyArrays"]
        let isShort = operand.stringValue != nil
        let members = try AggregateOperand.members(of: isShort ? ["path": operand] : operand, name, known)
        guard let field = try AggregateOperand.text("path", of: members, name), field.hasPrefix("$") else {
            throw ParseError(
                ParseError.invalidQuery, "path option to $unwind stage should be prefixed with a '$': \(operand.text)")
        }
        let keepsEmpty = try AggregateOperand.flag("preserveNullAndEmptyArrays", of: members, name) ?? false
        let steps = try expressions.builder.path(String(field.dropFirst()))
        let value = "doc #> \(steps)"
        var document =
            "CASE WHEN item IS NOT NULL THEN roost_set(doc, \(steps), item) "
            + "WHEN \(value) = 'null' THEN doc ELSE doc #- \(steps) END"
        if let index = try AggregateOperand.text("includeArrayIndex", of: members, name) {
            guard !index.isEmpty, !index.hasPrefix("$") else {
                throw ParseError(
                    ParseError.invalidQuery,
                    index.isEmpty
                        ? "expected a non-empty string for the includeArrayIndex option to $unwind stage"
                        : "includeArrayIndex option to $unwind stage should not be prefixed with a '$': \(index)")
            }
            // Only the elements of arrays have an index.
            document =
                "roost_set(\(document), \(try expressions.builder.newPath(index)), COALESCE("
                + "CASE jsonb_typeof(\(value)) WHEN 'array' THEN to_jsonb(place - 1) END, 'null'))"
        }
        return "SELECT \(document) AS doc \(from) \(keepsEmpty ? "LEFT JOIN" : "JOIN") LATERAL "
            + "jsonb_array_elements(CASE jsonb_typeof(\(value)) WHEN 'array' THEN \(value) "
            + "WHEN 'null' THEN NULL ELSE jsonb_build_array(\(value)) END) WITH ORDINALITY AS u(item, place) "
            + "ON \(value) IS NOT NULL"
    }
}
