import JSON
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
    /// Whom the rule lets in: `*`, `role:<name>`, `authenticated`, or the user's id; nil for a rule that refuses.
    public var who: Name?
    /// The field that the rule looks at, or hides.
    public var field: Name?

    public init(_ rule: Rule, who: Name? = nil, field: Name? = nil) {
        self.rule = rule
        self.who = who
        self.field = field
    }
}

extension ClassSchema {
    /// Why ``permit(_:to:)`` lets a caller through, or refuses it. Where it lets through to some objects only, the fields
    /// that have to point to the user.
    package func reasons(_ operation: ClassOperation, for caller: Caller) -> [PermissionReason] {
        let permissions = effectivePermissions
        let entry = permissions[operation]
        if let who = (["*"] + caller.principals).first(where: entry.principals.contains) {
            return [PermissionReason(.classPermissions, who: who)]
        }
        let fields = permissions.userFields(for: operation)
        var reasons: [PermissionReason] = []
        if entry.requiresAuthentication {
            guard caller.userId != nil else { return [PermissionReason(.classPermissions)] }
            reasons.append(PermissionReason(.classPermissions, who: "authenticated"))
        }
        guard !fields.isEmpty else { return reasons.isEmpty ? [PermissionReason(.classPermissions)] : reasons }
        return reasons + fields.map { PermissionReason(.pointer, who: caller.userId.map { Name($0) }, field: $0) }
    }
}
