import JSON

/// An access control list: the principals that may read and write an object.
///
/// An object without an ACL is public. An ACL with empty lists allows only callers that bypass ACLs.
public struct ACL: Hashable, Sendable {
    /// Principals that may read: `*`, user ids, `role:<name>`.
    public var readers: [Name]
    /// Principals that may write.
    public var writers: [Name]

    public init(readers: [Name] = [], writers: [Name] = []) {
        self.readers = readers
        self.writers = writers
    }

    /// Parses Parse's format `{"<principal>":{"read":true,"write":true}}`. Flags that aren't truthy count as absent.
    ///
    /// - Throws: 123 if the ACL names a user that was never saved or has too many principals.
    public init(json: JSONObject) throws(ParseError) {
        guard json["*unresolved"] == nil else { throw ParseError(ParseError.invalidACL, "Invalid ACL.") }
        try HardLimits.check(
            json.count, atMost: HardLimits.principals, "principals in an ACL", code: ParseError.invalidACL)
        self.init()
        for (principal, flags) in json {
            if flags["read"]?.isTruthy == true { readers.append(principal) }
            if flags["write"]?.isTruthy == true { writers.append(principal) }
        }
    }

    /// The ACL in Parse's format, readers first, with only the flags that are true.
    public var json: JSONObject {
        var object: JSONObject = [:]
        for reader in readers { object[reader] = ["read": true] }
        for writer in writers {
            object[writer] = object[writer] == nil ? ["write": true] : ["read": true, "write": true]
        }
        return object
    }
}

extension JSONValue {
    /// Whether JavaScript treats the value as true: everything but `null`, `false`, `0`, NaN and `""`.
    public var isTruthy: Bool {
        switch self {
        case .null: false
        case .bool(let value): value
        case .number(let value): value != 0 && !value.isNaN
        case .string(let value): !value.isEmpty
        case .array, .object: true
        }
    }
}

/// The names in ACLs and class-level permissions: everybody (`*`), a role (`role:<name>`), or a user by id.
public enum Principal {
    /// Keywords that permissions may contain instead of a user id.
    private static let words: Set<Name> = [
        "*", "requiresAuthentication", "authenticated", "pointerFields", "currentUser",
    ]

    /// Whether a user id or role name could be mistaken for another principal and is therefore not allowed.
    ///
    /// A user with the id `role:Admins` would count as a member of that role.
    public static func isReserved(_ id: Name) -> Bool {
        words.contains(id) || id.hasPrefix("role:") || id.hasPrefix("userField:")
    }
}
