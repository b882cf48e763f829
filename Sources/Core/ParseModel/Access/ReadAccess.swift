public import JSON

/// The objects of a class that a caller can read, and the fields hidden from the caller.
public struct ReadAccess: Sendable {
    /// The caller's principals, which are compared with the readers in each object's ACL, or nil to ignore ACLs.
    public var readers: [Name]?
    /// Principals to compare with the writers in each object's ACL, or nil to skip this comparison. Set for reads that
    /// precede a change.
    public var writers: [Name]?
    /// An additional condition, for example from pointer permissions.
    public var filter: Filter
    /// Fields that are removed from every object.
    public var hidden: Set<Name>
    /// Alternative hidden fields for objects that refer to the user.
    public var ownerRules: [OwnerRule] = []
    /// The transformation of users' login data before it is returned, or nil to return it as stored.
    public var loginData: (@Sendable (JSONObject) -> JSONObject)?

    /// Creates access rules. By default, everything can be read.
    public init(readers: [Name]? = nil, filter: Filter = .everything, hidden: Set<Name> = []) {
        self.readers = readers
        self.filter = filter
        self.hidden = hidden
    }

    /// Other hidden fields for objects that refer to the user.
    public struct OwnerRule: Sendable {
        /// A field with one or more pointers to users, or nil if the object itself is the user.
        public var field: String?
        public var userId: String
        /// The fields that the rule hides if ``ReadAccess/hidden`` and all other rules for the object contain them.
        public var hidden: Set<Name>

        public init(field: String?, userId: String, hidden: Set<Name>) {
            self.field = field
            self.userId = userId
            self.hidden = hidden
        }
    }
}
