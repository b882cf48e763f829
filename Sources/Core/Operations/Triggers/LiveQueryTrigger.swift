import JSON
import Rules

/// When something is called in the life of live queries.
public enum LiveQueryTriggerEvent: String, Sendable, CaseIterable {
    /// Before a client is connected; may refuse.
    case beforeConnect
    /// Before a client is subscribed to a class; may change what it is subscribed to, or refuse.
    case beforeSubscribe
    /// Before a client is notified of a change; may change what it gets, or drop the event.
    case afterEvent
}

/// What a trigger of live queries sees and changes.
public struct LiveQueryCall: Sendable {
    /// When it is called.
    public let event: LiveQueryTriggerEvent
    /// The class; `@Connect` for a connection.
    public let className: Name
    /// What the call has besides: the client's message, numbers of clients and subscriptions, as parse-server names
    /// them.
    public let details: JSONObject
    /// Before a subscription: what the client wants, which may be changed: `where`, `keys`, `watch`, `include`.
    public var query: JSONObject?
    /// Of an event: the object that the client gets, which may be changed.
    public var object: JSONObject?
    /// Of an event: the object as it was before; nil where there is none.
    public var original: JSONObject?
    /// Of an event: whether the client is notified.
    public var isSent = true
    /// The request of the client, with the record of its user.
    public let request: RequestContext
}

/// What is called in the life of live queries. What it throws goes to the client.
public typealias LiveQueryTrigger = @Sendable (inout LiveQueryCall) async throws -> Void

/// The triggers of live queries: before a connection, before a subscription, after an event.
public struct LiveQueryTriggers: Sendable, BackendPart {
    let backend: Backend

    /// Calls the trigger before a client is connected.
    ///
    /// - Throws: What the trigger throws.
    public func beforeConnect(_ details: JSONObject, _ context: RequestContext) async throws {
        guard var call = try await liveQueryCall(.beforeConnect, "@Connect", details, context) else { return }
        try await call.trigger(&call.call)
    }

    /// Calls the trigger before a client is subscribed.
    ///
    /// - Parameter query: What the client wants, with `className`.
    /// - Returns: What it is subscribed to.
    /// - Throws: What the trigger throws.
    public func beforeSubscribe(_ query: JSONObject, _ details: JSONObject, _ context: RequestContext) async throws
        -> JSONObject
    {
        guard let className = query["className"]?.nameValue,
            var call = try await liveQueryCall(.beforeSubscribe, className, details, context)
        else { return query }
        call.call.query = query
        try await call.trigger(&call.call)
        var changed = call.call.query ?? query
        changed["className"] = query["className"]
        return changed
    }

    /// Calls the trigger before a client is notified of a change.
    ///
    /// - Returns: What the client gets; nil for nothing.
    /// - Throws: What the trigger throws.
    public func afterEvent(
        _ event: LiveQueryEvent, of className: Name, _ details: JSONObject, _ context: RequestContext
    ) async throws -> LiveQueryEvent? {
        guard var call = try await liveQueryCall(.afterEvent, className, details, context) else { return event }
        call.call.object = event.object
        call.call.original = event.original
        try await call.trigger(&call.call)
        guard call.call.isSent else { return nil }
        func complete(_ object: JSONObject) -> JSONObject {
            let kind: JSONObject = ["__type": "Object", "className": .string(className.text)]
            // The trigger may return an object of another class.
            return kind.merging(object) { own, given in given.stringValue == nil ? own : given }
        }
        return LiveQueryEvent(
            kind: event.kind, object: complete(call.call.object ?? event.object),
            original: call.call.original.map(complete))
    }

    /// The trigger and its input, or nil for none. As in parse-server, the master key gives no special rights here.
    private func liveQueryCall(
        _ event: LiveQueryTriggerEvent, _ className: Name, _ details: JSONObject, _ context: RequestContext
    ) async throws -> (trigger: LiveQueryTrigger, call: LiveQueryCall)? {
        guard let triggerSet = services.triggerSet, triggerSet.isActive,
            let trigger = triggerSet.liveQueryTrigger(for: event, of: className)
        else { return nil }
        var context = context
        context.caller.power = .client
        return (
            trigger,
            LiveQueryCall(
                event: event, className: className, details: details,
                request: try await backend.triggers.withUser(context))
        )
    }
}
