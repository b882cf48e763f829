import Encoding
import JSON
import ParseModel
import ServerConfiguration

extension SchemaRules {
    /// Validates and parses class-level permissions.
    ///
    /// A truthy value without members, such as `true` or an empty list, counts as an empty object, which denies every
    /// operation.
    ///
    /// - Parameter stored: The current permissions of the class. Unknown keys in them, written by another server, are
    ///   accepted if unchanged.
    /// - Returns: The permissions, or nil for null, which removes all restrictions.
    /// - Throws: 107 if a permission is invalid.
    package static func permissions(
        _ value: JSONValue, fields schema: ClassSchema, stored: JSONObject = [:], _ configuration: Configuration
    ) throws(ParseError) -> ClassLevelPermissions? {
        if value.isNull { return nil }
        guard let object = members(of: value) else { throw invalid("invalid JSON") }
        for (key, entry) in object {
            switch key {
            case "readUserFields", "writeUserFields":
                guard let list = entry.arrayValue else {
                    throw invalid(
                        "'\(text(entry))' is not a valid value for class level permissions \(key) - must be an array")
                }
                for field in list { try checkUserField(field, key.text, schema) }
            case "protectedFields": try checkProtectedFields(entry, schema, configuration)
            case "ACL": try checkDefaultACL(entry, configuration)
            default:
                guard ClassOperation(rawValue: key.text) != nil else {
                    if stored[key] == entry { continue }
                    throw invalid("\(key) is not a valid operation for class level permissions")
                }
                try checkOperation(key.text, entry, schema, configuration)
            }
        }
        return ClassLevelPermissions(json: object)
    }

    /// Returns the value's members as JavaScript would list them, or nil for a falsy value. For arrays and strings one
    /// member is enough, because the caller rejects its key.
    private static func members(of value: JSONValue) -> JSONObject? {
        switch value {
        case .object(let object): object
        case .array(let list): list.first.map { ["0": $0] } ?? [:]
        case .string(let text): text.isEmpty ? nil : ["0": value]
        default: value.isTruthy ? [:] : nil
        }
    }

    private static func invalid(_ text: String) -> ParseError { ParseError(ParseError.invalidJSON, text) }

    private static func text(_ value: JSONValue) -> String { value.stringValue ?? value.text }

    private static func checkOperation(
        _ operation: String, _ entry: JSONValue, _ schema: ClassSchema, _ configuration: Configuration
    ) throws(ParseError) {
        guard let object = entry.objectValue else {
            throw invalid(
                "'\(text(entry))' is not a valid value for class level permissions \(operation) - must be an object")
        }
        for (entity, value) in object {
            if entity == "pointerFields" {
                guard let list = value.arrayValue else {
                    throw invalid(
                        "'\(text(value))' is not a valid value for \(operation)[pointerFields] - expected an array.")
                }
                for field in list { try checkUserField(field, operation, schema) }
                continue
            }
            try checkEntity(entity.text, configuration)
            guard value == true else {
                throw invalid(
                    "'\(text(value))' is not a valid value for class level permissions "
                        + "\(operation):\(entity):\(text(value))")
            }
        }
    }

    private static func checkEntity(_ entity: String, _ configuration: Configuration) throws(ParseError) {
        if entity == "*" || entity == "requiresAuthentication" { return }
        if let role = entity.dropping(prefix: "role:"), !role.isEmpty { return }
        let hasCharactersOfId =
            configuration.allowCustomObjectId || entity.utf8.allSatisfy { $0.isASCIIAlphanumeric }
        guard !entity.isEmpty, hasCharactersOfId else {
            throw invalid("'\(entity)' is not a valid key for class level permissions")
        }
    }

    private static func checkUserField(_ field: JSONValue, _ operation: String, _ schema: ClassSchema)
        throws(ParseError)
    {
        let type = field.stringValue.flatMap { schema.type(of: $0) }
        guard type == .pointer("_User") || type == .array else {
            throw invalid(
                "'\(text(field))' is not a valid column for class level pointer permissions \(operation)")
        }
    }

    private static func checkProtectedFields(
        _ value: JSONValue, _ schema: ClassSchema, _ configuration: Configuration
    ) throws(ParseError) {
        guard let object = value.objectValue else {
            throw invalid(
                "'\(text(value))' is not a valid value for class level permissions protectedFields - must be an object"
            )
        }
        for (entity, list) in object {
            // `userField:` principals may name fields that don't exist yet.
            if !entity.hasPrefix("userField:"), entity != "authenticated" {
                try checkEntity(entity.text, configuration)
            }
            guard let fields = list.arrayValue else {
                throw invalid(
                    "'\(text(list))' is not a valid value for protectedFields[\(entity)] - expected an array.")
            }
            for field in fields {
                let name = text(field)
                guard SystemClass.commonFields[name] == nil else {
                    throw invalid("Default field '\(name)' can not be protected")
                }
                guard schema.fields[name] != nil else {
                    throw invalid("Field '\(name)' in protectedFields:\(entity) does not exist")
                }
            }
        }
    }

    private static func checkDefaultACL(_ value: JSONValue, _ configuration: Configuration) throws(ParseError) {
        guard let object = value.objectValue else {
            throw invalid("'\(text(value))' is not a valid value for class level permissions acl")
        }
        for (entity, flags) in object {
            if entity != "currentUser" { try checkEntity(entity.text, configuration) }
            guard let flags = flags.objectValue,
                flags.allSatisfy({ ($0.key == "read" || $0.key == "write") && $0.value.boolValue != nil })
            else { throw invalid("'\(text(.object(object)))' is not a valid value for class level permissions acl") }
        }
    }
}
