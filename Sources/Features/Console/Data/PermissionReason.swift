import JSON
import OrderedCollections
internal import ParseModel
import Rules

/// The rule that allows or denies an operation, for the console's permission check.
package struct PermissionReason: Sendable, Hashable {
    package enum Rule: String, Sendable {
        /// Class-level permissions.
        case classPermissions = "class"
        /// A pointer field of the object that references the user.
        case pointer
        /// The object's ACL.
        case acl
        /// Protected fields.
        case protected
        /// A restriction to the master key that no permission can lift.
        case master
    }

    package var rule: Rule
    /// The principal that the rule allows (`*`, `role:<name>`, `authenticated` or the user's id), or nil if the rule
    /// denies the operation or hides a field.
    package var who: Name?
    /// The field that the rule checks or hides, or nil if it concerns no field.
    package var field: Name?
    /// The principals that a denying rule would allow. Pointer fields appear as `userField:<name>`.
    package var allows: [Name]

    init(_ rule: Rule, who: Name? = nil, field: Name? = nil, allows: [Name] = []) {
        self.rule = rule
        self.who = who
        self.field = field
        self.allows = allows
    }
}

extension ClassSchema {
    /// Returns the reasons why ``permit(_:to:)`` allows or denies an operation. If access depends on the object, they
    /// name the pointer fields that must reference the user.
    func reasons(_ operation: ClassOperation, for caller: Caller) -> [PermissionReason] {
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

    /// Returns the denial by class-level permissions, with the principals that they would allow.
    func refusal(_ operation: ClassOperation) -> PermissionReason {
        let entry = effectivePermissions[operation]
        let fields = namingFields(operation)
        var allows = entry.principals.sorted()
        if entry.requiresAuthentication, fields.isEmpty { allows.append("authenticated") }
        allows += fields.map { Name("userField:\($0.text)") }
        return PermissionReason(.classPermissions, allows: allows)
    }

    private func namingFields(_ operation: ClassOperation) -> OrderedSet<Name> {
        OrderedSet(effectivePermissions.userFields(for: operation))
    }
}
