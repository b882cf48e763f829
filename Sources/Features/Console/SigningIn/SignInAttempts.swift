import Encoding
import Limits
internal import Operations
internal import ParseStorage
import Synchronization

/// Counts failed console sign-ins per network and per user name.
///
/// An attempt counts from its start, so parallel attempts gain nothing, and a success is subtracted. Attempts from a
/// blocked network don't count for the name, so locking out an operator takes many networks.
final class SignInAttempts: Sendable {
    /// The maximum number of failed attempts per network within ``window``.
    static let maxPerNetwork = 10
    /// The maximum number of failed attempts per user name within ``window``.
    static let maxPerName = 100
    /// The length of the counting window in milliseconds.
    static let window = 300_000
    private static let capacity = 10_000

    private struct Count {
        var attempts: Int
        var end: ContinuousClock.Instant
    }

    private let shared: ObjectStore?
    private let counts = Mutex(BoundedTable<[UInt8], Count>(capacity: capacity))

    /// - Parameter backend: If its option `rateLimitStore` is `database`, all processes share the counts.
    init(_ backend: Backend) {
        shared = backend.configuration.rateLimitStore == .database ? backend.store : nil
    }

    /// Counts an attempt.
    ///
    /// - Parameters:
    ///   - name: The user name, or nil for keys and tickets.
    ///   - address: The client's address.
    /// - Returns: The seconds to wait if there were too many attempts, or nil if this attempt is allowed.
    /// - Throws: `ParseError` if the database fails.
    func begin(name: String?, from address: String) async throws -> Int? {
        let network = try await count([key(ofAddress: address)], by: 1)[0]
        if network.attempts > Self.maxPerNetwork { return Self.seconds(network.remaining) }
        guard let key = key(ofName: name) else { return nil }
        let named = try await count([key], by: 1)[0]
        return named.attempts > Self.maxPerName ? Self.seconds(named.remaining) : nil
    }

    private static func seconds(_ milliseconds: Int) -> Int { max(1, (milliseconds + 999) / 1000) }

    /// Subtracts a successful attempt from the counts.
    func succeed(name: String?, from address: String) async throws {
        _ = try await count([key(ofAddress: address), key(ofName: name)].compactMap { $0 }, by: -1)
    }

    /// Counts a wrong second-factor code ten times for the name, because the client knows the password and codes are
    /// short.
    func failCode(name: String?) async throws {
        guard let key = key(ofName: name) else { return }
        _ = try await count([key], by: Self.maxPerName / Self.maxPerNetwork - 1)
    }

    private func key(ofAddress address: String) -> [UInt8] {
        Array("console address ".utf8) + Sender.network(of: address)
    }

    /// Returns nil for names that are too long to be an operator's, because they would only fill the memory.
    private func key(ofName name: String?) -> [UInt8]? {
        guard let name, name.utf8.count <= Operators.longestName else { return nil }
        return Array("console name \(name)".utf8)
    }

    private func count(_ keys: [[UInt8]], by amount: Int) async throws -> [(attempts: Int, remaining: Int)] {
        guard let shared else { return countHere(keys, by: amount) }
        let counted = try await shared.requests.countAll(
            keys.map { (key: $0.hexadecimal, amount: amount, window: Self.window) })
        return counted.map { ($0.requests, $0.remaining) }
    }

    private func countHere(_ keys: [[UInt8]], by amount: Int) -> [(attempts: Int, remaining: Int)] {
        let now = ContinuousClock.now
        return counts.withLock { counts in
            keys.map { key in
                var count = Count(attempts: 0, end: now + .milliseconds(Self.window))
                if let known = counts.value(of: key), known.end > now { count = known }
                count.attempts = max(0, count.attempts + amount)
                _ = counts.set(count, for: key)
                return (count.attempts, Int((count.end - now) / .milliseconds(1)))
            }
        }
    }
}
