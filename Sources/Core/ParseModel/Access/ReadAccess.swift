public import JSON

/// The objects of a class that a caller can read, and the fields hidden from the caller.
public struct ReadAccess: Sendable {
    /// The caller's principals, any of which must be among an object's readers, or nil to read every object.
    public var readers: [Name]?
    /// Principals, any of which must be among an object's writers, or nil for no such condition. Set for reads that
    /// precede a change.
    public var writers: [Name]?
    /// An additional condition, derived from pointer permissions.
    public var filter: Filter
    /// Fields that are removed from every object.
    public var hidden: Set<Name>
    /// Alternative hidden fields for users whom an object itself names.
    public var ownerRules: [OwnerRule]
    /// The transformation of users' login data before it is returned, or nil to return it as stored.
    public var loginData: (@Sendable (JSONObject) -> JSONObject)?

    /// Creates access rules. By default, everything can be read.
    public init(
        readers: [Name]? = nil, filter: Filter = .everything, hidden: Set<Name> = [], ownerRules: [OwnerRule] = []
    ) {
        self.readers = readers
        self.filter = filter
        self.hidden = hidden
        self.ownerRules = ownerRules
    }

    /// Other hidden fields for objects that refer to the user.
    public struct OwnerRule: Sendable {
        /// A field with one or more pointers to users, or nil if the object itself is the user.
        public var field: String?
        public var userId: String
        /// The hidden fields for such objects. If several rules apply, a field is hidden only if all of them hide it.
        public var hidden: Set<Name>

        public init(field: String?, userId: String, hidden: Set<Name>) {
            self.field = field
            self.userId = userId
            self.hidden = hidden
        }
    }
}
