import Encoding
import ParseStorage
import Synchronization
import Tasks

/// How often sign-ins to the console failed, for each address and each name.
///
/// An attempt counts from its beginning on, so that many at once gain nothing; one that succeeds is taken back. A network
/// that may try no more does not count for the name: it takes many networks to keep an operator out.
public final class SignInAttempts: Sendable {
    /// How many may fail within ``window`` from one network.
    public static let most = 10
    /// How many may fail for one name.
    static let mostOfName = 100
    /// In milliseconds.
    public static let window = 300_000
    private static let capacity = 10_000

    private struct Count {
        var attempts: Int
        var end: ContinuousClock.Instant
    }

    private let shared: ObjectStore?
    private let counts = Mutex(BoundedTable<[UInt8], Count>(capacity: capacity))

    /// - Parameter backend: Its option `rateLimitStore` says whether all processes count together.
    public init(_ backend: Backend) {
        shared = backend.configuration.rateLimitStore == .database ? backend.store : nil
    }

    /// Takes an attempt.
    ///
    /// - Parameters:
    ///   - name: What is signed in with; nil for keys and tickets, which have none.
    ///   - address: Where it comes from.
    /// - Returns: After how many seconds there may be another, where there were too many; nil where this one is allowed.
    /// - Throws: `ParseError` for failures of the database.
    public func begin(name: String?, from address: String) async throws -> Int? {
        let network = try await count([key(ofAddress: address)], by: 1)[0]
        if network.attempts > Self.most { return Self.seconds(network.remaining) }
        guard let key = key(ofName: name) else { return nil }
        let named = try await count([key], by: 1)[0]
        return named.attempts > Self.mostOfName ? Self.seconds(named.remaining) : nil
    }

    private static func seconds(_ milliseconds: Int) -> Int { max(1, (milliseconds + 999) / 1000) }

    /// Takes an attempt back, which succeeded.
    public func succeed(name: String?, from address: String) async throws {
        _ = try await count([key(ofAddress: address), key(ofName: name)].compactMap { $0 }, by: -1)
    }

    /// Counts a wrong code of the second factor ten times for the name: who sends it has the password, and few codes to
    /// guess.
    public func failCode(name: String?) async throws {
        guard let key = key(ofName: name) else { return }
        _ = try await count([key], by: Self.mostOfName / Self.most - 1)
    }

    private func key(ofAddress address: String) -> [UInt8] {
        Array("console address ".utf8) + Sender.network(of: address)
    }

    /// A longer name can't be an operator's and would only fill the memory.
    private func key(ofName name: String?) -> [UInt8]? {
        guard let name, name.utf8.count <= Operators.longestName else { return nil }
        return Array("console name \(name)".utf8)
    }

    private func count(_ keys: [[UInt8]], by amount: Int) async throws -> [(attempts: Int, remaining: Int)] {
        guard let shared else { return countHere(keys, by: amount) }
        let counted = try await shared.requests.countAll(
            keys.map { CountedRequests(key: $0.hexadecimal, amount: amount, window: Self.window) })
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
