public import JSON
public import ParseModel
import ServerConfiguration

/// Parses the JSON form of validators: the object form of Parse's SDKs, with type names in place of constructors and
/// without functions.
extension CloudValidator {
    /// Parses a validator.
    ///
    /// - Throws: `ParseError` if a declaration is invalid.
    public init(json: JSONObject) throws(ParseError) {
        self.init()
        for (key, value) in json {
            switch key {
            case "requireUser": requireUser = try Self.flag(key, value)
            case "requireMaster": requireMaster = try Self.flag(key, value)
            case "validateMasterKey": validateMasterKey = try Self.flag(key, value)
            case "skipWithMasterKey": skipWithMasterKey = try Self.flag(key, value)
            case "asksHost": asksHost = try Self.flag(key, value)
            case "requireAnyUserRoles": requireAnyUserRoles = [try Self.list(key, value).compactMap(\.nameValue)]
            case "requireAllUserRoles": requireAllUserRoles = try Self.list(key, value).compactMap(\.nameValue)
            case "requireUserKeys": requireUserKeys = try Self.rules(key, value)
            case "fields": fields = try Self.rules(key, value)
            case "rateLimit":
                guard case .object(let limit) = value else { throw Self.wrongType(key, "object", value) }
                do throws(ConfigurationError) {
                    rateLimit = try DeclaredRateLimit(limit)
                } catch {
                    throw ParseError(ParseError.otherCause, error.message)
                }
            default: throw Self.unsupported(key)
            }
        }
    }

    private static func rules(_ key: Name, _ value: JSONValue) throws(ParseError) -> [FieldRule] {
        switch value {
        case .array(let names):
            return names.compactMap(\.nameValue).map { name in
                var rule = FieldRule(name)
                rule.required = true
                return rule
            }
        case .object(let fields):
            var rules: [FieldRule] = []
            for (name, options) in fields {
                switch options {
                case .string(let required):
                    // parse-server takes a string as the name of a required field.
                    var rule = FieldRule(Name(required))
                    rule.required = true
                    rules.append(rule)
                case .object(let options): rules.append(try rule(name, options))
                default: throw wrongType(name, "object", options)
                }
            }
            return rules
        default: throw wrongType(key, "array", value)
        }
    }

    private static func rule(_ name: Name, _ options: JSONObject) throws(ParseError) -> FieldRule {
        var rule = FieldRule(name)
        for (key, value) in options {
            switch key {
            case "required": rule.required = try flag(key, value)
            case "constant": rule.constant = try flag(key, value)
            case "default": rule.defaultValue = value.orNil
            case "error":
                guard case .string(let text) = value else { throw wrongType(key, "string", value) }
                rule.error = text
            case "type":
                guard case .string(let text) = value else { throw wrongType(key, "string", value) }
                rule.type = text.lowercased()
            case "options": rule.options = value.arrayValue ?? [value]
            default: throw unsupported(key)
            }
        }
        return rule
    }

    private static func flag(_ key: Name, _ value: JSONValue) throws(ParseError) -> Bool {
        guard case .bool(let flag) = value else { throw wrongType(key, "boolean", value) }
        return flag
    }

    private static func list(_ key: Name, _ value: JSONValue) throws(ParseError) -> [JSONValue] {
        guard case .array(let list) = value else { throw wrongType(key, "array", value) }
        return list
    }

    private static func unsupported(_ key: Name) -> ParseError {
        ParseError(
            ParseError.otherCause, "\(key) is not a supported parameter for Cloud Function validations.")
    }

    private static func wrongType(_ key: Name, _ expected: String, _ value: JSONValue) -> ParseError {
        ParseError(
            ParseError.otherCause,
            "Invalid type for Cloud Function validation key \(key). Expected \(expected), actual "
                + CloudValidation.type(of: value))
    }
}
