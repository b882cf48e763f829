import JSON
import ParseModel
import ParseStorage
import Rules
import ServerConfiguration

/// The option `accountLockout`: so many wrong passwords lock an account for a while.
public struct Lockout: Sendable, BackendPart {
    let backend: Backend

    /// Counts an attempt before its password is compared, so that of many sent side by side no more are compared than
    /// the threshold says, here or in other processes. The attempt that reaches it locks the account.
    ///
    /// - Parameter isOfFactor: Whether it is about a second factor: as there are not many codes, wrong ones lock the
    ///   account for a short while without the option, too.
    /// - Throws: 101 when the account is locked.
    func reserveAttempt(of userId: String, isOfFactor: Bool = false, _ context: RequestContext) async throws {
        guard let policy = configuration.accountLockout ?? (isOfFactor ? Self.factorLockout : nil) else { return }
        let end = ParseDate(milliseconds: context.now.milliseconds + Int64(policy.duration * 60_000))
        let isCounted = try await store.accounts.reserveAttempt(
            of: userId, threshold: policy.threshold, until: end, now: context.now)
        guard !isCounted else { return }
        let lockEnd = try await store.accounts.lockEnd(of: userId) ?? end.milliseconds
        throw Self.locked(for: .milliseconds(lockEnd - context.now.milliseconds), policy)
    }

    /// Counts an attempt under a name without an account, like one under a name that a user has: otherwise the lock
    /// would reveal who has an account. Each process keeps its own counts, but asks the database as often as for a user.
    ///
    /// An account that is there is one in every spelling that a log-in may use: as name or as address, and in any case
    /// of its letters where options say so. So is one that is not.
    ///
    /// - Throws: 101 when the name is locked.
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

    /// The error for a locked account, with the minutes left, at most the policy's.
    private static func locked(for time: Duration, _ policy: Configuration.AccountLockout) -> ParseError {
        let left = max(1, (time / .seconds(60)).rounded(.up))
        return ParseError(
            ParseError.objectNotFound,
            "Your account is locked due to multiple failed login attempts. Please try again after "
                + "\(JSONValue.number(min(policy.duration, left)).text) minute(s)")
    }

    /// Locks an account for 5 minutes after 10 wrong second-factor codes.
    private static let factorLockout = Configuration.AccountLockout(
        threshold: 10, duration: 5, unlockOnPasswordReset: true)

    /// Takes back an attempt that was not made after all, or was right without being all that the account asks for.
    func releaseAttempt(of userId: String, isOfFactor: Bool = false) async {
        guard let policy = configuration.accountLockout ?? (isOfFactor ? Self.factorLockout : nil) else { return }
        try? await store.accounts.releaseAttempt(of: userId, threshold: policy.threshold)
    }

    /// Forgets the attempts of a user whose password, or second factor, was right.
    func resetAttempts(of userId: String, isOfFactor: Bool = false) async throws {
        guard isOfFactor || configuration.accountLockout != nil else { return }
        try await store.accounts.resetAttempts(of: userId)
    }
}
