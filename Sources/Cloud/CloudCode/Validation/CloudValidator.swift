public import JSON
public import ServerConfiguration

/// The checks that the server makes before calling cloud code, as in the object form of Parse's validators.
public struct CloudValidator: Sendable, Equatable {
    /// Whether the caller must be logged in. A user who is signing up counts as logged in.
    public var requireUser = false
    /// Whether the caller must have master-key permissions, including read-only ones.
    public var requireMaster = false
    /// Whether the checks also apply to callers with master-key permissions.
    public var validateMasterKey = false
    /// Whether triggers are skipped for callers with master-key permissions.
    public var skipWithMasterKey = false
    /// Sets of roles without the prefix `role:`. The user must have at least one role of each set.
    public var requireAnyUserRoles: [[Name]] = []
    /// The roles that the user must all have, without the prefix `role:`, or nil for no check.
    public var requireAllUserRoles: [Name]?
    /// Rules for fields of the user's own record.
    public var requireUserKeys: [FieldRule] = []
    /// Rules for the parameters, or for fields of the object.
    public var fields: [FieldRule] = []
    /// The rate limit, or nil for none.
    public var rateLimit: DeclaredRateLimit?
    /// Whether the host has additional checks (functions), which run after the server's checks.
    public var asksHost = false

    /// Creates a validator without checks.
    public init() {}

    /// The rules for a parameter or a field.
    public struct FieldRule: Sendable, Equatable {
        public var name: Name
        /// Whether the value must be present.
        public var required = false
        /// The default for a missing value.
        public var defaultValue: JSONValue?
        /// Whether clients can't change the field of stored objects. New objects get the default, if any.
        public var constant = false
        /// The required type: `string`, `number`, `boolean`, `array`, `object` or `date`, or nil for any.
        public var type: String?
        /// The allowed values, or nil for any.
        public var options: [JSONValue]?
        /// The error message for a value that isn't allowed, or nil for the default.
        public var error: String?

        public init(_ name: Name) { self.name = name }
    }
}
