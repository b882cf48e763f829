import JSON
import ParseModel

/// Fields of a pipeline by the names under which MongoDB stores them, as clients of parse-server on MongoDB send them.
enum StoredFieldNames {
    /// A stage's operand with the names that the class's fields have: `$_p_author` is `$author`, `$_created_at` is
    /// `$createdAt`. In a condition, `_p_author` is `author`, and the text `Person$id` beside it a pointer.
    static func replaced(in operand: JSONValue, of stage: String) -> JSONValue {
        stage == "$match" ? condition(operand) : replaced(in: operand)
    }

    private static let groups: Set<Name> = ["$or", "$and", "$nor"]

    /// A condition compares fields with values, and a text that looks like a field is a text there.
    private static func condition(_ operand: JSONValue) -> JSONValue {
        guard case .object(let object) = operand else { return operand }
        var condition: JSONObject = [:]
        for (key, value) in object {
            if key == "$and", condition[key] != nil {
                continue
            } else if key == "$expr" {
                condition[key] = replaced(in: value)
            } else if groups.contains(key) {
                condition[key] = value.arrayValue.map { .array($0.map { self.condition($0) }) } ?? value
            } else if key.hasPrefix("_p_"), key != "_p_" {
                let field = Name(String(key.text.dropFirst(3)))
                // Beside a condition on the field by its other name, both hold.
                if object[field] == nil {
                    condition[field] = comparison(value)
                } else {
                    let others = condition["$and"]?.arrayValue ?? object["$and"]?.arrayValue ?? []
                    condition["$and"] = .array(others + [.object([field: comparison(value)])])
                }
            } else {
                condition[key] = value
            }
        }
        return .object(condition)
    }

    private static let comparisons: Set<Name> = ["$eq", "$ne", "$in", "$nin", "$all"]

    /// What a stored pointer is compared with: `Person$id` is a pointer, by itself, or behind an operator.
    private static func comparison(_ value: JSONValue) -> JSONValue {
        guard case .object(let object) = value else { return pointers(in: value) }
        var comparison = object
        for (name, operand) in object where comparisons.contains(name) { comparison[name] = pointers(in: operand) }
        return .object(comparison)
    }

    /// The same with pointers in the place of texts such as `Person$id`, also in a list.
    private static func pointers(in value: JSONValue) -> JSONValue {
        switch value {
        case .string(let text):
            guard let dollar = text.utf8.firstIndex(of: UInt8(ascii: "$")), dollar != text.startIndex else {
                return value
            }
            let id = text[text.index(after: dollar)...]
            return Pointer(className: String(text[..<dollar]), objectId: String(id)).json
        case .array(let list): return .array(list.map { pointers(in: $0) })
        case .object, .null, .bool, .number: return value
        }
    }

    private static func replaced(in value: JSONValue) -> JSONValue {
        switch value {
        case .string(let text): .string(replaced(in: text))
        case .array(let list): .array(list.map { replaced(in: $0) })
        case .object(let object): .object(object.mapValues { replaced(in: $0) })
        case .null, .bool, .number: value
        }
    }

    private static func replaced(in reference: String) -> String {
        switch reference {
        case "$_created_at": "$createdAt"
        case "$_updated_at": "$updatedAt"
        case let pointer where pointer.hasPrefix("$_p_"): "$" + pointer.dropFirst(4)
        default: reference
        }
    }
}
