import JSON
import OrderedCollections
import ParseModel

extension WrittenFields {
    /// Checks required fields, and sets defaults on a new object.
    ///
    /// - Returns: The names of the fields set to their default.
    /// - Throws: 111 if a field required by a system class is missing, 142 if a field required by the schema is
    ///   missing.
    package static func applyDefaults(
        _ operations: inout OrderedDictionary<Name, FieldOperation>, hasACL: Bool, _ schema: ClassSchema,
        isCreating: Bool
    ) throws(ParseError) -> [String] {
        for column in SystemClass.requiredFields[schema.name] ?? [] {
            let isMissing: Bool
            switch (column, operations[column]) {
            case ("ACL", _): isMissing = !hasACL
            case (_, nil): isMissing = isCreating
            case (_, .delete), (_, .set(.null)): isMissing = true
            case (_, .set(.string(let text))): isMissing = text.isEmpty
            default: isMissing = false
            }
            if isMissing { throw ParseError(ParseError.incorrectType, "\(column) is required.") }
        }
        var filled: [String] = []
        // Iterates by index, because copying each field is expensive and most need no check.
        let fields = schema.fields
        for index in fields.values.indices where fields.values[index].concernsAbsence {
            let (name, field) = fields.elements[index]
            guard isWritten(name, of: schema.name) else {
                if name == "ACL", field.isRequired, !hasACL {
                    throw ParseError(ParseError.validationError, "\(name) is required")
                }
                continue
            }
            let operation = operations[name]
            if isCreating, let value = field.defaultValue, !value.isNull, isEmpty(operation) {
                operations[name] = .set(value)
                filled.append(name.text)
                continue
            }
            guard field.isRequired else { continue }
            switch operation {
            case nil where isCreating, .delete, .set(.null), .set(.string("")):
                throw ParseError(ParseError.validationError, "\(name) is required")
            default: break
            }
        }
        return filled
    }

    /// The server sets the common fields itself, and stores passwords as hashes.
    private static func isWritten(_ field: Name, of className: String) -> Bool {
        SystemClass.commonFields[field] == nil && !(field == "password" && className == "_User")
    }

    private static func isEmpty(_ operation: FieldOperation?) -> Bool {
        switch operation {
        case nil, .delete, .set(.null): true
        default: false
        }
    }
}
