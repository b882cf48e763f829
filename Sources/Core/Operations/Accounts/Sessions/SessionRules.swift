import JSON
import ParseModel
import ParseStorage
import Rules

/// Saves sessions of log-ins and clients. Clients can't change fields that the server owns.
struct SessionRules: SaveRules {
    var backend: Backend

    /// The session that authorizes the new one, or nil if the user logs in by other means, such as a password.
    var opener: SessionUser?
    private var ownerBefore: String?

    init(opener: SessionUser? = nil, backend: Backend) {
        self.opener = opener
        self.backend = backend
    }

    mutating func authorize(_ save: inout Save) async throws -> WriteResult? {
        guard !save.caller.writesEverything else {
            // The cached sessions of both the old and the new owner must be invalidated.
            if let objectId = save.objectId { ownerBefore = try await backend.sessions.owner(objectId) }
            return nil
        }
        guard let user = save.caller.user else {
            throw ParseError(ParseError.invalidSessionToken, "Session token required.")
        }
        guard save.body["ACL"] == nil else {
            throw ParseError(ParseError.invalidKeyName, "Cannot set ACL on a Session.")
        }
        guard let objectId = save.objectId else {
            if save.isPartOfTransaction { throw Providers.noLogInOfTransaction }
            // `POST /sessions` creates another session for the caller, who needs the usual permission to add fields to
            // the class.
            let extra = save.body.filter { !Sessions.isServerOwned($0.key.text) }
            let operations = try WrittenFields.operations(extra, "_Session", isCreating: true)
            _ = try await backend.saving.prepare("_Session", operations, save.caller, isCreating: true)
            let session = try await backend.sessions.open(
                for: user.id, createdWith: ["action": "create"], extra: save.body, by: user, save.context)
            return WriteResult(
                status: 201, location: backend.saving.location("_Session", session.user.sessionId, save.context),
                body: session.body)
        }
        guard save.caller.isUser(try await backend.sessions.owner(objectId)) else { throw ParseError.notFound }
        for key in save.body.keys where Sessions.isServerOwned(key.text) || FieldPath(key).root == "installationId" {
            // SDKs send the id in the body, where it is ignored.
            if key == "objectId" { continue }
            throw ParseError(ParseError.invalidKeyName, "Invalid key name: \(key)")
        }
        return nil
    }

    /// Stores a session. A new session replaces the user's other sessions on the same installation, under a lock, so
    /// that exactly one remains of concurrent log-ins.
    func store(_ planned: PlannedSave) async throws -> WriteResult {
        let body = planned.save.body
        let installationId = body["installationId"]?.stringValue
        guard planned.save.isNew, opener != nil || installationId != nil,
            let userId = body["user"]?["objectId"]?.stringValue, let objectId = planned.write?.objectId
        else { return try await backend.saving.carryOut(planned) }
        let result = try await backend.transaction(conflictKey: userId) { [opener] backend in
            if let opener {
                // If the opener has ended, for example by a password change, the new session must not be created.
                guard try await backend.store.sessions.holds(session: opener.sessionId, of: opener.id) else {
                    throw ParseError(ParseError.invalidSessionToken, "Invalid session token")
                }
            }
            guard let installationId else { return try await backend.saving.carryOut(planned) }
            try await backend.store.accounts.claim(device: "session:\(userId):\(installationId)")
            let result = try await backend.saving.carryOut(planned)
            try await backend.store.deleteAll(
                "_Session",
                where: ReadRules.sessions(of: userId)
                    .and(.field(FieldPath("installationId"), .equal(.string(installationId))))
                    .and(.field(FieldPath("objectId"), .notEqual(.string(objectId)))))
            return result
        }
        if installationId != nil { await backend.caches.invalidate(user: userId) }
        return result
    }

    func finish(_ save: Save, _ result: inout WriteResult) async throws {
        guard let objectId = save.objectId else { return }
        if let ownerBefore { await backend.caches.invalidate(user: ownerBefore) }
        if let owner = try await backend.sessions.owner(objectId), !owner.hasSameBytes(as: ownerBefore) {
            await backend.caches.invalidate(user: owner)
        }
    }
}
