import Logging
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// By what a store knows who asks.
package protocol StoreCredentials: Sendable, Equatable {
    /// When they end; nil for never.
    var expiration: Date? { get }
}

/// Why there are no credentials. Holds nothing secret.
struct CredentialFailure: Error, CustomStringConvertible {
    let description: String
}

package protocol CredentialProvider<Credentials>: Sendable {
    associatedtype Credentials: StoreCredentials
    /// What it is called in the log.
    var name: String { get }
    /// Gets credentials; throws `CredentialFailure`, `HTTPCallFailure`.
    func credentials() async throws -> Credentials
    /// Closes what it has open.
    func shutdown() async
}

extension CredentialProvider {
    package func shutdown() async {}
}

/// Credentials, renewed in time: while new ones come, the old ones serve.
package final class CredentialSource<Credentials: StoreCredentials>: Sendable {
    private struct State {
        var latest: Credentials?
        /// From when on new ones are fetched.
        var renewsAt: Date?
        var renewal: Task<Credentials, any Error>?
        var fetchedAt: ContinuousClock.Instant?
    }

    private let state = Mutex(State())
    private let provider: any CredentialProvider<Credentials>
    private let logger: Logger
    private let now: @Sendable () -> Date

    /// - Parameter now: The clock by which credentials end.
    package init(
        _ provider: some CredentialProvider<Credentials>, logger: Logger,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.provider = provider
        self.logger = logger
        self.now = now
    }

    /// Closes what the provider has open.
    func shutdown() async {
        state.withLock { $0.renewal }?.cancel()
        await provider.shutdown()
    }

    /// The credentials of now; throws `CredentialFailure` when there are none.
    package func current() async throws -> Credentials {
        let (known, pending) = look()
        if let known { return known }
        do {
            guard let pending else { throw CredentialFailure(description: "no credentials") }
            return try await pending.value
        } catch let failure as CredentialFailure {
            throw failure
        } catch {
            throw CredentialFailure(description: "\(provider.name): \(error)")
        }
    }

    /// The credentials of now, without waiting; nil while there are none.
    var known: Credentials? { look().known }

    /// The known credentials. Starts a renewal if it's due.
    private func look() -> (known: Credentials?, pending: Task<Credentials, any Error>?) {
        let now = now()
        return state.withLock { state -> (known: Credentials?, pending: Task<Credentials, any Error>?) in
            let isGood = state.latest.map { $0.expiration.map { $0 > now } ?? true } ?? false
            if isGood, state.renewsAt.map({ $0 > now }) ?? true { return (state.latest, nil) }
            let task = renewal(&state)
            return isGood ? (state.latest, nil) : (nil, task)
        }
    }

    /// Fetches new ones because the store has refused those of a moment. Of many requests that were refused one fetches.
    ///
    /// - Returns: Whether there are others now.
    package func renew(those moment: ContinuousClock.Instant) async -> Bool {
        let (before, task) = state.withLock { state in
            // They came while the request was under way.
            (state.latest, state.fetchedAt.map { $0 > moment } ?? false ? nil : renewal(&state))
        }
        guard let task else { return true }
        guard let after = try? await task.value else { return false }
        return after != before
    }

    /// One renewal, shared by waiters.
    private func renewal(_ state: inout State) -> Task<Credentials, any Error> {
        if let renewal = state.renewal { return renewal }
        let task = Task { [self] in
            do {
                let fetched = try await provider.credentials()
                keep(fetched)
                return fetched
            } catch {
                self.state.withLock { state in
                    state.renewal = nil
                    // The old ones serve on; the next try is not at once.
                    state.renewsAt = now().addingTimeInterval(5)
                }
                logger.error(
                    "could not renew credentials", metadata: ["from": "\(provider.name)", "reason": "\(error)"])
                throw error
            }
        }
        state.renewal = task
        return task
    }

    private func keep(_ fetched: Credentials) {
        let isFirst = state.withLock { state in
            defer {
                state.latest = fetched
                state.fetchedAt = .now
                state.renewal = nil
                // Five minutes before the end, or a third of a short life, and not all servers at once.
                state.renewsAt = fetched.expiration.map { end in
                    let life = end.timeIntervalSince(now())
                    let before = min(300, life / 3)
                    return end.addingTimeInterval(-before * Double.random(in: 1...1.2))
                }
            }
            return state.latest == nil
        }
        if isFirst { logger.info("the file store signs with credentials", metadata: ["from": "\(provider.name)"]) }
    }
}
