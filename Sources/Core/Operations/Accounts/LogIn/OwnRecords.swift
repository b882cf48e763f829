import JSON
import Limits
import ParseModel
import ParseStorage
import Rules
import ServerConfiguration

/// Users' records as the users themselves see them, for `GET /users/me`, log-ins and the `user` of cloud-code requests.
public struct OwnRecords: Sendable, BackendPart {
    let backend: Backend

    /// Returns the caller's own record, as for `GET /users/me`.
    ///
    /// The record is cached with the session unless it is large or one of the app's adapters selects its login data.
    /// Every change of a user removes the user's sessions from the cache.
    ///
    /// - Parameter isResponse: Whether a client gets the record. For cloud code, adapters aren't called.
    /// - Throws: 209 without a user.
    public func me(_ context: RequestContext, isResponse: Bool = true) async throws -> [UInt8] {
        guard let user = context.caller.user else {
            throw ParseError(
                ParseError.invalidSessionToken, "Invalid session token", publicMessage: "Permission denied")
        }
        let schemaVersion = catalog.version
        let isCached = !backend.isInTransaction && !(isResponse && backend.providers.chooseShownData)
        if isCached, let known = user.record, known.mountURL == context.mountURL,
            known.schemaVersion == schemaVersion
        {
            return known.bytes
        }
        var members: JSONObject = user.token.isEmpty ? [:] : ["sessionToken": .string(user.token)]
        if configuration.preset < 9 {
            // Presets below 9 return the user as an included object.
            members["__type"] = "Object"
            members["className"] = "_User"
        }
        let bytes = try await record(user.id, user, members, context, isResponse: isResponse)
        if isCached, bytes.count <= Self.largestRecord {
            user.record = SessionUser.Record(bytes: bytes, mountURL: context.mountURL, schemaVersion: schemaVersion)
        }
        return bytes
    }

    /// Reads the caller's record once if its size is unknown, one request per session at a time. Otherwise concurrent
    /// requests could each load a large record before waiting for memory.
    func measure(_ user: SessionUser, _ context: RequestContext) async throws {
        guard user.recordSize == 0, !backend.isInTransaction else { return }
        do {
            try await Self.firstReads.run(of: Sender(address: user.token)) {
                if user.recordSize == 0 { _ = try await me(context, isResponse: false) }
            }
        } catch is CancellationError where !Task.isCancelled {
            // The caller disconnected, but its request continues, here without the size.
        }
    }

    private static let firstReads = Gate(capacity: .max, share: 1)

    /// The maximum size of a cached record in bytes. There may be many sessions.
    private static let largestRecord = 16 * 1024

    /// Returns a user's record as visible to the user, as JSON written directly from the row.
    ///
    /// - Parameter members: Additional members of the response.
    func record(
        _ id: String, _ user: SessionUser, _ members: JSONObject, _ context: RequestContext, isResponse: Bool = true
    ) async throws -> [UInt8] {
        guard let found = try await row(id, user, context, isResponse: isResponse) else {
            let known: JSONObject = ["objectId": .string(id)]
            return JSONValue.object(known.merging(members) { $1 }).serialized()
        }
        let bytes = try await HeavyWork.run(found.cost) {
            var writer = JSONWriter(capacity: found.writtenSize)
            try found.write(0, extra: members.map { JSONValue.member($0.key, $0.value) }, into: &writer)
            return writer.finish()
        }
        user.recordSize = bytes.count
        return bytes
    }

    /// Returns a user's record as visible to the user.
    func record(_ id: String, _ user: SessionUser, _ context: RequestContext) async throws -> JSONObject {
        try await row(id, user, context)?.objects.first ?? ["objectId": .string(id)]
    }

    /// From preset 9, the row is read with the user's own rights, so class permissions and protected fields apply.
    /// Returns nil if they deny it or the user doesn't exist.
    private func row(
        _ id: String, _ user: SessionUser, _ context: RequestContext, isResponse: Bool = true
    ) async throws -> ObjectStore.Found? {
        var own = context
        own.caller = configuration.preset >= 9 ? Caller(user: user) : .server
        own.caller.hiddenSecrets = context.caller.hiddenSecrets
        do {
            let found = try await backend.finding.found(
                "_User", id, own, cost: Cost(bytes: user.recordSize), loginData: services.loginDataView)
            return isResponse ? await backend.providers.showing(found, context) : found
        } catch let error as ParseError
            where error.code == ParseError.operationForbidden || error.code == ParseError.objectNotFound
        {
            return nil
        }
    }
}
