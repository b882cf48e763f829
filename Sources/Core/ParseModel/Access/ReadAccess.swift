public import JSON

/// With whose eyes objects of a class are read.
public struct ReadAccess: Sendable {
    /// The caller's principals, any of which must be among an object's readers; nil to see every object.
    public var readers: [Name]?
    /// Principals, any of which must be among an object's writers; nil for any object: what is read because it is to be changed.
    public var writers: [Name]?
    /// A further condition, by which pointer permissions let objects through.
    public var filter: Filter
    /// Fields that are left out of every object.
    public var hidden: Set<Name>
    /// Fields hidden from those who are not named by a field of the object itself.
    public var ownerRules: [OwnerRule]
    /// How what login providers know of users is shown; nil for as it is stored.
    public var loginData: (@Sendable (JSONObject) -> JSONObject)?

    /// Makes an access that sees everything.
    public init(
        readers: [Name]? = nil, filter: Filter = .everything, hidden: Set<Name> = [], ownerRules: [OwnerRule] = []
    ) {
        self.readers = readers
        self.filter = filter
        self.hidden = hidden
        self.ownerRules = ownerRules
    }

    /// Objects whose field names the user are read with another set of hidden fields.
    public struct OwnerRule: Sendable {
        /// A field that holds a pointer to a user, or several; nil means the object itself is the user.
        public var field: String?
        /// The user.
        public var userId: String
        /// The hidden fields for such objects: the intersection is taken over all rules that apply.
        public var hidden: Set<Name>

        public init(field: String?, userId: String, hidden: Set<Name>) {
            self.field = field
            self.userId = userId
            self.hidden = hidden
        }
    }
}
