import JSON
public import Limits
import Logging
import ParseModel
import ParseStorage
import Rules

/// Finds and calls triggers, including those of accounts and the configuration.
public struct Triggers: Sendable, BackendPart {
    let backend: Backend

    /// Whether any trigger or observer may exist.
    var isObserved: Bool { !services.changes.observers.isEmpty || callsTriggers }

    /// Returns the trigger of a class, or nil if it has none.
    func trigger(_ event: TriggerEvent, _ className: String) -> Trigger? {
        services.activeTriggers?.trigger(for: event, of: Name(className))
    }

    /// Rejects calling code within a transaction, where it would hold locks and be called again on each retry. The
    /// triggers of saves and deletions run before the transaction begins.
    ///
    /// - Throws: 107 within a transaction.
    func checkMayCallCode() throws(ParseError) {
        guard backend.isInTransaction else { return }
        throw ParseError(
            ParseError.invalidJSON,
            "Only save and delete triggers can run inside a transaction.")
    }

    public var callsTriggers: Bool { services.activeTriggers != nil }

    /// Whether the class has a save trigger.
    public func callsSaveTriggers(_ className: String) -> Bool {
        trigger(.beforeSave, className) != nil || trigger(.afterSave, className) != nil
    }

    /// Prepares the database to number changes for observers.
    public func prepareChanges() async { await services.changes.prepare(store) }

    /// Returns the current state of an object in the format of changes with its memory reservation, or nil if it
    /// doesn't exist.
    ///
    /// - Throws: An error if the object can't be read or the memory for large objects is in use.
    public func currentObject(_ className: String, _ objectId: String) async throws
        -> (object: JSONObject, place: GatePlace?)?
    {
        try await services.changes.current(className, objectId, in: store)
    }

    /// Returns the request with the user's record for triggers, as visible to the user and with the session token.
    ///
    /// - Throws: An error if the record can't be read; `CancellationError` if the caller disconnects first.
    public func withUser(_ context: RequestContext) async throws -> RequestContext {
        guard context.userRecord == nil, let user = context.caller.user else { return context }
        try await backend.ownRecords.measure(user, context)
        let bytes = try await HeldMemory.reading(expecting: user.recordSize, size: \.count) {
            try await backend.ownRecords.me(context, isResponse: false)
        }
        var record = try await HeavyWork.makeValues(of: bytes.count) {
            try JSONValue(parsing: bytes).objectValue ?? [:]
        }
        for key in ["__type", "className"] as [Name] { record[key] = nil }
        var request = context
        request.userRecord = record
        return request
    }

    /// Calls a trigger of a log-in or password-reset request with the complete user, if the user can be read.
    ///
    /// - Parameter session: The user with the new session, after a log-in.
    /// - Throws: Errors of the trigger.
    func callUserTrigger(
        _ event: TriggerEvent, of userId: String, session: SessionUser? = nil, _ context: RequestContext
    ) async throws {
        guard let trigger = trigger(event, "_User") else { return }
        var context = context
        if let session { context.caller.user = session }
        var access = ReadAccess()
        access.loginData = services.loginDataView
        var object: JSONObject
        do {
            object = try await self.object("_User", userId, access, context)
        } catch let error as ParseError where error.code == ParseError.objectNotFound {
            return
        }
        if let session { object["sessionToken"] = .string(session.token) }
        _ = try await trigger(TriggerCall("_User", object, try await withUser(context)))
    }

    /// Prepares the `afterLogout` trigger with the session before it ends.
    ///
    /// - Returns: The call to make after the session has ended, or nil without a trigger or a readable session.
    func logoutTrigger(of sessionId: String, _ context: RequestContext) async -> (@Sendable () async throws -> Void)? {
        guard let trigger = trigger(.afterLogout, "_Session"),
            let session = try? await original("_Session", sessionId)
        else { return nil }
        let request = (try? await withUser(context)) ?? context
        let call = TriggerCall("_Session", session, cloudContext: [:], request)
        return { _ = try await trigger(call) }
    }

    /// Calls a trigger of `@Config` and returns the context for the next one.
    ///
    /// - Throws: Errors of the trigger, and 107 within a transaction.
    func callConfigTrigger(
        _ event: TriggerEvent, _ params: JSONObject, original: JSONObject?, _ context: RequestContext,
        cloudContext: JSONObject?
    ) async throws -> JSONObject? {
        guard let trigger = trigger(event, "@Config") else { return cloudContext }
        try checkMayCallCode()
        let call = TriggerCall(
            "@Config", ["params": .object(params)], original: original.map { ["params": .object($0)] },
            changes: params, cloudContext: cloudContext, try await withUser(context))
        return try await trigger(call).context ?? cloudContext
    }

    /// Returns the complete object without access checks, or nil if it doesn't exist. Files have no URLs.
    func original(_ className: String, _ objectId: String) async throws -> JSONObject? {
        guard catalog.schema(className) != nil, !objectId.utf8.contains(0) else { return nil }
        return try await store.find(ObjectStore.FindRequest(className: className, objectId: objectId)).objects.first
    }

    /// Calls the `afterSave` trigger of a class with the stored object, which the server itself has changed. Errors are
    /// logged.
    package func callAfterSave(_ className: String, _ objectId: String) async {
        guard let after = trigger(.afterSave, className) else { return }
        _ = await logging(.afterSave, className) { () -> TriggerAnswer? in
            guard let object = try await original(className, objectId) else { return nil }
            let request = RequestContext(caller: .server, mountURL: "", now: services.clock.now)
            return try await after(TriggerCall(className, object, request))
        }
    }

    /// Runs a trigger's call and logs its errors instead of throwing them.
    func logging<Result>(_ event: TriggerEvent, _ className: String, _ body: () async throws -> Result?) async
        -> Result?
    {
        do {
            return try await body()
        } catch {
            // Truncated, because the error may quote client input.
            let text = ((error as? ParseError)?.message ?? "\(error)").prefix(1000)
            logger.error(
                "trigger failed",
                metadata: ["trigger": "\(event.rawValue)", "class": "\(className)", "error": "\(text)"])
            return nil
        }
    }

    /// Returns the object if the access permits it.
    ///
    /// - Throws: 101 otherwise.
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
