import Logging
import Platform
import Synchronization

/// Credentials that a file store accepts.
package protocol StoreCredentials: Sendable, Equatable {
    /// The time at which the credentials expire, or nil if they don't.
    var expiration: Date? { get }
}

/// The error if no credentials are available. Contains no secrets.
struct CredentialFailure: Error, CustomStringConvertible {
    let description: String
}

package protocol CredentialProvider<Credentials>: Sendable {
    associatedtype Credentials: StoreCredentials
    /// The provider's name in the log.
    var name: String { get }
    /// Fetches credentials. Throws `CredentialFailure` or the error of the request.
    func credentials() async throws -> Credentials
    /// Closes the provider's connections.
    func shutdown() async
}

extension CredentialProvider {
    package func shutdown() async {}
}

/// Caches credentials and renews them before they expire. The old ones stay in use during a renewal.
package final class CredentialSource<Credentials: StoreCredentials>: Sendable {
    private struct State {
        var latest: Credentials?
        /// The time from which a renewal is due.
        var renewsAt: Date?
        var renewal: Task<Credentials, any Error>?
        var fetchedAt: ContinuousClock.Instant?
    }

    private let state = Mutex(State())
    private let provider: any CredentialProvider<Credentials>
    private let logger: Logger
    private let now: @Sendable () -> Date

    /// - Parameter now: The clock that determines whether credentials have expired.
    package init(
        _ provider: some CredentialProvider<Credentials>, logger: Logger,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.provider = provider
        self.logger = logger
        self.now = now
    }

    func shutdown() async {
        state.withLock { $0.renewal }?.cancel()
        await provider.shutdown()
    }

    /// Returns valid credentials, fetched if necessary. Throws `CredentialFailure` if that fails.
    package func current() async throws -> Credentials {
        let (known, pending) = current()
        if let known { return known }
        do {
            guard let pending else { throw CredentialFailure(description: "\(provider.name) returned no credentials") }
            return try await pending.value
        } catch let failure as CredentialFailure {
            throw failure
        } catch {
            throw CredentialFailure(description: "\(provider.name): \(error)")
        }
    }

    /// The current credentials, or nil without valid ones. Doesn't wait, but starts a renewal if it is due.
    var known: Credentials? { current().known }

    /// Returns the known credentials, and starts a renewal if it is due.
    private func current() -> (known: Credentials?, pending: Task<Credentials, any Error>?) {
        let now = now()
        return state.withLock { state -> (known: Credentials?, pending: Task<Credentials, any Error>?) in
            let isGood = state.latest.map { $0.expiration.map { $0 > now } ?? true } ?? false
            if isGood, state.renewsAt.map({ $0 > now }) ?? true { return (state.latest, nil) }
            let task = renewal(&state)
            return isGood ? (state.latest, nil) : (nil, task)
        }
    }

    /// Fetches new credentials because the store rejected those used at a given time. Concurrent calls share one fetch.
    ///
    /// - Returns: Whether other credentials are available.
    package func renew(those moment: ContinuousClock.Instant) async -> Bool {
        let (before, task) = state.withLock { state in
            // If newer credentials have arrived since then, no renewal is needed.
            (state.latest, state.fetchedAt.map { $0 > moment } ?? false ? nil : renewal(&state))
        }
        guard let task else { return true }
        guard let after = try? await task.value else { return false }
        return after != before
    }

    /// Starts a renewal, or returns the one in progress.
    private func renewal(_ state: inout State) -> Task<Credentials, any Error> {
        if let renewal = state.renewal { return renewal }
        let task = Task { [self] in
            do {
                let fetched = try await provider.credentials()
                store(fetched)
                return fetched
            } catch {
                self.state.withLock { state in
                    state.renewal = nil
                    // While the old credentials are valid, they stay in use and the next attempt waits five seconds.
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

    private func store(_ fetched: Credentials) {
        let isFirst = state.withLock { state in
            defer {
                state.latest = fetched
                state.fetchedAt = .now
                state.renewal = nil
                // Five minutes before they expire, or a third of a short lifetime. The random factor spreads the
                // renewals of several servers.
                state.renewsAt = fetched.expiration.map { end in
                    let life = end.timeIntervalSince(now())
                    let before = min(300, life / 3)
                    return end.addingTimeInterval(-before * Double.random(in: 1...1.2))
                }
            }
            return state.latest == nil
        }
        if isFirst { logger.info("using file-store credentials", metadata: ["from": "\(provider.name)"]) }
    }
}
