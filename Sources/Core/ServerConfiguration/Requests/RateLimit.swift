public import JSON

/// How many requests of a kind there may be in a time: one element of the option `rateLimit`, or what cloud code
/// declares.
public struct RateLimit: Sendable {
    /// Which requests are counted together.
    public enum Zone: String, Sendable {
        case ip, session, user, global
    }

    /// Whose requests are not counted.
    public enum Exemption: Sendable {
        case noCaller
        /// This machine's own, as parse-server has it.
        case thisMachine
        /// Those of addresses that no client on the internet has: a proxy that is not named in `trustProxy` would make
        /// all clients one.
        case privateNetworks
    }

    /// The text of the refusal.
    public var message = "Too many requests."
    /// How many milliseconds a count lasts.
    public let window: Int
    /// How many requests are served meanwhile.
    public let count: Int
    /// The methods, in capitals; nil for all.
    public var methods: Set<String>?
    /// Which requests are counted together.
    public var zone = Zone.ip
    /// Whose requests are not counted.
    public var exemption = Exemption.thisMachine
    /// Whether requests with the master key are counted.
    public var includesMasterKey = false
    /// The first component of every path that it concerns, in small letters; nil where it may be any.
    public let firstName: Name?
    /// Whether a request that overrides its method counts as the method that it is, too, so that none slips past.
    public var countsOverridden = true
    private let path: String
    private let paths: Paths

    private enum Paths {
        case matching(RegularExpression)
        /// One path, and those below it where they count.
        case named(String, includesBelow: Bool)
    }

    /// Makes a limit that counts for each address; returns nil for what is no pattern of paths.
    init?(path: String, count: Int, window: Int) {
        guard let source = RoutePattern.regularExpression(path),
            let expression = RegularExpression(source, ignoresCase: true)
        else { return nil }
        self.path = path
        paths = .matching(expression)
        self.count = count
        self.window = window
        firstName = RoutePattern.firstName(path).map { Name($0) }
    }

    /// Makes a limit on what has a name, which counts for each address.
    init(_ subject: RateLimitSubject, count: Int, window: Int) {
        // What is no pattern begins as none does.
        path = "=\(subject.path)\(subject.includesBelow ? "/" : "")"
        paths = .named(subject.path, includesBelow: subject.includesBelow)
        self.count = count
        self.window = window
        methods = subject.methods
        // Methods of what is declared are those that are carried out.
        countsOverridden = false
        let first = subject.path.utf8.split(separator: UInt8(ascii: "/")).first
        firstName = first.map { Name(String(Substring($0)).lowercased()) }
    }

    /// Whether the limit is about a path, which begins with a slash and ends with none.
    public func concerns(_ path: String) -> Bool {
        switch paths {
        case .matching(let expression):
            return expression.isFound(in: path)
        case .named(let name, let includesBelow):
            guard path.utf8.starts(with: name.utf8) else { return false }
            let rest = path.utf8.dropFirst(name.utf8.count)
            return rest.isEmpty || includesBelow && rest.first == UInt8(ascii: "/")
        }
    }

    /// What distinguishes this limit from others, in every process with the same configuration.
    public var identity: String {
        let methods = methods.map { $0.sorted().joined(separator: ",") } ?? "*"
        return "\(zone.rawValue) \(count) \(window) \(methods) \(path)"
    }

    /// Whether requests of an address are not counted.
    public func exempts(_ address: IPAddress) -> Bool {
        switch exemption {
        case .noCaller: false
        case .thisMachine:
            address == Self.loopback4 || address.mappedVersion4 == Self.loopback4 || address == Self.loopback6
        case .privateNetworks: Self.privateNetworks?.contains(address) ?? false
        }
    }

    private static let loopback4 = IPAddress("127.0.0.1")
    private static let loopback6 = IPAddress("::1")

    /// Those of RFC 1918, RFC 4193, RFC 6598 and of links.
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

/// A limit that cloud code declares for what it offers: the members of the option `rateLimit`, where those that say
/// what is limited may be left out.
public struct DeclaredRateLimit: Sendable, Equatable {
    private let members: JSONObject

    /// Reads a declaration.
    ///
    /// - Throws: `ConfigurationError` for one that is none.
    public init(_ members: JSONObject) throws(ConfigurationError) {
        _ = try RateLimitOptions.limit(members, of: RateLimitSubject("/"))
        self.members = members
    }

    /// Makes a declaration.
    ///
    /// - Parameters:
    ///   - count: How many requests are served in a time.
    ///   - time: The time; thirty years at most.
    ///   - zone: Which requests are counted together.
    ///   - message: The text of the refusal; nil for the usual.
    ///   - countsMaster: Whether requests with the master key are counted.
    ///   - countsThisMachine: Whether requests from this machine are counted.
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

    /// The limit on what it was declared for. A path and methods that the declaration names win.
    public func limit(on subject: RateLimitSubject) -> RateLimit? { try? RateLimitOptions.limit(members, of: subject) }
}

/// The requests that a limit concerns where it names no pattern of paths.
public struct RateLimitSubject: Sendable {
    /// The path, which begins with a slash. It is compared by its bytes: names of functions and classes are no
    /// patterns.
    let path: String
    /// Whether paths below it are concerned as well.
    let includesBelow: Bool
    /// The methods, in capitals; nil for all.
    let methods: Set<String>?

    /// The requests of a path.
    public init(_ path: String, includesBelow: Bool = false, methods: Set<String>? = nil) {
        self.path = path
        self.includesBelow = includesBelow
        self.methods = methods
    }
}
