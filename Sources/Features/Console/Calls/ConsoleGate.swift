import Encoding
import JSON
package import ParseModel
import Rules

/// The one place where it is decided what a role may call of the interface.
package struct ConsoleGate: Sendable {
    package struct Call: Sendable {
        /// The path with the names of routes as parse-server writes them.
        package var path: [String]
        /// The method that came, in capitals.
        package var method: String
        /// Whether the route writes nothing.
        package var onlyReads: Bool
        /// What the query and the body say.
        package var parameters: JSONObject
        /// The fields that the body sets.
        package var fields: [Name]

        /// Describes a call.
        package init(
            path: [String], method: String, onlyReads: Bool, parameters: JSONObject = [:], fields: [Name] = []
        ) {
            self.path = path
            self.method = method
            self.onlyReads = onlyReads
            self.parameters = parameters
            self.fields = fields
        }

        /// The class whose objects the call is about; nil for any other call.
        var className: String? {
            guard let first = path.first else { return nil }
            let name = Name(first.asciiLowercased)
            if name == ClassPath.classes { return path.count > 1 ? path[1] : nil }
            return ClassPath.className(ofPath: name)?.text
        }
    }

    // Addresses may have passwords and keys in them.
    private static let refusalOfHooks = "Only developers can read webhook addresses."

    /// Why a role may not make a call, in words; nil where it may.
    ///
    /// - Parameter schema: A class by its name; nil for one that there is not.
    package static func refusal(of call: Call, for role: ConsoleRole, schema: (String) -> ClassSchema?) -> String? {
        if role < .developer {
            switch call.path.first?.asciiLowercased {
            case "scriptlog": return "Only developers can read the log."
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

    /// What an editor may not write: whatever is no object or file, classes of the server's own, fields that there are
    /// not.
    private static func refusalOfWrite(_ call: Call, _ schema: (String) -> ClassSchema?) -> String? {
        if call.path.first?.asciiLowercased == "files" || call.path == ["batch"] { return nil }
        guard let className = call.className else { return "Editors can only change objects and files." }
        // The routes of accounts that stand beside those of objects, such as `users/me`, are no objects.
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

/// Whether a viewer or an editor asks for sessions or users by their secrets: answers with and without an object would spell
/// one out, letter by letter, an aggregate would give it another name, and with it the caller could write as a user, in
/// another's name and beside the audit.
enum TokenSearch {
    static let refusal = "This role can't search by session or user tokens."

    /// The class of webhooks, to which conditions of other classes may lead.
    static let hooks: Name = "_Hooks"
    /// The tokens of sessions, those of mails, and hashes of passwords.
    private static let secrets = [
        hooks.text, "sessionToken", "_session_token", "_perishable_token", "_email_verify_token", "_hashed_password",
        "_password_history",
    ]
    /// What accounts are logged in to by others, which a viewer does not see.
    private static let logins = ["authData", "_auth_data"]

    /// What names the fields of an answer, which has no tokens.
    private static let harmless: Set<Name> = ["keys", "excludeKeys", "include"]

    static func finds(in call: ConsoleGate.Call, for role: ConsoleRole) -> Bool {
        let words = role == .viewer ? secrets + logins : secrets
        if call.path.first?.asciiLowercased == "aggregate" {
            // Expressions make texts of whole documents, in which no name of a field is found.
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
            // A text may be JSON once more, which writes a letter in several ways.
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

/// What an operator of the console may do.
package enum ConsoleRole: String, Sendable, CaseIterable, Comparable {
    case viewer
    /// Objects and files.
    case editor
    /// Everything but operators.
    case developer
    case owner

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }

    /// Secrets that finds leave out of what the role sees.
    var hiddenSecrets: Caller.HiddenSecrets { self == .viewer ? [.sessionTokens, .loginData] : .sessionTokens }

    package static func < (left: ConsoleRole, right: ConsoleRole) -> Bool { left.rank < right.rank }
}
