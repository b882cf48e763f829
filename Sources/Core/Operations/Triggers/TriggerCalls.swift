import JSON
import Logging
import ParseModel
import ParseStorage
import Rules
import ServerConfiguration
import Tasks

/// What the calls of triggers share, and those around accounts and the configuration.
public struct Triggers: Sendable, BackendPart {
    let backend: Backend

    /// Whether anybody could want to know of changes.
    var isObserved: Bool { !services.changes.observers.isEmpty || services.triggerSet?.isActive == true }

    /// What is called for an event of a class; nil for nothing.
    func trigger(_ event: TriggerEvent, _ className: String) -> Trigger? {
        guard let triggerSet = services.triggerSet, triggerSet.isActive else { return nil }
        return triggerSet.trigger(for: event, of: Name(className))
    }

    /// Refuses to call code while a transaction holds its connection and its locks: the code would keep others waiting,
    /// and be called again with every attempt. What saves and deletions call is called before the transaction begins.
    ///
    /// - Throws: 107.
    func checkMayCallCode() throws(ParseError) {
        guard backend.isInTransaction else { return }
        throw ParseError(
            ParseError.invalidJSON,
            "Only save and delete triggers can run inside a transaction.")
    }

    /// Whether there is any trigger.
    public var callsTriggers: Bool { services.triggerSet?.isActive == true }

    /// Whether cloud code is called around saves of a class.
    public func callsSaveTriggers(_ className: String) -> Bool {
        trigger(.beforeSave, className) != nil || trigger(.afterSave, className) != nil
    }

    /// Prepares the database for what observers want to know of changes.
    public func prepareChanges() async { await services.changes.prepare(store) }

    /// An object as it is now, as changes carry it, with what it holds for as long as it is kept; nil where there is
    /// none.
    ///
    /// - Throws: Where it cannot be read, or there is no room for it.
    public func currentObject(_ className: String, _ objectId: String) async throws
        -> (object: JSONObject, place: ValuePlace?)?
    {
        try await services.changes.current(className, objectId, in: store)
    }

    /// A request as cloud code gets it: with the record of its user, as the user sees it, and the session token.
    ///
    /// - Throws: Why it cannot be read; `CancellationError` when the caller left before.
    public func withUser(_ context: RequestContext) async throws -> RequestContext {
        guard context.userRecord == nil, let user = context.caller.user else { return context }
        try await backend.ownRecords.measure(user, context)
        let bytes = try await HeldMemory.reading(expecting: user.recordSize, size: \.count) {
            try await backend.ownRecords.me(context)
        }
        var record = try await HeavyWork.makeValues(of: bytes.count) {
            try JSONValue(parsing: bytes).objectValue ?? [:]
        }
        for key in ["__type", "className"] as [Name] { record[key] = nil }
        var request = context
        request.userRecord = record
        return request
    }

    /// Calls a trigger around a log-in or a request for a new password, with the user as the server sees it.
    ///
    /// - Parameters:
    ///   - session: The user of the new session, after a log-in.
    /// - Throws: What the trigger throws.
    func callUserTrigger(
        _ event: TriggerEvent, of userId: String, session: SessionUser? = nil, _ context: RequestContext
    ) async throws {
        guard let trigger = trigger(event, "_User") else { return }
        var context = context
        if let session { context.caller.user = session }
        var access = ReadAccess()
        access.loginData = services.loginDataView
        guard var object = try? await self.object("_User", userId, access, context) else { return }
        if let session { object["sessionToken"] = .string(session.token) }
        _ = try await trigger(TriggerCall(event, "_User", object, try await withUser(context)))
    }

    /// Prepares the call of the trigger after a log-out, with the session that is to end.
    ///
    /// - Returns: The call, for when the session has ended; nil when nothing is called.
    func logoutTrigger(of sessionId: String, _ context: RequestContext) async -> (@Sendable () async throws -> Void)? {
        guard let trigger = trigger(.afterLogout, "_Session"),
            let session = try? await original("_Session", sessionId)
        else { return nil }
        let request = (try? await withUser(context)) ?? context
        let call = TriggerCall(.afterLogout, "_Session", session, cloudContext: [:], request)
        return { _ = try await trigger(call) }
    }

    /// Calls a trigger around a change of the configuration; throws what the trigger throws.
    func callConfigTrigger(
        _ event: TriggerEvent, _ params: JSONObject, original: JSONObject?, _ context: RequestContext,
        cloudContext: JSONObject?
    ) async throws -> JSONObject? {
        guard let trigger = trigger(event, "@Config") else { return cloudContext }
        try checkMayCallCode()
        let call = TriggerCall(
            event, "@Config", ["params": .object(params)], original: original.map { ["params": .object($0)] },
            changes: params, cloudContext: cloudContext, try await withUser(context))
        return try await trigger(call).context ?? cloudContext
    }

    /// An object as it is, all of it.
    ///
    /// - Parameter links: How its files are linked to; names alone, for objects that no client sees.
    func original(_ className: String, _ objectId: String, _ links: FileLinks = .none) async throws -> JSONObject? {
        guard catalog.schema(className) != nil, !objectId.utf8.contains(0) else { return nil }
        var request = ObjectStore.FindRequest(className: className, objectId: objectId)
        request.links = links
        return try await store.find(request).objects.first
    }

    /// Calls a trigger whose failure changes nothing.
    func logging<Result>(_ event: TriggerEvent, _ className: String, _ body: () async throws -> Result?) async
        -> Result?
    {
        do {
            return try await body()
        } catch {
            // Code may quote what a client sent.
            let text = ((error as? ParseError)?.message ?? "\(error)").prefix(1000)
            logger.error(
                "trigger failed",
                metadata: ["trigger": "\(event.rawValue)", "class": "\(className)", "error": "\(text)"])
            return nil
        }
    }

    /// An object that an access lets through; throws 101 when it lets none through.
    func object(_ className: String, _ objectId: String, _ access: ReadAccess, _ context: RequestContext)
        async throws -> JSONObject
    {
        var request = ObjectStore.FindRequest(className: className, objectId: objectId)
        request.access = access
        request.links = backend.links(context)
        guard let found = try await store.find(request).objects.first else { throw ParseError.notFound }
        return found
    }
}
