import JSON
import ParseModel
import ParseStorage
import Rules

/// Logs users in and out.
public struct LogIn: Sendable, BackendPart {
    let backend: Backend
    private var proof: PasswordProof { PasswordProof(backend: backend) }
    private var pipeline: LogInPipeline { LogInPipeline(backend: backend) }

    /// Logs a user in with a user name or email address and a password.
    ///
    /// - Returns: The user with a new session token, as JSON.
    public func withPassword(_ parameters: JSONObject, _ context: RequestContext) async throws -> [UInt8] {
        try await backend.countingLogIn(by: "password") { try await openWithPassword(parameters, context) }
    }

    private func openWithPassword(_ parameters: JSONObject, _ context: RequestContext) async throws -> [UInt8] {
        let (candidate, change) = try await proof.check(parameters, context) { candidate in
            try await proof.checkFactors(parameters["authData"], of: candidate, context)
        }
        try await proof.checkAge(candidate, context)
        let session = try await pipeline.run(
            ProvedUser(id: candidate.id, way: "password", change: change, comparedHash: candidate.hash ?? ""), context)
        var members: JSONObject = [:]
        members["sessionToken"] = session.token(for: context.caller)
        if !change.responses.isEmpty { members["authDataResponse"] = .object(change.responses) }
        let user = try await backend.ownRecords.record(candidate.id, session.user, members, context)
        try await backend.triggers.callUserTrigger(.afterLogin, of: candidate.id, session: session.user, context)
        return user
    }

    /// Checks a password without creating a session.
    ///
    /// - Returns: The user as JSON.
    public func verifyPassword(_ parameters: JSONObject, _ context: RequestContext) async throws -> [UInt8] {
        let id = try await proof.check(parameters, context) { _ in nil }.candidate.id
        let roles = try await backend.sessions.roles(of: id)
        return try await backend.ownRecords.record(
            id, SessionUser(id: id, sessionId: "", token: "", roles: roles, isAnonymous: false), [:], context)
    }

    /// Creates a session for any user. Requires the master key.
    ///
    /// - Returns: The user with the session token, as JSON.
    /// - Throws: 119 without the master key, 162 without a user id, 101 if the user doesn't exist.
    public func asUser(_ parameters: JSONObject, _ context: RequestContext) async throws -> [UInt8] {
        guard context.caller.power == .master else {
            throw ParseError.denied(ParseError.operationForbidden, "master key is required")
        }
        guard let id = parameters["userId"]?.stringValue, !id.isEmpty else {
            throw ParseError(ParseError.invalidValue, "userId must not be empty, null, or undefined")
        }
        guard try await store.find(ObjectStore.FindRequest(className: "_User", objectId: id)).rowCount > 0 else {
            throw ParseError(ParseError.objectNotFound, "user not found")
        }
        let session = try await pipeline.run(ProvedUser(id: id, way: "masterkey", callsTrigger: false), context)
        var members: JSONObject = [:]
        members["sessionToken"] = session.token(for: context.caller)
        return try await backend.ownRecords.record(id, session.user, members, context)
    }

    /// Ends the caller's session.
    public func logOut(_ context: RequestContext) async throws {
        guard let user = context.caller.user else { return }
        let after = await backend.triggers.logoutTrigger(of: user.sessionId, context)
        try await services.changes.reporting("_Session", user.sessionId) {
            let wants = services.changes.wants("_Session")
            guard wants.isEmpty else {
                return ((), try await store.delete("_Session", objectId: user.sessionId, wants: wants))
            }
            // Unlike the statement above, this one reads no column, so a missing column can't keep a session alive.
            _ = try await store.delete("_Session", objectId: user.sessionId)
            return ((), nil)
        }
        await backend.caches.invalidate(user: user.id)
        // Clients close their live queries when they get the response, so the session's end must reach live queries
        // first.
        await services.userChanges.settle(user.id)
        try await after?()
    }
}
