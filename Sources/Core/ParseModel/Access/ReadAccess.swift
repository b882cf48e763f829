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
    /// Fields that are removed from the objects, unless ``ownerRules`` reveal them.
    public var hidden: Set<Name>
    /// Rules that reveal some of the hidden fields to the users that an object refers to.
    public var ownerRules: [OwnerRule] = []
    /// The transformation of users' login data before it is returned, or nil to return it as stored.
    public var loginData: (@Sendable (JSONObject) -> JSONObject)?

    /// Creates access rules. By default, everything can be read.
    public init(readers: [Name]? = nil, filter: Filter = .everything, hidden: Set<Name> = []) {
        self.readers = readers
        self.filter = filter
        self.hidden = hidden
    }

    /// Reveals hidden fields to a user in the objects that refer to that user.
    public struct OwnerRule: Sendable {
        /// A field with one or more pointers to users, or nil if the object itself is the user.
        public var field: String?
        public var userId: String
        /// The fields that this rule leaves hidden. A field is hidden only if it is in ``ReadAccess/hidden`` and in
        /// this set of every rule that applies to the object.
        public var hidden: Set<Name>

        public init(field: String?, userId: String, hidden: Set<Name>) {
            self.field = field
            self.userId = userId
            self.hidden = hidden
        }
    }
}
