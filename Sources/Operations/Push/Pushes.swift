import JSON
import Logging
public import ParseModel
import ParseStorage
public import Rules
import ServerConfiguration

/// Notifications, as administrators and cloud code send them.
public struct Pushes: Sendable {
    let backend: Backend
    var finding: Finding { backend.finding }
    var configuration: Configuration { backend.configuration }
    var store: ObjectStore { backend.store }
    var logger: Logger { backend.logger }
    var pusher: (any Pusher)? { backend.pusher }

    /// Notes a push. It is sent soon after, or at its time.
    ///
    /// - Returns: The id of its row in `_PushStatus`.
    /// - Throws: 119 for the read-only master key, 115 for what cannot be sent, the errors of conditions.
    public func send(_ parameters: JSONObject, _ context: RequestContext) async throws -> String {
        guard context.caller.power != .readOnlyMaster else {
            throw ParseError.denied(
                ParseError.operationForbidden, "read-only masterKey isn't allowed to send push notifications.")
        }
        let body = try PushBody(parameters, isConfigured: pusher != nil)
        if let problem = pusher?.problem(with: body) { throw PushBody.error(problem) }
        _ = try filter(body.query, now: context.now)
        let now = context.now
        var push = NewPush(
            id: Identifiers.alphanumeric(configuration.objectIdSize), body: parameters, query: .object(body.query),
            hashed: body.hashed, pushTime: now.iso, now: now)
        push.title = (parameters["title"] ?? parameters["data"]?["title"])?.stringValue
        push.interval = body.interval
        push.audienceId = parameters["audience_id"]?.stringValue
        var start = now
        if let time = body.time, time.first > now {
            if let days = configuration.push?.maxScheduleDays,
                Double(time.first.milliseconds - now.milliseconds) > days * 86_400_000
            {
                throw PushBody.error("push_time is too far ahead")
            }
            if configuration.schedulesPushes {
                push.pushTime = time.text
                push.due = time.first
                push.isLocal = time.isLocal
                start = time.last
            } else {
                logger.warning("a push with a time is sent at once: the option scheduledPush is false")
            }
        } else if let time = body.time, time.isLocal, configuration.schedulesPushes {
            // It has begun where clocks are ahead, and is yet to come elsewhere.
            push.pushTime = time.text
            push.due = now
            push.isLocal = true
            start = time.last
        }
        if let interval = body.interval {
            push.expiry = ParseDate(milliseconds: start.milliseconds + Int64(interval * 1000))
            push.showsExpiry = push.due == nil
        } else {
            push.expiry = body.expiration
        }
        try await store.insertPush(push)
        if push.due == nil { pusher?.wake() }
        return push.id
    }

    /// The devices that a push did not reach, and why; kept for a day.
    ///
    /// - Throws: 101 for a push that there is not.
    public func failures(of id: String, _ context: RequestContext) async throws -> [JSONObject] {
        _ = try await finding.object("_PushStatus", id, context)
        return try await store.pushFailures(id, most: 10_000)
    }

    /// The condition of an audience, as the server itself reads it.
    ///
    /// - Throws: The errors of conditions.
    public func filter(_ query: JSONObject, now: ParseDate) throws -> Filter {
        try FilterParser(isMaster: true, now: now.milliseconds).parse(query)
    }
}
