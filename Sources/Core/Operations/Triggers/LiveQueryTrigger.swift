import JSON
import Rules

public enum LiveQueryTriggerEvent: String, Sendable, CaseIterable {
    /// Before a client connects. Can reject the connection.
    case beforeConnect
    /// Before a client subscribes to a class. Can change or reject the subscription.
    case beforeSubscribe
    /// Before a client is notified of a change. Can change or drop the event.
    case afterEvent
}

/// The input and output of a live-query trigger.
public struct LiveQueryCall: Sendable {
    public let event: LiveQueryTriggerEvent
    /// The class, or `@Connect` for a connection.
    public let className: Name
    /// Additional members by parse-server's names, such as the counts of clients and subscriptions.
    public let details: JSONObject
    /// For `beforeSubscribe`, the subscription, which can be changed except for its class.
    public var query: JSONObject?
    /// For `afterEvent`, the object to send, which can be changed.
    public var object: JSONObject?
    /// For `afterEvent`, the object before the change, or nil as in ``LiveQueryEvent/original``.
    public var original: JSONObject?
    /// For `afterEvent`, whether the client is notified.
    public var isSent = true
    /// The client's request, including the user's record.
    public let request: RequestContext
}

/// A live-query trigger. Errors are sent to the client.
public typealias LiveQueryTrigger = @Sendable (inout LiveQueryCall) async throws -> Void

public struct LiveQueryTriggers: Sendable, BackendPart {
    let backend: Backend

    /// Calls the `beforeConnect` trigger.
    ///
    /// - Throws: Errors of the trigger.
    public func beforeConnect(_ details: JSONObject, _ context: RequestContext) async throws {
        guard var call = try await liveQueryCall(.beforeConnect, "@Connect", details, context) else { return }
        try await call.trigger(&call.call)
    }

    /// Calls the `beforeSubscribe` trigger of a class.
    ///
    /// - Parameter query: The client's subscription, with `className`.
    /// - Returns: The subscription after the trigger.
    /// - Throws: Errors of the trigger.
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

    /// Calls the `afterEvent` trigger of a class.
    ///
    /// - Returns: The event to send, or nil to drop it.
    /// - Throws: Errors of the trigger.
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

    /// Returns the trigger and its input, or nil without a trigger. As in parse-server, the master key gives no
    /// special rights here.
    private func liveQueryCall(
        _ event: LiveQueryTriggerEvent, _ className: Name, _ details: JSONObject, _ context: RequestContext
    ) async throws -> (trigger: LiveQueryTrigger, call: LiveQueryCall)? {
        guard let trigger = services.activeTriggers?.liveQueryTrigger(for: event, of: className) else { return nil }
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
