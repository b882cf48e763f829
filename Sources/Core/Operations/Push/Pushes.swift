import JSON
import Logging
public import ParseModel
import ParseStorage
public import Rules
import ServerConfiguration

/// Notifications, as administrators and cloud code send them.
public struct Pushes: Sendable, BackendPart {
    let backend: Backend

    /// Notes a push. It is sent soon after, or at its time.
    ///
    /// - Returns: The id of its row in `_PushStatus`.
    /// - Throws: 119 for the read-only master key, 115 for what cannot be sent, the errors of conditions.
    public func send(_ parameters: JSONObject, _ context: RequestContext) async throws -> String {
        guard context.caller.power != .readOnlyMaster else {
            throw ParseError.denied(
                ParseError.operationForbidden, "read-only masterKey isn't allowed to send push notifications.")
        }
        let body = try PushBody(parameters, isConfigured: services.pusher != nil)
        if let problem = services.pusher?.problem(with: body) { throw PushBody.error(problem) }
        _ = try filter(body.query, now: context.now)
        let now = context.now
        var push = NewPush(
            id: Identifiers.alphanumeric(configuration.objectIdSize), body: body.parameters, query: .object(body.query),
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
                logger.warning("scheduled push sent immediately because the option scheduledPush is false")
            }
        } else if let time = body.time, time.isLocal, configuration.schedulesPushes {
            // It has begun where clocks are ahead, and is yet to come elsewhere.
            push.pushTime = time.text
            push.due = now
            push.isLocal = true
            start = max(time.last, now)
        }
        if let interval = body.interval {
            push.expiry = ParseDate(milliseconds: start.milliseconds + Int64(interval * 1000))
            push.showsExpiry = push.due == nil
        } else {
            push.expiry = body.expiration
        }
        try await waitForRoom()
        try await store.pushes.insert(push)
        if body.hasTextsOfLocalesOnly {
            logger.warning("devices whose locale the push does not name get no text", metadata: ["push": "\(push.id)"])
        }
        // The trigger sees the row as it waits; then it is begun.
        await noteChange(of: push.id)
        if push.due == nil { services.pusher?.wake() }
        return push.id
    }

    /// Limit of pushes that have not started, and how long a request waits for one of them to start.
    private static let mostWaiting = 100
    private static let longestWait = Duration.seconds(10)

    /// Waits until few enough pushes are waiting. Throws 115 if none starts in time.
    private func waitForRoom() async throws {
        let end = ContinuousClock.now + Self.longestWait
        while try await store.pushes.waiting(most: Self.mostWaiting) >= Self.mostWaiting {
            guard ContinuousClock.now < end else {
                throw PushBody.error("\(Self.mostWaiting) pushes are waiting to be sent already")
            }
            services.pusher?.wake()
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    /// Calls the trigger after saves of `_PushStatus`, with the row as it is.
    public func noteChange(of id: String) async {
        guard let after = backend.triggers.trigger(.afterSave, "_PushStatus") else { return }
        _ = await backend.triggers.logging(.afterSave, "_PushStatus") { () -> TriggerAnswer? in
            guard let row = try await backend.triggers.original("_PushStatus", id) else { return nil }
            let request = RequestContext(caller: .server, mountURL: "", now: services.clock.now)
            return try await after(TriggerCall(.afterSave, "_PushStatus", row, request))
        }
    }

    /// What the trial run of a push has found out.
    ///
    /// - Throws: 101 for a push that there is not, or that was no trial run.
    public func report(of id: String, _ context: RequestContext) async throws -> JSONObject {
        _ = try await backend.finding.object("_PushStatus", id, context)
        guard let report = try await store.pushes.report(id) else {
            throw ParseError(ParseError.objectNotFound, "Object not found.")
        }
        return report
    }

    /// The devices that a push did not reach, and why; kept for a day.
    ///
    /// - Throws: 101 for a push that there is not.
    public func failures(of id: String, _ context: RequestContext) async throws -> [JSONObject] {
        _ = try await backend.finding.object("_PushStatus", id, context)
        return try await store.pushes.failures(id, most: 10_000)
    }

    /// The condition of an audience, as the server itself reads it.
    ///
    /// - Throws: The errors of conditions.
    public func filter(_ query: JSONObject, now: ParseDate) throws -> Filter {
        try FilterParser(isMaster: true, now: now.milliseconds).parse(query)
    }
}

/// What sends notifications.
public protocol Pusher: Sendable {
    /// Says that a push was noted in the database, from where it is sent.
    func wake()

    /// Why what is to be sent cannot be sent to any device; nil when it can.
    func problem(with body: PushBody) -> String?
}
