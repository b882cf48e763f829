import JSON

/// Fields in the expressions of a pipeline by the names under which MongoDB stores them, as servers before 8 take them.
enum StoredFieldNames {
    /// A stage's operand with the names that the class's fields have: `$_p_author` is `$author`, `$_created_at` is
    /// `$createdAt`.
    static func replaced(in operand: JSONValue, of stage: String) -> JSONValue {
        guard stage == "$match" else { return replaced(in: operand) }
        // A condition compares fields with values, and a text that looks like a field is a text there.
        guard case .object(var condition) = operand, let expression = condition["$expr"] else { return operand }
        condition["$expr"] = replaced(in: expression)
        return .object(condition)
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
