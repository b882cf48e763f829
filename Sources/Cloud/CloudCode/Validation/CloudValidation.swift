import JSON
import ParseModel

/// Applies a validator to a call without any I/O, in parse-server's order of checks.
struct CloudValidation {
    private let validator: CloudValidator
    private let call: CloudCall
    /// The call's object or, without one, its parameters, with defaults filled in.
    private(set) var params: JSONObject
    /// Defaults to write to the object. Empty for calls without an object.
    private(set) var set: JSONObject = [:]
    /// Constant fields of a stored object, which must not be written. Empty for calls without an object.
    private(set) var reverted: [Name] = []

    /// Throws 142 for the first check that fails. Callers with master-key permissions may be exempt from all checks.
    init(_ validator: CloudValidator, _ call: CloudCall) throws(ParseError) {
        self.validator = validator
        self.call = call
        params = call.object ?? call.params
        if call.caller.isMaster, !validator.validateMasterKey { return }
        let user = call.caller.user ?? Self.newUser(call)
        let needsUser =
            validator.requireUser || !validator.requireAnyUserRoles.isEmpty || validator.requireAllUserRoles != nil
        if needsUser, user == nil { throw Self.failed("Please login to continue.") }
        if validator.requireMaster, !call.caller.isMaster {
            throw Self.failed("Master key is required to complete this request.")
        }
        for rule in validator.fields { try check(rule) }
        for rule in validator.fields where rule.options != nil { try Self.checkOption(rule, params[rule.name]) }
        try checkRoles()
        try checkUserKeys(user)
    }

    /// Returns the user who signs up, because that user counts as the caller, or nil for other calls.
    private static func newUser(_ call: CloudCall) -> JSONObject? {
        guard case .trigger(let event, "_User") = call.target, [.beforeSave, .afterSave].contains(event) else {
            return nil
        }
        return call.original == nil ? call.object : nil
    }

    private mutating func check(_ rule: CloudValidator.FieldRule) throws(ParseError) {
        let isSave = call.object != nil
        if let value = rule.defaultValue, params[rule.name]?.isNull ?? true { assign(rule.name, value, isSave) }
        if rule.constant, isSave {
            if let original = call.original {
                params[rule.name] = original[rule.name]
                set[rule.name] = nil
                // Dotted keys also change the field.
                let inside = Name("\(rule.name).")
                reverted += [rule.name] + call.changes.keys.filter { $0.hasPrefix(inside) }
            } else if let value = rule.defaultValue {
                assign(rule.name, value, isSave)
            }
        }
        if rule.required, params[rule.name]?.isNull ?? true {
            throw Self.failed("Please specify data for \(rule.name).")
        }
        guard let value = params[rule.name], let type = rule.type else { return }
        guard Self.type(of: value) == type || type == "date" && value["__type"] == "Date" else {
            throw Self.failed("Invalid type for \(rule.name). Expected: \(type)")
        }
    }

    private mutating func assign(_ name: Name, _ value: JSONValue, _ isSave: Bool) {
        params[name] = value
        if isSave { set[name] = value }
    }

    private static func checkOption(_ rule: CloudValidator.FieldRule, _ value: JSONValue?) throws(ParseError) {
        guard let options = rule.options, rule.required || value != nil else { return }
        guard !options.contains(where: { $0 == value }) else { return }
        let expected = options.map { $0.stringValue ?? $0.text }.joined(separator: ", ")
        throw ParseError(
            ParseError.validationError,
            rule.error ?? "Validation failed. Invalid option for \(rule.name). Expected: \(expected)")
    }

    private func checkRoles() throws(ParseError) {
        let roles = Set(call.caller.roles)
        func has(_ role: Name) -> Bool { roles.contains(Name("role:\(role)")) }
        for any in validator.requireAnyUserRoles where !any.contains(where: has) {
            throw Self.failed("User does not match the required roles.")
        }
        if let all = validator.requireAllUserRoles, !all.allSatisfy(has) {
            throw Self.failed("User does not match all the required roles.")
        }
    }

    private func checkUserKeys(_ user: JSONObject?) throws(ParseError) {
        for rule in validator.requireUserKeys {
            guard let user else {
                throw rule.options == nil
                    ? ParseError(ParseError.validationError, "Please login to make this request.")
                    : Self.failed("Please login to continue.")
            }
            if rule.required, user[rule.name]?.isNull ?? true {
                throw Self.failed("Please set data for \(rule.name) on your account.")
            }
            if rule.options != nil {
                var rule = rule
                rule.required = true
                try Self.checkOption(rule, user[rule.name])
            }
        }
    }

    /// Returns the type of a value as JavaScript's `typeof` names it, except that arrays are `array`.
    static func type(of value: JSONValue) -> String {
        switch value {
        case .null, .object: "object"
        case .bool: "boolean"
        case .number: "number"
        case .string: "string"
        case .array: "array"
        }
    }

    private static func failed(_ reason: String) -> ParseError {
        ParseError(ParseError.validationError, "Validation failed. \(reason)")
    }
}
