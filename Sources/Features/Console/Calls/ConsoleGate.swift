import Encoding
import JSON
package import ParseModel
import Rules

/// Decides which API calls a console role may make.
package struct ConsoleGate: Sendable {
    package struct Call: Sendable {
        /// The path, with route names in parse-server's spelling.
        package var path: [String]
        /// The HTTP method, in capitals.
        package var method: String
        /// Whether the call changes nothing.
        package var onlyReads: Bool
        /// The parameters in the query and the body.
        package var parameters: JSONObject
        package var fields: [Name]

        package init(
            path: [String], method: String, onlyReads: Bool, parameters: JSONObject = [:], fields: [Name] = []
        ) {
            self.path = path
            self.method = method
            self.onlyReads = onlyReads
            self.parameters = parameters
            self.fields = fields
        }

        /// The class of the objects in the path, or nil for other paths.
        var className: String? {
            guard let first = path.first else { return nil }
            let name = Name(first.asciiLowercased)
            if name == ClassPath.classes { return path.count > 1 ? path[1] : nil }
            return ClassPath.className(ofPath: name)?.text
        }
    }

    // Webhook URLs may contain passwords and keys.
    private static let refusalOfHooks = "Only developers and owners can read webhook addresses."

    /// Returns the reason for rejecting a role's call, or nil if the call is allowed.
    ///
    /// - Parameter schema: Returns the schema of a class, or nil if the class doesn't exist.
    package static func refusal(of call: Call, for role: ConsoleRole, schema: (String) -> ClassSchema?) -> String? {
        if role < .developer {
            switch call.path.first?.asciiLowercased {
            case "scriptlog", "slow_queries": return "Only developers and owners can read logs and slow statements."
            case "hooks": return Self.refusalOfHooks
            default: break
            }
            let name = call.path.first?.asciiLowercased == "aggregate" ? call.path.last : call.className
            if let name, Name(name) == TokenSearch.hooks { return Self.refusalOfHooks }
        }
        return switch role {
        case .owner, .developer: nil
        case .editor:
            !call.onlyReads
                ? refusalOfWrite(call, schema)
                : TokenSearch.finds(in: call, for: role) ? TokenSearch.refusal : nil
        case .viewer:
            !call.onlyReads || call.method != "GET"
                ? "Viewers have read-only access." : TokenSearch.finds(in: call, for: role) ? TokenSearch.refusal : nil
        }
    }

    /// Returns the reason for rejecting an editor's write, or nil if it is allowed. Editors can write files, users,
    /// roles, installations and objects of the app's classes. They can't create classes or fields.
    private static func refusalOfWrite(_ call: Call, _ schema: (String) -> ClassSchema?) -> String? {
        if call.path.first?.asciiLowercased == "files" || call.path == ["batch"] { return nil }
        guard let className = call.className else { return "Editors can only change objects and files." }
        // Paths such as `users/me` also pass here, although they don't name an object.
        if className.hasPrefix("_"), !["_User", "_Role", "_Installation"].contains(className) {
            return "Editors can't change objects of \(className)."
        }
        guard let schema = schema(className) else { return "Editors can't create classes." }
        let unknown = call.fields.first { field in
            !isKnown(Name(String(field.text.prefix { $0 != "." })), in: schema)
        }
        return unknown.map { "Editors can't create fields, and \(className) has no \($0)." }
    }

    private static func isKnown(_ field: Name, in schema: ClassSchema) -> Bool {
        schema.fields[field] != nil || field.text.hasPrefix("_") || ["ACL", "password", "authData"].contains(field)
    }
}

/// Detects queries by viewers and editors that search for users or sessions by their secrets. Repeated queries could
/// reveal a secret letter by letter, and an aggregate could return it under another name. With a session token the
/// caller could act as that user, unaudited.
enum TokenSearch {
    static let refusal = "This role can't search by session or user tokens."

    /// The class of webhooks. It is among the secrets because a subquery of another class's query could read it.
    static let hooks: Name = "_Hooks"
    private static let secrets = [
        hooks.text, "sessionToken", "_session_token", "_perishable_token", "_email_verify_token", "_hashed_password",
        "_password_history",
    ]
    /// Third-party login data, which viewers don't see.
    private static let logins = ["authData", "_auth_data"]

    /// Parameters that only name result fields. Results never contain tokens.
    private static let harmless: Set<Name> = ["keys", "excludeKeys", "include"]

    static func finds(in call: ConsoleGate.Call, for role: ConsoleRole) -> Bool {
        let words = role == .viewer ? secrets + logins : secrets
        if call.path.first?.asciiLowercased == "aggregate" {
            // Expressions can convert whole documents to text without naming a field.
            let classes = role == .viewer ? ["_Session", "_User"] : ["_Session"]
            if let name = call.path.last, classes.contains(where: { Name($0) == Name(name) }) { return true }
            return call.parameters.contains { names($0.value, words + classes) }
        }
        return call.parameters.contains { key, value in
            !harmless.contains(key) && names(value, words)
        }
    }

    private static func names(_ value: JSONValue, _ words: [String]) -> Bool {
        switch value {
        case .string(let text):
            if words.contains(where: text.contains) { return true }
            // The text may be nested JSON, which can escape letters.
            guard text.contains("\\"), let inner = try? JSONValue(parsing: Array(text.utf8)), inner != value else {
                return false
            }
            return names(inner, words)
        case .array(let list): return list.contains { names($0, words) }
        case .object(let object):
            return object.contains { key, value in words.contains(where: key.text.contains) || names(value, words) }
        default: return false
        }
    }
}

/// The role of a console operator. Each role includes the permissions of the previous one.
package enum ConsoleRole: String, Sendable, CaseIterable, Comparable {
    case viewer
    /// Can also change objects and files.
    case editor
    /// Can do everything except manage operators and their sessions, apply fixes, and create and download backups.
    case developer
    case owner

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }

    /// The secrets that query results omit for the role.
    var hiddenSecrets: Caller.HiddenSecrets { self == .viewer ? [.sessionTokens, .loginData] : .sessionTokens }

    package static func < (left: ConsoleRole, right: ConsoleRole) -> Bool { left.rank < right.rank }
}
