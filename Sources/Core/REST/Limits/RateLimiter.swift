import Encoding
import HTTP
import JSON
import Operations
import ParseStorage
import Rules
import ServerConfiguration
import Synchronization
internal import Telemetry

/// The error for a client that exceeded a rate limit.
struct RateLimitExceeded: Error {
    static let code = 100
    let message: String
    /// The number of seconds until the limit resets.
    let retryAfter: Int
}

/// Enforces the rate limits of the options `rateLimit` and `accountRateLimit`, or those of cloud code.
final class RateLimiter: Sendable {
    private let limits: [RateLimit]
    /// Indices of limits on paths that begin with a literal name, by that name.
    private let byName: [Name: [Int]]
    /// Indices of limits that may apply to any path.
    private let others: [Int]
    private let countsByUser: Bool
    private let counter: any RequestCounter
    private let meters: LimitMeters?
    private let areOptions: Bool
    private let aliases: PathAliases

    /// Returns nil if there are no limits.
    ///
    /// - Parameters:
    ///   - configuration: Selects the counter (memory or database) and contains the path of the pages.
    ///   - store: Stores the counts shared by all processes.
    ///   - meters: Counts rejected requests.
    ///   - areOptions: Whether the limits come from the options instead of cloud code.
    init?(
        _ limits: [RateLimit], _ configuration: Configuration, _ store: ObjectStore, meters: LimitMeters? = nil,
        areOptions: Bool = false
    ) {
        guard !limits.isEmpty else { return nil }
        self.meters = meters
        self.areOptions = areOptions
        self.limits = limits
        aliases = PathAliases(pages: configuration.pages.pagesEndpoint)
        var byName: [Name: [Int]] = [:]
        var others: [Int] = []
        for (index, limit) in limits.enumerated() {
            if let name = limit.firstName { byName[name, default: []].append(index) } else { others.append(index) }
        }
        self.byName = byName
        self.others = others
        countsByUser = limits.contains { $0.zone == .user || $0.zone == .session }
        counter =
            switch configuration.rateLimitStore {
            case .memory: MemoryCounter(windows: limits.map(\.window))
            case .database: DatabaseCounter(limits: limits, store: store)
            }
    }

    /// Counts a request against the limits that don't depend on the user. Logins also count against user and session
    /// limits, so a client can't repeat them under different sessions.
    ///
    /// - Throws: ``RateLimitExceeded``, or `ParseError` if the counts are stored in the database and it fails.
    func countByAddress(_ envelope: Envelope) async throws {
        guard mayConcern(envelope) else { return }
        var demands: [RequestDemand] = []
        addByAddress(envelope, to: &demands)
        try await check(demands)
    }

    /// Counts a request that isn't a login against user and session limits. Requests without a user count by network.
    ///
    /// - Throws: ``RateLimitExceeded``, or `ParseError` if the counts are stored in the database and it fails.
    func countByUser(_ envelope: Envelope, _ user: SessionUser?) async throws {
        guard countsByUser, mayConcern(envelope) else { return }
        var demands: [RequestDemand] = []
        addByUser(envelope, user, to: &demands)
        try await check(demands)
    }

    /// Counts all calls of a batch, or a page request, in one step.
    ///
    /// - Throws: ``RateLimitExceeded``, or `ParseError` if the counts are stored in the database and it fails.
    func count(_ elements: [Envelope], _ user: SessionUser?) async throws {
        var demands: [RequestDemand] = []
        for element in elements where mayConcern(element) {
            addByAddress(element, to: &demands)
            addByUser(element, user, to: &demands)
        }
        try await check(demands)
    }

    private func addByAddress(_ envelope: Envelope, to demands: inout [RequestDemand]) {
        let isLogin = Self.isLogin(envelope)
        add(envelope, to: &demands) { zone in
            switch zone {
            case .global: []
            case .ip: Self.network(envelope.origin.address)
            case .user, .session: isLogin ? Self.network(envelope.origin.address) : nil
            }
        }
    }

    private func addByUser(_ envelope: Envelope, _ user: SessionUser?, to demands: inout [RequestDemand]) {
        guard !Self.isLogin(envelope) else { return }
        add(envelope, to: &demands) { zone in
            switch zone {
            case .global, .ip: nil
            case .user: user.map { Array($0.id.utf8) } ?? Self.network(envelope.origin.address)
            case .session: user.map { Array($0.token.utf8) } ?? Self.network(envelope.origin.address)
            }
        }
    }

    private static func isLogin(_ envelope: Envelope) -> Bool {
        guard envelope.path.count == 1, let name = envelope.path.first else { return false }
        return name.asciiLowercased.hasSameBytes(as: "login")
    }

    /// - Parameter sender: The rate-limit key for a zone, or nil to skip it.
    private func add(
        _ envelope: Envelope, to demands: inout [RequestDemand], _ sender: (RateLimit.Zone) -> [UInt8]?
    ) {
        let paths = [RouteTable.canonical(envelope.path), aliases.alias(of: envelope.path)].compactMap { $0 }
            .map { "/" + $0.joined(separator: "/") }
        let address = IPAddress(envelope.origin.vouchedAddress)
        for (index, limit) in limits.enumerated() {
            guard limit.includesMasterKey || envelope.power == .client, Self.uses(envelope, limit),
                let sender = sender(limit.zone), paths.contains(where: limit.concerns),
                address.map(limit.exempts) != true
            else { continue }
            if let known = demands.firstIndex(where: { $0.limit == index && $0.sender == sender }) {
                demands[known].amount += 1
            } else {
                demands.append(RequestDemand(limit: index, sender: sender, amount: 1))
            }
        }
    }

    /// Whether a limit may apply, judging by the method and the first path component. Most requests need only this
    /// check.
    private func mayConcern(_ envelope: Envelope) -> Bool {
        guard !envelope.origin.isInternal else { return false }
        if isUsed(by: envelope, others) { return true }
        guard let first = envelope.path.first else { return false }
        let name = Name(first.asciiLowercased)
        if let own = byName[name], isUsed(by: envelope, own) { return true }
        guard let alias = aliases.first(ofAlias: envelope.path) else { return false }
        return byName[alias].map { isUsed(by: envelope, $0) } ?? false
    }

    private func isUsed(by envelope: Envelope, _ indices: [Int]) -> Bool {
        indices.contains { Self.uses(envelope, limits[$0]) }
    }

    /// Whether a limit applies to the request's method.
    ///
    /// For limits of the options, a POST that overrides its method counts as both methods, so an override can't evade
    /// them. Reads by SDKs that send all reads as POST count only as GET.
    private static func uses(_ envelope: Envelope, _ limit: RateLimit) -> Bool {
        guard let methods = limit.methods else { return true }
        if methods.contains(envelope.method.rawValue) { return true }
        return limit.countsOverridden && envelope.isOverridden && methods.contains(Method.post.rawValue)
            && !isReadOfSDK(envelope)
    }

    /// Whether an SDK sent a read as POST. Excludes logins and password checks, which do the same by GET and POST.
    private static func isReadOfSDK(_ envelope: Envelope) -> Bool {
        guard envelope.method == .get, let first = envelope.path.first else { return false }
        return ClientVersion.sendsReadsAsPost(envelope.credentials.clientVersion)
            && !["login", "verifypassword"].contains(first.asciiLowercased)
    }

    private func check(_ demands: [RequestDemand]) async throws {
        guard !demands.isEmpty else { return }
        let counts = try await counter.count(demands)
        for (demand, count) in zip(demands, counts) where count.requests > limits[demand.limit].count {
            meters?.add(limit: areOptions ? demand.limit : nil)
            throw RateLimitExceeded(
                message: limits[demand.limit].message, retryAfter: max(1, (count.remaining + 999) / 1000))
        }
    }

    /// Returns the whole IPv4 address, or the /56 network of an IPv6 address, since one client may own all of it.
    private static func network(_ address: String) -> [UInt8] {
        guard let address = IPAddress(address) else { return Array(address.utf8.prefix(64)) }
        let plain = address.mappedVersion4 ?? address
        return plain.isVersion4 ? plain.bytes : Array(plain.bytes.prefix(7))
    }
}

/// The limiter of limits that may change while the server runs: those of the options, or those declared by cloud code.
final class CurrentLimits: Sendable {
    private struct State {
        var changes = 0
        var limits: [RateLimit] = []
        var limiter: RateLimiter?
    }

    private let backend: Backend
    private let areOptions: Bool
    private let changes: @Sendable () -> Int
    private let limits: @Sendable () -> [RateLimit]
    private let state = Mutex(State())

    /// - Parameter changes: Returns a number that changes with the limits, or 0 if there have never been any.
    init(
        _ backend: Backend, areOptions: Bool, changes: @escaping @Sendable () -> Int,
        limits: @escaping @Sendable () -> [RateLimit]
    ) {
        self.backend = backend
        self.areOptions = areOptions
        self.changes = changes
        self.limits = limits
    }

    /// The limiter of the current limits, or nil if there are none.
    @inline(never) var limiter: RateLimiter? {
        let changes = changes()
        guard changes != 0 else { return nil }
        return state.withLock { state in
            guard state.changes != changes else { return state.limiter }
            state.changes = changes
            let limits = limits()
            // A new limiter would lose the counts that are held in memory.
            guard limits != state.limits else { return state.limiter }
            state.limits = limits
            state.limiter = RateLimiter(
                limits, backend.configuration, backend.store, meters: backend.meters.rateLimited, areOptions: areOptions
            )
            return state.limiter
        }
    }
}

/// Alternative paths of routes. A limit on one path applies to both.
struct PathAliases {
    private let pages: [String]

    /// - Parameter pages: The pages folder, without leading and trailing slashes.
    init(pages: String) {
        self.pages = pages.split(separator: "/").map(String.init)
    }

    /// Returns the alternative path, or nil if the route has only one path.
    func alias(of path: [String]) -> [String]? {
        if isResendForm(path) { return ["verificationEmailRequest"] }
        guard let name = path.first?.asciiLowercased, let first = first(ofAlias: path) else { return nil }
        guard let className = ClassPath.className(ofPath: Name(name)) else { return [first.text] + path.dropFirst(2) }
        return [first.text, className.text] + path.dropFirst()
    }

    /// Returns only the first component of the alternative path, in lower case, which is faster than ``alias(of:)``.
    func first(ofAlias path: [String]) -> Name? {
        guard let first = path.first else { return nil }
        if isResendForm(path) { return "verificationemailrequest" }
        let name = Name(first.asciiLowercased)
        guard name == ClassPath.classes else {
            return ClassPath.className(ofPath: name) == nil ? nil : ClassPath.classes
        }
        return path.count > 1 ? ClassPath.own(of: Name(path[1])) : nil
    }

    /// Whether a path belongs to the form that requests another verification email. Its alternative is an API route.
    private func isResendForm(_ path: [String]) -> Bool {
        path.count == pages.count + 2 && path.last?.hasSameBytes(as: "resend_verification_email") == true
            && zip(path, pages).allSatisfy { $0.hasSameBytes(as: $1) }
    }
}
