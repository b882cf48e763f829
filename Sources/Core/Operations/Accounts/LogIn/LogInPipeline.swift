import JSON
import ParseModel
import ParseStorage
import Rules

/// A user whom the client may log in as, by proving the identity or with the master key.
struct ProvedUser: Sendable {
    let id: String
    /// The method of the log-in, stored in the session's `createdWith`: `password`, `masterkey` or the names of
    /// providers, separated by commas.
    let way: String
    /// The changes to the user's `authData`.
    var change = LoginDataChange()
    /// The compared password hash, which must still be valid once the session exists, or nil without a password.
    var comparedHash: String?
    /// Whether to call the `beforeLogin` trigger.
    var callsTrigger = true
}

/// The steps common to all log-ins after the identity is proved: `beforeLogin` trigger, `authData`, session. The
/// response is up to the caller.
struct LogInPipeline: Sendable, BackendPart {
    let backend: Backend

    /// Calls the trigger, stores the `authData` and creates the session.
    ///
    /// - Throws: The provider's rejection, for example if it has sent a code that the client must now enter; the
    ///   trigger's error; 101 if the password has changed since the check; 141 if the single-use proof was used before.
    func run(_ user: ProvedUser, _ context: RequestContext) async throws -> Sessions.OpenedSession {
        // A rejection ends the log-in. The provider's data is stored and no trigger is called.
        if user.change.refusal != nil { try await backend.providers.apply(user.change, to: user.id) }
        if user.callsTrigger { try await backend.triggers.callUserTrigger(.beforeLogin, of: user.id, context) }
        try await backend.providers.apply(user.change, to: user.id)
        let session = try await backend.sessions.open(
            for: user.id, createdWith: ["action": "login", "authProvider": .string(user.way)], context)
        if let hash = user.comparedHash { try await checkStillValid(hash, of: user.id, session) }
        return session
    }

    /// Deletes the new session if the password has changed since it was compared. The password change ended only
    /// earlier sessions.
    ///
    /// - Throws: 101 if the password has changed.
    private func checkStillValid(_ hash: String, of userId: String, _ session: Sessions.OpenedSession) async throws {
        // Locks the row, so it waits for a concurrent password change.
        guard try await !store.accounts.hasPassword(userId, hash: hash) else { return }
        try await store.deleteAll(
            "_Session", where: .field(FieldPath("objectId"), .equal(.string(session.user.sessionId))))
        await backend.caches.invalidate(user: userId)
        throw PasswordProof.invalidPassword
    }
}
