import JSON
import OrderedCollections
import ParseModel

/// Why an operation is let through or refused.
public struct PermissionReason: Sendable, Hashable {
    /// The kind of rule that decides.
    public enum Rule: String, Sendable {
        /// The permissions of the class.
        case classPermissions = "class"
        /// A field of the object that points to the user.
        case pointer
        /// The ACL of the object.
        case acl
        /// Fields that are hidden.
        case protected
        /// Only the master key gets through, whatever is set.
        case master
    }

    /// The kind of rule.
    public var rule: Rule
    /// The caller's name that the rule lets in: `*`, `role:<name>`, `authenticated` or the user's id. Nil for a rule that
    /// refuses.
    public var who: Name?
    /// The field that the rule looks at, or hides.
    public var field: Name?
    /// For a rule that refuses, those it would let in. A field that names users is `userField:<name>`.
    public var allows: [Name]

    public init(_ rule: Rule, who: Name? = nil, field: Name? = nil, allows: [Name] = []) {
        self.rule = rule
        self.who = who
        self.field = field
        self.allows = allows
    }
}

extension ClassSchema {
    /// Returns why ``permit(_:to:)`` lets a caller through or refuses it. If it lets the caller through to some objects
    /// only, these are the fields that must point to the user.
    package func reasons(_ operation: ClassOperation, for caller: Caller) -> [PermissionReason] {
        let entry = effectivePermissions[operation]
        if let who = (["*"] + caller.principals).first(where: entry.principals.contains) {
            return [PermissionReason(.classPermissions, who: who)]
        }
        guard let userId = caller.userId else { return [refusal(operation)] }
        let fields = namingFields(operation)
        guard !fields.isEmpty else {
            guard entry.requiresAuthentication else { return [refusal(operation)] }
            return [PermissionReason(.classPermissions, who: "authenticated")]
        }
        return fields.map { PermissionReason(.pointer, who: Name(userId), field: $0) }
    }

    /// Returns the refusal by the permissions of the class, with those they would let in.
    package func refusal(_ operation: ClassOperation) -> PermissionReason {
        let entry = effectivePermissions[operation]
        let fields = namingFields(operation)
        var allows = entry.principals.sorted()
        if entry.requiresAuthentication, fields.isEmpty { allows.append("authenticated") }
        allows += fields.map { Name("userField:\($0.text)") }
        return PermissionReason(.classPermissions, allows: allows)
    }

    /// The fields whose users an operation lets in, each once.
    private func namingFields(_ operation: ClassOperation) -> OrderedSet<Name> {
        OrderedSet(effectivePermissions.userFields(for: operation))
    }
}
