import JSON
import ParseModel
import ParseStorage
import Rules
import ServerConfiguration

/// The option `accountLockout`: so many wrong passwords lock an account for a while.
extension Backend {
    /// Counts an attempt before its password is compared, so that of many sent side by side no more are compared than
    /// the threshold says, here or in other processes. The attempt that reaches it locks the account.
    ///
    /// - Parameter isOfFactor: Whether it is about a second factor: as there are not many codes, wrong ones lock the account
    ///   for a short while without the option, too.
    /// - Throws: 101 when the account is locked.
    func reserveAttempt(of userId: String, isOfFactor: Bool = false, _ context: RequestContext) async throws {
        guard let policy = configuration.accountLockout ?? (isOfFactor ? Self.factorLockout : nil) else { return }
        let end = ParseDate(milliseconds: context.now.milliseconds + Int64(policy.duration * 60_000))
        let isCounted = try await store.reserveAttempt(
            of: userId, threshold: policy.threshold, until: end, now: context.now)
        guard !isCounted else { return }
        let minutes = JSONValue.number(policy.duration).text
        throw ParseError(
            ParseError.objectNotFound,
            "Your account is locked due to multiple failed login attempts. Please try again after "
                + "\(minutes) minute(s)")
    }

    /// How many wrong codes of a second factor lock an account, and for how many minutes.
    private static let factorLockout = Configuration.AccountLockout(
        threshold: 10, duration: 5, unlockOnPasswordReset: true)

    /// Takes back an attempt whose password was not compared after all.
    func releaseAttempt(of userId: String) async {
        guard let policy = configuration.accountLockout else { return }
        try? await store.releaseAttempt(of: userId, threshold: policy.threshold)
    }

    /// Forgets the attempts of a user whose password, or second factor, was right.
    func resetAttempts(of userId: String, isOfFactor: Bool = false) async throws {
        guard isOfFactor || configuration.accountLockout != nil else { return }
        try await store.resetAttempts(of: userId)
    }
}
