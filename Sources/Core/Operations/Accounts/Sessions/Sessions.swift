import JSON
import OrderedCollections
import ParseModel
import ParseStorage
import Rules
import ServerConfiguration

/// Sessions: opening them, and who may see them.
public struct Sessions: Sendable, BackendPart {
    let backend: Backend

    struct OpenedSession: Sendable {
        var token: String
        var user: SessionUser
        /// The session's members as `POST /sessions` answers them.
        var body: JSONObject

        /// Returns the token for the answer to a caller, or nil if the caller doesn't see it.
        func token(for caller: Caller) -> JSONValue? {
            caller.hiddenSecrets.contains(.sessionTokens) ? nil : .string(token)
        }
    }

    private static let serverOwned = ["sessionToken", "expiresAt", "createdWith", "objectId", "user"]

    /// Whether a key, dots included, leads into what only the server sets.
    static func isServerOwned(_ key: String) -> Bool { serverOwned.contains(FieldPath(key).root) }

    /// Opens a session for a user; an older one of the same user and installation ends.
    ///
    /// - Parameter opener: Whose session opens it; nil where something else does, as a password.
    /// - Throws: 209 when that session is over.
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
        // Before the row: there is no session where they cannot be read.
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
            // Of a session that is opened in a transaction, no other process is notified before it is committed.
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

    /// Whose session a row is; nil when there is no such row.
    func owner(_ objectId: String) async throws -> String? {
        let request = ObjectStore.FindRequest(className: "_Session", objectId: objectId)
        return try await store.find(request).objects.first?["user"]?["objectId"]?.stringValue
    }

    /// Lets a caller remove none but an own session; throws 209 or 101.
    func checkOwn(_ objectId: String, _ caller: Caller) async throws {
        guard let userId = caller.userId else {
            throw ParseError(ParseError.invalidSessionToken, "Invalid session token")
        }
        guard userId.hasSameBytes(as: try await owner(objectId)) else {
            throw ParseError(ParseError.objectNotFound, "Object not found for delete.")
        }
    }

    /// The session of a token, as `GET /sessions/me` gives it; one whose time is over is still shown.
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

    /// A session as its user sees it. From preset 9 on, class permissions and protected fields apply.
    private func ownView(_ session: JSONObject, _ user: SessionUser) -> JSONObject {
        guard configuration.preset >= 9, let schema = catalog.schema("_Session") else { return session }
        guard let access = try? backend.permissions.readAccess(schema, .get, Caller(user: user)) else {
            return session.filter { $0.key == "objectId" || $0.key == "sessionToken" }
        }
        return session.filter { !access.hidden.contains($0.key) }
    }

    /// Exchanges a token for a new one: what SDKs do with tokens of the time before sessions could be revoked.
    public func upgrade(_ context: RequestContext) async throws -> JSONObject {
        guard let user = context.caller.user else {
            throw ParseError(ParseError.objectNotFound, "invalid session")
        }
        let session = try await open(for: user.id, createdWith: ["action": "upgrade"], by: user, context)
        return ownView(session.body, session.user)
    }
}
