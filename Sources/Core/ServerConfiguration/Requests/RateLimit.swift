public import JSON

/// A limit on the number of requests per time window: an element of the option `rateLimit`, a built-in limit of
/// `accountRateLimit`, or a limit that cloud code declares.
public struct RateLimit: Sendable {
    /// The requests that share a count.
    public enum Zone: String, Sendable {
        case ip, session, user, global
    }

    /// The clients whose requests are not counted.
    public enum Exemption: Sendable {
        case noCaller
        /// Clients on this machine, as in parse-server.
        case thisMachine
        /// Clients at private addresses. Such an address may belong to a proxy that `trustProxy` doesn't include, whose
        /// clients would all share one count.
        case privateNetworks
    }

    /// The error message for requests beyond the limit.
    public var message = "Too many requests."
    /// The length of the window in milliseconds.
    public let window: Int
    /// The maximum number of requests per window.
    public let count: Int
    /// The methods in upper case, or nil for all.
    public var methods: Set<String>?
    public var zone = Zone.ip
    public var exemption = Exemption.thisMachine
    public var includesMasterKey = false
    /// The first component of every matching path in lower case, or nil if it varies.
    public let firstName: Name?
    /// Whether a POST that overrides its method also counts as POST, so that overriding can't bypass the limit. Reads
    /// that SDKs send as POST are excepted.
    public var countsOverridden = true
    private let path: String
    private let paths: Paths

    private enum Paths {
        case matching(RoutePattern)
        /// A literal path, and optionally the paths below it.
        case named(String, includesBelow: Bool)
    }

    /// Creates a limit per address, or returns nil if the path is not a valid pattern.
    init?(path: String, count: Int, window: Int) {
        guard let pattern = RoutePattern(path) else { return nil }
        self.path = path
        paths = .matching(pattern)
        self.count = count
        self.window = window
        firstName = RoutePattern.firstName(path).map { Name($0) }
    }

    /// Creates a limit per address on a function, a class or another named subject.
    init(_ subject: RateLimitSubject, count: Int, window: Int) {
        // A prefix that patterns don't normally have, so that identities differ.
        path = "=\(subject.path)\(subject.includesBelow ? "/" : "")"
        paths = .named(subject.path, includesBelow: subject.includesBelow)
        self.count = count
        self.window = window
        methods = subject.methods
        // Methods of declared limits are compared with the executed method.
        countsOverridden = false
        let first = subject.path.utf8.split(separator: UInt8(ascii: "/")).first
        firstName = first.map { Name(String(Substring($0)).lowercased()) }
    }

    /// Whether the limit applies to a path, given with a leading and without a trailing slash.
    public func concerns(_ path: String) -> Bool {
        switch paths {
        case .matching(let pattern):
            return pattern.matches(path)
        case .named(let name, let includesBelow):
            guard path.utf8.starts(with: name.utf8) else { return false }
            let rest = path.utf8.dropFirst(name.utf8.count)
            return rest.isEmpty || includesBelow && rest.first == UInt8(ascii: "/")
        }
    }

    /// A key that identifies the limit in all processes with the same configuration.
    public var identity: String {
        let methods = methods.map { $0.sorted().joined(separator: ",") } ?? "*"
        return "\(zone.rawValue) \(count) \(window) \(methods) \(path)"
    }

    /// Whether requests from an address are not counted.
    public func exempts(_ address: IPAddress) -> Bool {
        switch exemption {
        case .noCaller: false
        case .thisMachine: Self.thisMachine?.contains(address) ?? false
        case .privateNetworks: Self.privateNetworks?.contains(address) ?? false
        }
    }

    private static let thisMachine = try? AddressList(Configuration.thisMachine)

    /// The private and shared networks of RFC 1918, RFC 4193 and RFC 6598, and link-local and loopback addresses.
    private static let privateNetworks = try? AddressList([
        "127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "169.254.0.0/16", "::1",
        "fc00::/7",
        "fe80::/10",
    ])
}

extension RateLimit: Equatable {
    public static func == (left: RateLimit, right: RateLimit) -> Bool {
        left.identity == right.identity && left.message == right.message && left.exemption == right.exemption
            && left.includesMasterKey == right.includesMasterKey
    }
}

/// A limit that cloud code declares for a function, a trigger or similar: the members of the option `rateLimit`, of
/// which path and methods are optional.
public struct DeclaredRateLimit: Sendable, Equatable {
    private let members: JSONObject

    /// Reads a declaration.
    ///
    /// - Throws: `ConfigurationError` for an invalid declaration.
    public init(_ members: JSONObject) throws(ConfigurationError) {
        _ = try RateLimitOptions.limit(members, of: RateLimitSubject("/"))
        self.members = members
    }

    /// Creates a declaration.
    ///
    /// - Parameters:
    ///   - count: The maximum number of requests per window.
    ///   - time: The length of the window, limited to about 28 years.
    ///   - message: The error message for requests beyond the limit, or nil for the default.
    public init(
        count: Int, time: Duration, zone: RateLimit.Zone = .ip, message: String? = nil, countsMaster: Bool = false,
        countsThisMachine: Bool = false
    ) {
        let window = min(max(0, time / .milliseconds(1)), 9e11).rounded()
        var members: JSONObject = [
            "requestCount": .number(Double(min(max(0, count), 1 << 39))), "requestTimeWindow": .number(window),
            "zone": .string(zone.rawValue), "includeMasterKey": .bool(countsMaster),
            "includeInternalRequests": .bool(countsThisMachine),
        ]
        members["errorResponseMessage"] = message.map { .string($0) }
        self.members = members
    }

    /// Returns the limit for a subject. A path and methods in the declaration take precedence over the subject's.
    public func limit(on subject: RateLimitSubject) -> RateLimit? { try? RateLimitOptions.limit(members, of: subject) }
}

/// The requests that a limit without a path pattern applies to.
public struct RateLimitSubject: Sendable {
    /// The path, with a leading slash. Names of functions and classes are not patterns, so it is compared byte by byte.
    let path: String
    /// Whether the limit also applies to paths below it.
    let includesBelow: Bool
    /// The methods in upper case, or nil for all.
    let methods: Set<String>?

    public init(_ path: String, includesBelow: Bool = false, methods: Set<String>? = nil) {
        self.path = path
        self.includesBelow = includesBelow
        self.methods = methods
    }
}
