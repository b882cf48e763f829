public import JSON
import ParseModel
public import Telemetry

/// Who is calling, after keys and session token were looked at.
public struct Caller: Sendable, Hashable {
    /// What lifts a caller above the rules, if anything does.
    public enum Power: Sendable, Hashable {
        /// A client, with or without a user.
        case client
        /// The master key: every rule is lifted.
        case master
        /// The read-only master key: reads as the master, writes nothing.
        case readOnlyMaster
        /// The maintenance key: internal fields too, but no master-only routes.
        case maintenance
    }

    /// The power of the keys that were sent.
    public var power: Power
    /// The session's user, if any.
    public var user: SessionUser?
    /// The installation that calls, as the SDKs name it.
    public var installationId: String?
    /// Secrets that the caller doesn't see, whatever power the keys have.
    public var hiddenSecrets: HiddenSecrets = []

    /// Secrets that an operator of the console doesn't see: with either, the operator could write as a user, beside the
    /// audit.
    public struct HiddenSecrets: OptionSet, Sendable, Hashable {
        public let rawValue: UInt8

        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Session tokens.
        public static let sessionTokens = HiddenSecrets(rawValue: 1)
        /// Users' login data.
        public static let loginData = HiddenSecrets(rawValue: 2)
    }

    /// Returns the fields of a class that are among the caller's hidden secrets.
    public func hiddenFields(of className: String) -> Set<Name> {
        guard !hiddenSecrets.isEmpty, className == "_Session" || className == "_User" else { return [] }
        // Databases of early versions have tokens in users, too.
        var fields: Set<Name> = hiddenSecrets.contains(.sessionTokens) ? ["sessionToken"] : []
        if className == "_User", hiddenSecrets.contains(.loginData) { fields.insert("authData") }
        return fields
    }

    public init(power: Power = .client, user: SessionUser? = nil, installationId: String? = nil) {
        self.power = power
        self.user = user
        self.installationId = installationId
    }

    /// The installation of requests that cloud code makes for no device.
    public static let cloudInstallation = "cloud"

    /// Whether cloud code calls without a device. Its sign-ups create no session, and users it logs in may have any
    /// number of sessions.
    public var isCloudCode: Bool { installationId == Self.cloudInstallation }

    /// The server itself, without a caller.
    public static let server = Caller(power: .master)

    /// Whether permissions are lifted for reading.
    public var readsEverything: Bool { power != .client }

    /// Whether permissions are lifted for writing.
    public var writesEverything: Bool { power == .master || power == .maintenance }

    /// Whether master-only routes are open.
    public var isMaster: Bool { power == .master || power == .readOnlyMaster }

    /// The user's id, if any.
    public var userId: String? { user?.id }

    /// Whether this is the id of the caller's user.
    public func isUser(_ id: String?) -> Bool { user.map { $0.id.hasSameBytes(as: id) } ?? false }

    /// Whether an object is the caller's own user.
    ///
    /// - Parameter objectId: The object's id; nil for any other.
    package func isOwn(_ className: String, _ objectId: String?) -> Bool { className == "_User" && isUser(objectId) }

    /// By which names the caller is let in: `*`, roles, the user's id. Nil when permissions are lifted for reading.
    public var readPrincipals: [Name]? { readsEverything ? nil : principals }

    /// The same for writing.
    public var writePrincipals: [Name]? { writesEverything ? nil : principals }

    /// `*`, the roles as `role:<name>`, and the user's id, unless that could be read as another principal.
    public var principals: [Name] { user?.principals ?? ["*"] }
}

/// What the rules know about the request that they serve.
public struct RequestContext: Sendable {
    /// Who is calling.
    public var caller: Caller { didSet { userRecord = nil } }
    /// The record of the caller's user as cloud code gets it, with the session token; nil without a user, and before code
    /// wanted it.
    public var userRecord: JSONObject?
    /// The URL under which the API was reached, without a trailing slash: the base of links in answers.
    public var mountURL: String
    /// The time of the request.
    public var now: ParseDate
    /// The IP address that the request comes from.
    public var address: String
    /// The languages that the caller's people read, as `Accept-Language` has them; nil where it does not say.
    public var languages: String?
    /// What cloud code gets besides; nil for what the server does of its own accord.
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

    /// The same request, acting with the server's own rights.
    public var asServer: RequestContext { acting(as: .server) }

    /// The same request, acting for a link in a mail: it may change what users may not, and is not the master for
    /// triggers.
    public var asLink: RequestContext { acting(as: Caller(power: .maintenance)) }

    private func acting(as caller: Caller) -> RequestContext {
        RequestContext(
            caller: caller, mountURL: mountURL, now: now, address: address, languages: languages, facts: facts)
    }
}

/// What cloud code gets of a request besides who calls. One object a request, made with it.
public protocol RequestFacts: AnyObject, Sendable {
    /// The header fields by their names in lower case, without keys that must not leave the server.
    var headerFields: JSONObject { get }
    /// What the caller hands to triggers.
    var cloudContext: JSONObject { get }
    /// The request's id in the log.
    var logID: String { get }
    /// How many calls of cloud code the request stands in, as far as it says; 0 for a client's.
    var cloudDepth: Int { get }
    /// Whether it is believed that cloud code makes the request.
    var isOfCloudCode: Bool { get }
    /// Whether the caller takes `{"__op":"Delete"}` in the answer to a save, for a field that cloud code removed.
    var takesDeletions: Bool { get }
    /// The span of the request, or nil if it isn't recorded.
    var span: RequestSpan? { get }
}

extension RequestFacts {
    public var span: RequestSpan? { nil }
}
