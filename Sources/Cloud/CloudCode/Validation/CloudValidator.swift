public import JSON
public import ServerConfiguration

/// What the server checks before cloud code is called: the object form of Parse's validators.
public struct CloudValidator: Sendable, Equatable {
    /// A session is needed; who signs up counts as the user.
    public var requireUser = false
    /// A master key is needed.
    public var requireMaster = false
    /// The checks hold for the master, too.
    public var validateMasterKey = false
    /// The code of a trigger is not called for the master.
    public var skipWithMasterKey = false
    /// One of these roles is needed, by their names without `role:`; nil for no such rule.
    public var requireAnyUserRoles: [Name]?
    /// All of these roles are needed; nil for no such rule.
    public var requireAllUserRoles: [Name]?
    /// What the user's record must have.
    public var requireUserKeys: [FieldRule] = []
    /// What is asked of parameters, or of fields of the object.
    public var fields: [FieldRule] = []
    /// How often clients may ask for it; nil for no such limit.
    public var rateLimit: DeclaredRateLimit?
    /// Whether the host has checks of its own besides (functions): it is asked after the checks of the server.
    public var asksHost = false

    /// A validator that checks nothing.
    public init() {}

    /// The rules for one field.
    public struct FieldRule: Sendable, Equatable {
        /// The field.
        public var name: Name
        /// It must be there.
        public var required = false
        /// What it is when it is not there.
        public var defaultValue: JSONValue?
        /// It cannot be changed: a new object has the default, a stored one keeps what it has.
        public var constant = false
        /// What it must be: `string`, `number`, `boolean`, `array`, `object`, `date`.
        public var type: String?
        /// The allowed values.
        public var options: [JSONValue]?
        /// What is said when it is none of the options.
        public var error: String?

        /// A rule that asks nothing.
        public init(_ name: Name) { self.name = name }
    }
}
