public import JSON

/// A limit that cloud code declares for what it offers: the members of the option `rateLimit`, where those that say what is
/// limited may be left out.
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
    /// The path, which begins with a slash. It is compared by its bytes: names of functions and classes are no patterns.
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
