import JSON
import ParseModel
import ParseStorage

/// Sessions that clients open and change; what the server owns of them stays.
struct SessionRules: SaveRules {
    /// Whose session it was, where the master key may move it to another user.
    private var ownerBefore: String?

    mutating func authorize(_ save: inout Save, _ backend: Backend) async throws -> WriteResult? {
        guard !save.caller.writesEverything else {
            // Neither user may be remembered with it.
            if let objectId = save.objectId { ownerBefore = try await backend.sessionOwner(objectId) }
            return nil
        }
        guard let user = save.caller.user else {
            throw ParseError(ParseError.invalidSessionToken, "Session token required.")
        }
        guard save.body["ACL"] == nil else {
            throw ParseError(ParseError.invalidKeyName, "Cannot set ACL on a Session.")
        }
        guard let objectId = save.objectId else {
            // `POST /sessions`: a further session for the caller.
            let session = try await backend.openSession(
                for: user.id, createdWith: ["action": "create"], extra: save.body, save.context)
            return WriteResult(
                status: 201, location: backend.location("_Session", session.user.sessionId, save.context),
                body: session.body)
        }
        guard save.caller.isUser(try await backend.sessionOwner(objectId)) else { throw ParseError.notFound }
        for key in save.body.keys where Backend.isServerOwned(key.text) || FieldPath(key).root == "installationId" {
            // The id may stand in a body, as SDKs put it there; it changes nothing.
            if key == "objectId" { continue }
            throw ParseError(ParseError.invalidKeyName, "Invalid key name: \(key)")
        }
        return nil
    }

    func finish(_ save: Save, _ result: inout WriteResult, _ backend: Backend) async throws {
        guard let objectId = save.objectId else { return }
        if let ownerBefore { await backend.invalidate(user: ownerBefore) }
        if let owner = try await backend.sessionOwner(objectId), !owner.hasSameBytes(as: ownerBefore) {
            await backend.invalidate(user: owner)
        }
    }
}
