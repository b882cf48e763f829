import Encoding
import HTTP
import JSON
import Rules
import ServerConfiguration
import Synchronization

/// A client has sent more requests than a limit lets it.
struct RateLimitExceeded: Error {
    static let code = 100
    let message: String
    /// In how many seconds the count begins anew.
    let retryAfter: Int
}

/// Counts requests, in the memory of this process, and refuses those beyond the limits of the option `rateLimit`.
final class RateLimiter: Sendable {
    private struct Key: Hashable {
        let limit: Int
        /// Who sent the request; empty for everybody.
        let sender: [UInt8]
    }

    private struct Count {
        var requests = 0
        var end: ContinuousClock.Instant
    }

    private struct Counts {
        var byKey: [Key: Count] = [:]
        var nextSweep = ContinuousClock.now
    }

    /// How many senders are told apart; those beyond share one count for each limit.
    private static let mostSenders = 100_000

    private let limits: [RateLimit]
    private let counts = Mutex(Counts())

    /// Makes a counter; nil where nothing is limited.
    init?(_ limits: [RateLimit]) {
        guard !limits.isEmpty else { return nil }
        self.limits = limits
    }

    /// Counts a request for the limits that do not need to know which user sent it. A log-in is counted here for all of
    /// them, so that nobody repeats it under one session after the other.
    func countByAddress(_ envelope: Envelope) throws(RateLimitExceeded) {
        let isLogin = Self.isLogin(envelope)
        try count(envelope) { zone in
            switch zone {
            case .global: []
            case .ip: Self.network(envelope.origin.address)
            case .user, .session: isLogin ? Self.network(envelope.origin.address) : nil
            }
        }
    }

    /// Counts a request for the limits of users and sessions. Without a user, the address counts.
    func countByUser(_ envelope: Envelope, _ user: SessionUser?) throws(RateLimitExceeded) {
        guard !Self.isLogin(envelope) else { return }
        try count(envelope) { zone in
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

    /// - Parameter sender: Who sent the request, for a zone; nil where it is not to be counted now.
    private func count(_ envelope: Envelope, _ sender: (RateLimit.Zone) -> [UInt8]?) throws(RateLimitExceeded) {
        let path = "/" + RouteTable.canonical(envelope.path).joined(separator: "/")
        for (index, limit) in limits.enumerated() {
            guard limit.includesMasterKey || envelope.power != .master,
                limit.methods.isEmpty || limit.methods.contains(envelope.method.rawValue),
                let sender = sender(limit.zone), limit.concerns(path),
                limit.includesInternalRequests || !Self.isThisMachine(envelope.origin.address)
            else { continue }
            try take(limit, Key(limit: index, sender: sender))
        }
    }

    private func take(_ limit: RateLimit, _ wanted: Key) throws(RateLimitExceeded) {
        let now = ContinuousClock.now
        let count = counts.withLock { counts in
            if counts.byKey.count >= Self.mostSenders, now >= counts.nextSweep {
                counts.byKey = counts.byKey.filter { $0.value.end > now }
                counts.nextSweep = now + .seconds(1)
            }
            let isFull = counts.byKey.count >= Self.mostSenders && counts.byKey[wanted] == nil
            let key = isFull ? Key(limit: wanted.limit, sender: []) : wanted
            var count = counts.byKey[key] ?? Count(end: now + .milliseconds(limit.window))
            if count.end <= now { count = Count(end: now + .milliseconds(limit.window)) }
            count.requests += 1
            counts.byKey[key] = count
            return count
        }
        guard count.requests > limit.count else { return }
        let seconds = (count.end - now).components.seconds
        throw RateLimitExceeded(message: limit.message, retryAfter: Int(seconds) + 1)
    }

    /// All of an IPv4 address, and the half of one of IPv6 that names a network: its owner has all addresses of it.
    private static func network(_ address: String) -> [UInt8] {
        guard let address = IPAddress(address) else { return Array(address.utf8.prefix(64)) }
        let plain = address.mappedVersion4 ?? address
        return plain.isVersion4 ? plain.bytes : Array(plain.bytes.prefix(8))
    }

    private static func isThisMachine(_ address: String) -> Bool {
        guard let address = IPAddress(address) else { return false }
        return (address.mappedVersion4 ?? address).bytes == [127, 0, 0, 1]
            || address.bytes == [UInt8](repeating: 0, count: 15) + [1]
    }
}
