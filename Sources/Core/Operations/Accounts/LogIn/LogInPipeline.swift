import JSON
import ParseModel
import ParseStorage
import Rules

/// Whose account a client proved to have, by whichever way.
struct ProvedUser: Sendable {
    let id: String
    /// The way, as the session keeps it in `createdWith`: `password`, `masterkey`, the names of providers.
    let way: String
    /// What becomes of the login data by what was proved.
    var change = LoginDataChange()
    /// The hash that the password was compared with, which must still be the user's when the session is open; nil for a
    /// way without a password.
    var comparedHash: String?
    /// Whether the trigger before log-ins is called.
    var callsTrigger = true
}

/// The life of a log-in, the same for each way, after the way itself proved whose account it is: the trigger before it,
/// the login data, the session. What it answers is the way's own.
struct LogInPipeline: Sendable, BackendPart {
    let backend: Backend

    /// Logs a user in.
    ///
    /// - Throws: The refusal that a proof ends with, such as a code that was sent only now; what the trigger throws; 101 for
    ///   a password that was changed meanwhile; 141 for a proof that was spent meanwhile.
    func run(_ user: ProvedUser, _ context: RequestContext) async throws -> Sessions.OpenedSession {
        // A refusal is final: what the provider keeps of it is stored, and no trigger is called.
        if user.change.refusal != nil { try await backend.providers.apply(user.change, to: user.id) }
        if user.callsTrigger { try await backend.triggers.callUserTrigger(.beforeLogin, of: user.id, context) }
        try await backend.providers.apply(user.change, to: user.id)
        let session = try await backend.sessions.open(
            for: user.id, createdWith: ["action": "login", "authProvider": .string(user.way)], context)
        if let hash = user.comparedHash { try await checkStillValid(hash, of: user.id, session) }
        return session
    }

    /// Ends a session whose password changed while it was compared. The change itself ended only earlier sessions.
    ///
    /// - Throws: 101.
    private func checkStillValid(_ hash: String, of userId: String, _ session: Sessions.OpenedSession) async throws {
        // The lock waits for a change that is under way.
        guard try await !store.accounts.hasPassword(userId, hash: hash) else { return }
        try await store.deleteAll(
            "_Session", where: .field(FieldPath("objectId"), .equal(.string(session.user.sessionId))))
        await backend.caches.invalidate(user: userId)
        throw PasswordProof.invalidPassword
    }
}
