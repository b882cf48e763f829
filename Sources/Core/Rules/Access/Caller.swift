public import JSON
import ParseModel
public import Telemetry

/// The caller of a request, after its keys and session token were verified.
public struct Caller: Sendable, Hashable {
    /// The caller's rights, named after the keys that grant them. Operators and the server itself need no key.
    public enum Power: Sendable, Hashable {
        /// No key with special rights; the permissions of the client or its user apply.
        case client
        /// The master key, which bypasses all permissions.
        case master
        /// The read-only master key, which bypasses permissions for reading and can't write.
        case readOnlyMaster
        /// The maintenance key, which bypasses permissions and can access internal fields, but not master-only routes.
        case maintenance
    }

    public var power: Power
    /// The user of the session, or nil if nobody is logged in.
    public var user: SessionUser?
    /// The installation id of the request, or nil if it has none.
    public var installationId: String?
    /// Secrets hidden from the caller even if its power allows reading them.
    public var hiddenSecrets: HiddenSecrets = []

    /// Secrets hidden from console operators, who could use them to write as a user and bypass the audit log.
    public struct HiddenSecrets: OptionSet, Sendable, Hashable {
        public let rawValue: UInt8

        public init(rawValue: UInt8) { self.rawValue = rawValue }

        public static let sessionTokens = HiddenSecrets(rawValue: 1)
        /// The `authData` of users.
        public static let loginData = HiddenSecrets(rawValue: 2)
    }

    /// Returns the secret fields of a class that this caller can't read (``hiddenSecrets``).
    public func hiddenFields(of className: String) -> Set<Name> {
        guard !hiddenSecrets.isEmpty, className == "_Session" || className == "_User" else { return [] }
        // Early versions of parse-server stored session tokens in `_User`.
        var fields: Set<Name> = hiddenSecrets.contains(.sessionTokens) ? ["sessionToken"] : []
        if className == "_User", hiddenSecrets.contains(.loginData) { fields.insert("authData") }
        return fields
    }

    public init(power: Power = .client, user: SessionUser? = nil, installationId: String? = nil) {
        self.power = power
        self.user = user
        self.installationId = installationId
    }

    /// The installation id of cloud-code requests that name no installation.
    public static let cloudInstallation = "cloud"

    /// Whether cloud code made the request and named no installation. Its sign-ups then create no session, and users it
    /// logs in can have any number of sessions.
    public var isCloudCode: Bool { installationId == Self.cloudInstallation }

    /// The server itself, with all rights.
    public static let server = Caller(power: .master)

    /// Whether read permissions are bypassed.
    public var readsEverything: Bool { power != .client }

    /// Whether write permissions are bypassed.
    public var writesEverything: Bool { power == .master || power == .maintenance }

    /// Whether master-only routes are accessible.
    public var isMaster: Bool { power == .master || power == .readOnlyMaster }

    /// The id of the logged-in user, or nil if nobody is logged in.
    public var userId: String? { user?.id }

    /// Whether an id is the logged-in user's.
    public func isUser(_ id: String?) -> Bool { user.map { $0.id.hasSameBytes(as: id) } ?? false }

    /// Whether an object is the logged-in user's own `_User` object.
    ///
    /// - Parameter objectId: The object's id, or nil for an object without one.
    package func isOwn(_ className: String, _ objectId: String?) -> Bool { className == "_User" && isUser(objectId) }

    /// The principals that ACLs and permissions are checked against for reading, or nil if permissions are bypassed.
    public var readPrincipals: [Name]? { readsEverything ? nil : principals }

    /// The principals that ACLs and permissions are checked against for writing, or nil if permissions are bypassed.
    public var writePrincipals: [Name]? { writesEverything ? nil : principals }

    /// `*`, the roles as `role:<name>`, and the user's id, unless the id looks like another principal, such as
    /// `role:admin`.
    public var principals: [Name] { user?.principals ?? ["*"] }
}

/// Properties of a request that the access and write rules need.
public struct RequestContext: Sendable {
    /// The caller. Changing it clears ``userRecord``.
    public var caller: Caller { didSet { userRecord = nil } }
    /// The user's record with the session token, for cloud code, or nil if nobody is logged in or no trigger has needed
    /// it yet.
    public var userRecord: JSONObject?
    /// The URL of the API without a trailing slash, used for links in responses.
    public var mountURL: String
    public var now: ParseDate
    /// The IP address of the client.
    public var address: String
    /// The value of `Accept-Language`, or nil if the client sent none.
    public var languages: String?
    /// Properties for cloud code, logs and traces, or nil without a REST request, as for scheduled jobs.
    public var facts: (any RequestFacts)?

    public init(
        caller: Caller, mountURL: String, now: ParseDate, address: String = "", languages: String? = nil,
        facts: (any RequestFacts)? = nil
    ) {
        self.caller = caller
        self.mountURL = mountURL
        self.now = now
        self.address = address
        self.languages = languages
        self.facts = facts
    }

    /// A copy of the request with the server's own rights.
    public var asServer: RequestContext { acting(as: .server) }

    /// A copy of the request for a link in an email: it may change fields that users can't change, but isn't a master
    /// request for triggers.
    public var asLink: RequestContext { acting(as: Caller(power: .maintenance)) }

    private func acting(as caller: Caller) -> RequestContext {
        RequestContext(
            caller: caller, mountURL: mountURL, now: now, address: address, languages: languages, facts: facts)
    }
}

/// Properties of a request that cloud code, logs and traces need. Created once per request.
public protocol RequestFacts: AnyObject, Sendable {
    /// The header fields by lower-case name, without server keys, passwords and cookies.
    var headerFields: JSONObject { get }
    /// The context passed from the caller to triggers.
    var cloudContext: JSONObject { get }
    /// The request id, for the log.
    var logID: String { get }
    /// The nesting depth in cloud-code calls, or 0 if the request doesn't report one. Clients can fake it.
    var cloudDepth: Int { get }
    /// Whether cloud code may have made the request: it has a server key or is part of a cloud-code call.
    var isOfCloudCode: Bool { get }
    /// Whether one of the app's adapters made the request, directly or through code it called. Clients can't fake it.
    var isOfAdapter: Bool { get }
    /// Whether the client accepts `{"__op":"Delete"}` in the response to a save, for fields removed by cloud code.
    var takesDeletions: Bool { get }
    /// The span of the request, or nil if it isn't recorded.
    var span: RequestSpan? { get }
}
