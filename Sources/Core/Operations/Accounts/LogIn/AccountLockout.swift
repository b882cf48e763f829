import JSON
import ParseModel
import ParseStorage
import Rules
import ServerConfiguration

/// The option `accountLockout`: locks an account for a while after repeated wrong passwords.
public struct Lockout: Sendable, BackendPart {
    let backend: Backend

    /// Counts an attempt before its password or code is checked, so that concurrent attempts in all processes can't
    /// exceed the threshold. The attempt that reaches it locks the account.
    ///
    /// - Parameter isOfFactor: Whether the attempt is for a second factor. Since codes are short, wrong codes lock the
    ///   account briefly even without `accountLockout`.
    /// - Throws: 101 if the account is locked.
    func reserveAttempt(of userId: String, isOfFactor: Bool = false, _ context: RequestContext) async throws {
        guard let policy = configuration.accountLockout ?? (isOfFactor ? Self.factorLockout : nil) else { return }
        let end = ParseDate(milliseconds: context.now.milliseconds + Int64(policy.duration * 60_000))
        let isCounted = try await store.accounts.reserveAttempt(
            of: userId, threshold: policy.threshold, until: end, now: context.now)
        guard !isCounted else { return }
        let lockEnd = try await store.accounts.lockEnd(of: userId) ?? end.milliseconds
        throw Self.locked(for: .milliseconds(lockEnd - context.now.milliseconds), policy)
    }

    /// Counts an attempt under a name without an account. Otherwise the lack of a lock would reveal which accounts
    /// exist.
    ///
    /// Each process keeps its own counts, but queries the database as often as for a real account. As with real
    /// accounts, the name and the address count together, ignoring case if log-ins do.
    ///
    /// - Throws: 101 if the name is locked.
    func reserveAttempt(ofUnknown username: String, _ email: String, _ context: RequestContext) async throws {
        guard let policy = configuration.accountLockout else { return }
        let ignoresCase =
            configuration.caseInsensitiveLogin || configuration.convertUsernameToLowercase
            || configuration.convertEmailToLowercase
        let name = [username, email].filter { !$0.isEmpty }.map { ignoresCase ? $0.lowercased() : $0 }
        guard let lock = services.unknownAccounts.reserveAttempt(name, policy) else {
            return try await store.accounts.simulateAttempt()
        }
        // The same statements as for a locked user, with an id that no object has.
        _ = try await store.accounts.reserveAttempt(
            of: "", threshold: policy.threshold, until: context.now, now: context.now)
        _ = try await store.accounts.lockEnd(of: "")
        throw Self.locked(for: lock, policy)
    }

    private static func locked(for time: Duration, _ policy: Configuration.AccountLockout) -> ParseError {
        let left = max(1, (time / .seconds(60)).rounded(.up))
        return ParseError(
            ParseError.objectNotFound,
            "Your account is locked due to multiple failed login attempts. Please try again after "
                + "\(JSONValue.number(min(policy.duration, left)).text) minute(s)")
    }

    /// The lockout for second-factor codes if `accountLockout` isn't set, because codes are short.
    private static let factorLockout = Configuration.AccountLockout(
        threshold: 10, duration: 5, unlockOnPasswordReset: true)

    /// Subtracts an attempt that was not a wrong guess, for example if a second factor is still missing.
    func releaseAttempt(of userId: String, isOfFactor: Bool = false) async {
        guard let policy = configuration.accountLockout ?? (isOfFactor ? Self.factorLockout : nil) else { return }
        try? await store.accounts.releaseAttempt(of: userId, threshold: policy.threshold)
    }

    /// Resets a user's attempts after a correct password or second factor.
    func resetAttempts(of userId: String, isOfFactor: Bool = false) async throws {
        guard isOfFactor || configuration.accountLockout != nil else { return }
        try await store.accounts.resetAttempts(of: userId)
    }
}
