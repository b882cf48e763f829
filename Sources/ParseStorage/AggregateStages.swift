import JSON
import ParseModel
import Postgres

extension AggregateCompiler {
    /// The query of a stage on the documents of the query before it.
    mutating func stage(_ name: String, _ operand: JSONValue, _ input: String) throws(ParseError) -> String {
        let from = "FROM (\(input)) AS s"
        switch name {
        case "$match": return "SELECT doc \(from) WHERE \(try condition(operand, document: "doc"))"
        case "$group": return try group(operand, from)
        case "$project": return "SELECT \(try projection(operand)) AS doc \(from)"
        case "$addFields", "$set": return "SELECT \(try additions(operand, to: "doc")) AS doc \(from)"
        case "$unset": return try unset(operand, from)
        case "$sort": return "SELECT doc \(from) ORDER BY \(try order(operand))"
        case "$limit": return "SELECT doc \(from) LIMIT \(try count(operand, name))"
        case "$skip": return "SELECT doc \(from) OFFSET \(try count(operand, name))"
        case "$sample": return "SELECT doc \(from) ORDER BY random() LIMIT \(try count(operand["size"] ?? .null, name))"
        case "$count":
            guard let field = operand.stringValue else { throw Self.malformed(name) }
            let key = builder.bind(.text(try Self.checked(field)))
            return "SELECT jsonb_build_object(\(key)::text, count(*)) AS doc \(from) HAVING count(*) > 0"
        case "$sortByCount":
            let grouped = try group(["_id": operand, "count": ["$sum": 1]], from)
            return try stage("$sort", ["count": -1], grouped)
        case "$unwind": return try unwind(operand, from)
        case "$lookup": return try lookup(operand, from)
        case "$replaceRoot", "$replaceWith":
            let root = name == "$replaceRoot" ? operand["newRoot"] ?? .null : operand
            return "SELECT doc FROM (SELECT \(try expression(root, "doc")) AS doc \(from)) AS r "
                + "WHERE jsonb_typeof(doc) = 'object'"
        default:
            throw ParseError(ParseError.invalidQuery, "Invalid aggregate stage '\(name)'.")
        }
    }

    static func malformed(_ name: String) -> ParseError {
        ParseError(ParseError.invalidQuery, "Malformed aggregate stage or expression \(name)")
    }

    private mutating func count(_ operand: JSONValue, _ name: String) throws(ParseError) -> String {
        guard let number = operand.numberValue, let count = Int64(exactly: number), count >= 0 else {
            throw Self.malformed(name)
        }
        return builder.bind(.int(count))
    }

    private mutating func group(_ operand: JSONValue, _ from: String) throws(ParseError) -> String {
        guard let object = operand.objectValue else { throw Self.malformed("$group") }
        guard object["objectId"] == nil else {
            throw ParseError(ParseError.invalidQuery, "Cannot use 'objectId' in aggregation stage $group.")
        }
        guard let id = object["_id"] else {
            throw ParseError(ParseError.invalidQuery, "Invalid parameter for query: group. Missing key _id")
        }
        var key = id.isNull ? "'null'::jsonb" : "COALESCE(\(try expression(id, "doc")), 'null'::jsonb)"
        if let field = id.stringValue?.dropFirst(), case .pointer = schema.type(of: String(field)) {
            // parse-server groups by what its column holds, which is the id alone.
            key = "roost_key(\(key))"
        }
        var pairs = ["('objectId', grouped)"]
        var aggregates: [String] = []
        for (field, accumulator) in object where field != "_id" {
            let name = builder.bind(.text(try Self.checked(field)))
            aggregates.append("\(try self.accumulator(accumulator)) AS a\(aggregates.count)")
            pairs.append("(\(name)::text, a\(aggregates.count - 1))")
        }
        // Grouping loses the order of the documents, so their places are noted before.
        let place = aggregates.contains { $0.contains("ORDER BY place") } ? ", row_number() OVER () AS place" : ""
        let columns = (["grouped"] + aggregates).joined(separator: ", ")
        // What makes groups without being shown.
        let dates = mergesDateParts ? [] : try dates(of: id)
        let unshown = dates.isEmpty ? "" : ", jsonb_build_array(\(dates.joined(separator: ", "))) AS unshown"
        return "SELECT (SELECT jsonb_object_agg(k, COALESCE(v, 'null')) FROM (VALUES \(pairs.joined(separator: ", "))) "
            + "AS f(k, v)) AS doc FROM (SELECT \(columns) FROM (SELECT doc, \(key) AS grouped\(unshown)\(place) \(from)) AS g "
            + "GROUP BY grouped\(dates.isEmpty ? "" : ", unshown")) AS r"
    }

    private mutating func accumulator(_ operand: JSONValue) throws(ParseError) -> String {
        guard let object = operand.objectValue, object.count == 1,
            let (name, argument) = object.elements.first.map({ ($0.key, $0.value) })
        else { throw Self.malformed("$group") }
        if name == "$count" { return "to_jsonb(count(*))" }
        let value = try expression(argument, "doc")
        switch name {
        case "$sum": return "to_jsonb(COALESCE(sum(roost_number(\(value))), 0))"
        case "$avg": return "to_jsonb(avg(roost_number(\(value))))"
        case "$min", "$max":
            let direction = name == "$min" ? "ASC" : "DESC"
            return "(array_agg(\(value) ORDER BY \(value) \(direction)) FILTER (WHERE \(value) <> 'null'))[1]"
        case "$first": return "(array_agg(\(value) ORDER BY place))[1]"
        case "$last": return "(array_agg(\(value) ORDER BY place DESC))[1]"
        case "$push": return "COALESCE(jsonb_agg(\(value) ORDER BY place) FILTER (WHERE \(value) IS NOT NULL), '[]')"
        case "$addToSet":
            return "COALESCE(jsonb_agg(DISTINCT \(value)) FILTER (WHERE \(value) IS NOT NULL), '[]')"
        case "$stdDevPop": return "to_jsonb(stddev_pop(roost_number(\(value))))"
        case "$stdDevSamp": return "to_jsonb(stddev_samp(roost_number(\(value))))"
        default: throw Self.malformed(name)
        }
    }

    /// `$project`: fields to keep, to leave out, or to compute.
    private mutating func projection(_ operand: JSONValue) throws(ParseError) -> String {
        guard let object = operand.objectValue, !object.isEmpty else { throw Self.malformed("$project") }
        func isRemoval(_ value: JSONValue) -> Bool { value == 0 || value == false }
        let ids = ["_id", "objectId"]
        let others = object.filter { !ids.contains($0.key) }
        if !others.isEmpty || isRemoval(object["_id"] ?? object["objectId"] ?? 1),
            others.values.allSatisfy(isRemoval)
        {
            var document = "doc"
            for field in object.keys where isRemoval(object[field] ?? .null) {
                document = "(\(document) #- \(try path(field)))"
            }
            return document
        }
        var kept = "'{}'::jsonb"
        var computed: JSONObject = [:]
        let keepsId = !isRemoval(object["_id"] ?? object["objectId"] ?? 1)
        let fields = (keepsId ? ["objectId"] : []) + others.keys
        for field in fields {
            let value = object[field] ?? 1
            if value == 1 || value == true || value.numberValue != nil {
                let steps = try path(field)
                kept =
                    "CASE WHEN doc #> \(steps) IS NULL THEN \(kept) ELSE roost_set(\(kept), \(steps), doc #> \(steps)) END"
            } else if !isRemoval(value) {
                computed[field] = value
            }
        }
        return computed.isEmpty ? kept : try additions(.object(computed), to: kept)
    }

    /// Computed fields put into a document.
    private mutating func additions(_ operand: JSONValue, to document: String) throws(ParseError) -> String {
        guard let object = operand.objectValue else { throw Self.malformed("$addFields") }
        var result = document
        for (field, value) in object {
            let steps = try path(field)
            result = "roost_set(\(result), \(steps), COALESCE(\(try expression(value, "doc")), 'null'))"
        }
        return result
    }

    private mutating func unset(_ operand: JSONValue, _ from: String) throws(ParseError) -> String {
        let names = operand.arrayValue?.compactMap(\.stringValue) ?? [operand.stringValue].compactMap { $0 }
        guard !names.isEmpty else { throw Self.malformed("$unset") }
        var document = "doc"
        for name in names { document = "(\(document) #- \(try path(name)))" }
        return "SELECT \(document) AS doc \(from)"
    }

    private mutating func order(_ operand: JSONValue) throws(ParseError) -> String {
        guard let object = operand.objectValue, !object.isEmpty else { throw Self.malformed("$sort") }
        var terms: [String] = []
        for (field, direction) in object {
            guard direction == 1 || direction == -1 else { throw Self.malformed("$sort") }
            let value = "NULLIF(doc #> \(try path(field)), 'null')"
            terms.append("\(value) \(direction == 1 ? "ASC NULLS FIRST" : "DESC NULLS LAST")")
        }
        return terms.joined(separator: ", ")
    }

    private mutating func unwind(_ operand: JSONValue, _ from: String) throws(ParseError) -> String {
        guard let field = operand.stringValue ?? operand["path"]?.stringValue, field.hasPrefix("$") else {
            throw Self.malformed("$unwind")
        }
        let steps = try path(String(field.dropFirst()))
        let keepsEmpty = operand["preserveNullAndEmptyArrays"] == true
        let value = "doc #> \(steps)"
        let join = keepsEmpty ? "LEFT JOIN" : "JOIN"
        return
            "SELECT CASE WHEN item IS NULL THEN doc #- \(steps) ELSE roost_set(doc, \(steps), item) END AS doc \(from) "
            + "\(join) LATERAL jsonb_array_elements(CASE jsonb_typeof(\(value)) WHEN 'array' THEN \(value) "
            + "WHEN 'null' THEN NULL ELSE jsonb_build_array(\(value)) END) WITH ORDINALITY AS u(item, place) "
            + "ON \(value) IS NOT NULL"
    }

    private mutating func lookup(_ operand: JSONValue, _ from: String) throws(ParseError) -> String {
        guard let className = operand["from"]?.stringValue, let local = operand["localField"]?.stringValue,
            let foreign = operand["foreignField"]?.stringValue, let target = operand["as"]?.stringValue
        else { throw Self.malformed("$lookup") }
        let steps = try path(target)
        guard let other = schemas[className] else {
            return "SELECT roost_set(doc, \(steps), '[]') AS doc \(from)"
        }
        // A pointer is looked up by the id of its object.
        let left = "roost_key(doc #> \(try path(local)))"
        let right = "roost_key(o.doc #> \(try path(foreign)))"
        let rows = "SELECT \(document(other)) AS doc FROM \(SQLBuilder.quote(className))"
        return "SELECT roost_set(s.doc, \(steps), COALESCE((SELECT jsonb_agg(o.doc) FROM (\(rows)) AS o "
            + "WHERE \(right) = \(left.replacing("doc #>", with: "s.doc #>"))), '[]')) AS doc \(from)"
    }
}
