import JSON
import OrderedCollections
import ParseModel
import ParseStorage
import Rules
import ServerConfiguration

/// Creates sessions, and finds and checks the users of sessions.
public struct Sessions: Sendable, BackendPart {
    let backend: Backend

    struct OpenedSession: Sendable {
        var token: String
        var user: SessionUser
        /// The session as JSON, for responses.
        var body: JSONObject

        /// Returns the token for the response, or nil if it is hidden from the caller.
        func token(for caller: Caller) -> JSONValue? {
            caller.hiddenSecrets.contains(.sessionTokens) ? nil : .string(token)
        }
    }

    private static let serverOwned = ["sessionToken", "expiresAt", "createdWith", "objectId", "user"]

    /// Whether a key, possibly dotted, belongs to a field that only the server sets.
    static func isServerOwned(_ key: String) -> Bool { serverOwned.contains(FieldPath(key).root) }

    /// Creates a session for a user and ends older sessions of the same user and installation.
    ///
    /// - Parameter opener: The session that authorizes the new one, or nil if the user logs in by other means, such as
    ///   a password.
    /// - Throws: 209 if the opener has ended.
    func open(
        for userId: String, createdWith: JSONObject, extra: JSONObject = [:], by opener: SessionUser? = nil,
        _ context: RequestContext
    ) async throws -> OpenedSession {
        let token = Identifiers.sessionToken()
        let objectId = Identifiers.alphanumeric(configuration.objectIdSize)
        var body: JSONObject = [
            "sessionToken": .string(token),
            "user": Pointer(className: "_User", objectId: userId).json,
            "createdWith": .object(createdWith),
        ]
        if configuration.expireInactiveSessions {
            let end = context.now.milliseconds + Int64(configuration.sessionLength) * 1000
            body["expiresAt"] = ParseDate(milliseconds: end).json
        }
        // Read first, so an error doesn't leave a session behind.
        let roles = try await roles(of: userId)
        if let installationId = context.caller.installationId, !context.caller.isCloudCode {
            body["installationId"] = .string(installationId)
        }
        for (key, value) in extra where body[key] == nil && !Self.isServerOwned(key.text) { body[key] = value }
        var save = Save("_Session", nil, body, context.asServer)
        save.newId = objectId
        save.isOfClient = !extra.isEmpty
        let pipeline = SavePipeline(backend: backend)
        let row: WriteResult
        if backend.isInTransaction {
            // Within a transaction, which may still roll back, observers and after-triggers aren't notified.
            row = try await pipeline.store(
                PlannedSave(
                    save: save, rules: SessionRules(opener: opener, backend: backend),
                    write: try await backend.saving.plan(save))
            ).result
        } else {
            row = try await pipeline.run(save, rules: SessionRules(opener: opener, backend: backend))
        }
        body["objectId"] = row.body["objectId"]
        let user = SessionUser(id: userId, sessionId: objectId, token: token, roles: roles, isAnonymous: false)
        return OpenedSession(token: token, user: user, body: body)
    }

    /// Returns the id of a session's user, or nil if the session doesn't exist.
    func owner(_ objectId: String) async throws -> String? {
        let request = ObjectStore.FindRequest(className: "_Session", objectId: objectId)
        return try await store.find(request).objects.first?["user"]?["objectId"]?.stringValue
    }

    /// Checks that a session belongs to the caller.
    ///
    /// - Throws: 209 if nobody is logged in, 101 if the session isn't the caller's.
    func checkOwn(_ objectId: String, _ caller: Caller) async throws {
        guard let userId = caller.userId else {
            throw ParseError(ParseError.invalidSessionToken, "Invalid session token")
        }
        guard userId.hasSameBytes(as: try await owner(objectId)) else {
            throw Self.notFoundForDelete
        }
    }

    static let notFoundForDelete = ParseError(ParseError.objectNotFound, "Object not found for delete.")

    /// Returns the session of a token for `GET /sessions/me`, even if it has expired.
    ///
    /// - Throws: 209 if the token is missing or unknown.
    public func own(token: String?, _ context: RequestContext) async throws -> JSONObject {
        guard let token, !token.isEmpty else {
            throw ParseError(ParseError.invalidSessionToken, "Session token required.")
        }
        var request = ObjectStore.FindRequest(className: "_Session")
        request.filter = .field(FieldPath("sessionToken"), .equal(.string(token)))
        request.limit = 1
        request.links = backend.links(context)
        guard let session = try await store.find(request).objects.first else {
            throw ParseError(ParseError.invalidSessionToken, "Session token not found.")
        }
        guard let userId = session["user"]?["objectId"]?.stringValue else { return session }
        return ownView(
            session,
            SessionUser(id: userId, sessionId: "", token: token, roles: try await roles(of: userId), isAnonymous: false)
        )
    }

    /// From preset 9, class permissions and protected fields apply to a user's own session.
    private func ownView(_ session: JSONObject, _ user: SessionUser) -> JSONObject {
        guard configuration.preset >= 9, let schema = catalog.schema("_Session") else { return session }
        guard let access = try? backend.permissions.readAccess(schema, .get, Caller(user: user)) else {
            return session.filter { $0.key == "objectId" || $0.key == "sessionToken" }
        }
        return session.filter { !access.hidden.contains($0.key) }
    }

    /// Creates another session for the caller's user. SDKs use it to replace legacy, non-revocable tokens.
    ///
    /// - Throws: 101 if nobody is logged in.
    public func upgrade(_ context: RequestContext) async throws -> JSONObject {
        guard let user = context.caller.user else {
            throw ParseError(ParseError.objectNotFound, "invalid session")
        }
        let session = try await open(for: user.id, createdWith: ["action": "upgrade"], by: user, context)
        return ownView(session.body, session.user)
    }
}
