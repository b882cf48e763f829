import JSON
import ParseModel

/// Translates conditions on pointers that use MongoDB's column names or its strings for pointers (`Person$id`). Clients
/// of parse-server on MongoDB send them.
enum StoredFieldNames {
    private static let prefix = "_p_"
    private static let groups: Set<Name> = ["$or", "$and", "$nor"]

    /// Returns the field path for a stored pointer such as `_p_author`, or nil for other paths.
    static func pointerField(_ steps: [String]) -> [String]? {
        guard let last = steps.last, last.utf8.starts(with: prefix.utf8), last.utf8.count > prefix.utf8.count else {
            return nil
        }
        return steps.dropLast() + [String(last.utf8.dropFirst(prefix.utf8.count)) ?? ""]
    }

    /// Translates a condition to the class's field names: `_p_author` becomes `author`, and its text `Person$id` a
    /// pointer.
    ///
    /// - Throws: 102 for operators that stored pointers don't support, such as `$gt` and `$regex`.
    static func condition(_ object: JSONObject) throws(ParseError) -> JSONObject {
        var condition: JSONObject = [:]
        for (key, value) in object {
            if key == "$and", condition[key] != nil {
                continue
            } else if groups.contains(key) {
                condition[key] = try group(value)
            } else if let field = pointerField([key.text])?.first.map({ Name($0) }) {
                let comparison = try comparison(value, key.text)
                // If the field also has a condition under its own name, both apply.
                if object[field] == nil {
                    condition[field] = comparison
                } else {
                    let others = try group(condition["$and"] ?? object["$and"] ?? []).arrayValue ?? []
                    condition["$and"] = .array(others + [.object([field: comparison])])
                }
            } else {
                condition[key] = value
            }
        }
        return condition
    }

    private static func group(_ value: JSONValue) throws(ParseError) -> JSONValue {
        guard var list = value.arrayValue else { return value }
        for (index, element) in list.enumerated() {
            if let object = element.objectValue { list[index] = .object(try condition(object)) }
        }
        return .array(list)
    }

    private static let comparisons: Set<Name> = ["$eq", "$ne", "$in", "$nin", "$all"]

    private static func comparison(_ value: JSONValue, _ key: String) throws(ParseError) -> JSONValue {
        guard case .object(let object) = value else { return pointers(in: value) }
        var comparison = object
        for (name, operand) in object where name.hasPrefix("$") {
            if comparisons.contains(name) {
                comparison[name] = pointers(in: operand)
            } else if name != "$exists" {
                throw ParseError(
                    ParseError.invalidQuery,
                    "\(key) doesn't support \(name). Use $eq, $ne, $in, $nin, $all or $exists")
            }
        }
        return .object(comparison)
    }

    /// Replaces strings such as `Person$id` with pointers, also in lists. A string without a class name becomes a
    /// pointer that matches nothing.
    private static func pointers(in value: JSONValue) -> JSONValue {
        switch value {
        case .string(let text):
            let dollar = text.utf8.firstIndex(of: UInt8(ascii: "$")) ?? text.startIndex
            let id = dollar == text.startIndex ? text[...] : text[text.utf8.index(after: dollar)...]
            return Pointer(className: String(text[..<dollar]), objectId: String(id)).json
        case .array(let list): return .array(list.map { pointers(in: $0) })
        case .object, .null, .bool, .number: return value
        }
    }
}
