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
        _ = try await call(.beforeConnect, "@Connect", details, context)
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
            let call = try await call(.beforeSubscribe, className, details, query: query, context)
        else { return query }
        var changed = call.query ?? query
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
        guard
            let call = try await call(
                .afterEvent, className, details, object: event.object, original: event.original, context)
        else { return event }
        guard call.isSent else { return nil }
        func complete(_ object: JSONObject) -> JSONObject {
            let kind: JSONObject = ["__type": "Object", "className": .string(className.text)]
            // The trigger may return an object of another class.
            return kind.merging(object) { own, given in given.stringValue == nil ? own : given }
        }
        return LiveQueryEvent(
            kind: event.kind, object: complete(call.object ?? event.object), original: call.original.map(complete))
    }

    /// Calls a trigger and returns its output, or nil without a trigger. As in parse-server, the master key gives no
    /// special rights here.
    private func call(
        _ event: LiveQueryTriggerEvent, _ className: Name, _ details: JSONObject, query: JSONObject? = nil,
        object: JSONObject? = nil, original: JSONObject? = nil, _ context: RequestContext
    ) async throws -> LiveQueryCall? {
        guard let trigger = services.activeTriggers?.liveQueryTrigger(for: event, of: className) else { return nil }
        var context = context
        context.caller.power = .client
        var call = LiveQueryCall(
            className: className, details: details, query: query, object: object, original: original,
            request: try await backend.triggers.withUser(context))
        try await trigger(&call)
        return call
    }
}
