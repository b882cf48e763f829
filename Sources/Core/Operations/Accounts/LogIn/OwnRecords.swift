import JSON
import ParseModel
import ParseStorage
import Rules
import ServerConfiguration
import Tasks

/// The records of users as they see them: `GET /users/me`, the answers to log-ins, what functions know of their caller.
public struct OwnRecords: Sendable, BackendPart {
    let backend: Backend

    /// The caller's own record, as `GET /users/me` gives it.
    ///
    /// It is remembered with the session: whatever changes a user makes its sessions forgotten.
    /// - Throws: 209 without a user.
    public func me(_ context: RequestContext) async throws -> [UInt8] {
        guard let user = context.caller.user else {
            throw ParseError(
                ParseError.invalidSessionToken, "Invalid session token", publicMessage: "Permission denied")
        }
        let schemaVersion = catalog.version
        if !backend.isInTransaction, let known = user.record, known.mountURL == context.mountURL,
            known.schemaVersion == schemaVersion
        {
            return known.bytes
        }
        var members: JSONObject = user.token.isEmpty ? [:] : ["sessionToken": .string(user.token)]
        if configuration.preset < 9 {
            // These servers read the user as an included object.
            members["__type"] = "Object"
            members["className"] = "_User"
        }
        let bytes = try await record(user.id, user, members, context)
        if !backend.isInTransaction, bytes.count <= Self.largestRecord {
            user.record = SessionUser.Record(bytes: bytes, mountURL: context.mountURL, schemaVersion: schemaVersion)
        }
        return bytes
    }

    /// Reads the caller's own record once where its size is not known yet, for one request of a session at a time:
    /// of many that come at once each would have a large one before it could wait for the memory.
    func measure(_ user: SessionUser, _ context: RequestContext) async throws {
        guard user.recordSize == 0, !backend.isInTransaction else { return }
        do {
            try await Self.firstReads.run(of: Sender(address: user.token)) {
                if user.recordSize == 0 { _ = try await me(context) }
            }
        } catch is CancellationError where !Task.isCancelled {
            // The caller has left, and what it began is carried out all the same.
        }
    }

    private static let firstReads = Gate(capacity: .max, share: 1)

    /// In bytes. Larger records are not cached, as there may be many of them.
    private static let largestRecord = 16 * 1024

    /// A user's record as the user sees it, as JSON: no values are made of it.
    ///
    /// - Parameter members: What the answer has besides.
    func record(_ id: String, _ user: SessionUser, _ members: JSONObject, _ context: RequestContext) async throws
        -> [UInt8]
    {
        guard let found = try await row(id, user, context) else {
            let known: JSONObject = ["objectId": .string(id)]
            return JSONValue.object(known.merging(members) { $1 }).serialized()
        }
        let bytes = try await HeavyWork.run(if: found.isHeavy) {
            var writer = JSONWriter(capacity: found.writtenSize)
            try found.write(0, extra: members.map { JSONValue.member($0.key, $0.value) }, into: &writer)
            return writer.take()
        }
        user.recordSize = bytes.count
        return bytes
    }

    /// A user's record as the user sees it, as values.
    func record(_ id: String, _ user: SessionUser, _ context: RequestContext) async throws -> JSONObject {
        try await row(id, user, context)?.objects.first ?? ["objectId": .string(id)]
    }

    /// The user's own row, or nil if the user may not see it.
    ///
    /// From preset 9 on it is read with the user's own rights: class permissions and protected fields apply.
    private func row(_ id: String, _ user: SessionUser, _ context: RequestContext) async throws
        -> ObjectStore.Found?
    {
        var own = context
        own.caller = configuration.preset >= 9 ? Caller(user: user) : .server
        own.caller.hiddenSecrets = context.caller.hiddenSecrets
        do {
            return try await backend.finding.found(
                "_User", id, own, expectedBytes: user.recordSize, loginData: services.loginDataView)
        } catch let error as ParseError
            where error.code == ParseError.operationForbidden || error.code == ParseError.objectNotFound
        {
            return nil
        }
    }
}
