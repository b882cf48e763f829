import JSON

/// Who is named in ACLs and class-level permissions: everybody (`*`), a role (`role:<name>`), or a user by id.
public enum Principal {
    /// Words that permissions have among the ids of users, for something else.
    private static let words: Set<Name> = [
        "*", "requiresAuthentication", "authenticated", "pointerFields", "currentUser",
    ]

    /// Whether an id could be read as another principal, so that no user may have it.
    ///
    /// Who had the id `role:Admins` would pass for a member of that role.
    public static func isReserved(_ id: Name) -> Bool {
        words.contains(id) || id.hasPrefix("role:") || id.hasPrefix("userField:")
    }
}
