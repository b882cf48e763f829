import JSON
import Logging
public import ParseModel
import ParseStorage
public import Rules
import ServerConfiguration

extension Backend {
    /// Push requests.
    public var pushes: Pushes { Pushes(backend: self) }
}

/// Accepts pushes from administrators and cloud code.
public struct Pushes: Sendable, BackendPart {
    let backend: Backend

    /// Stores a push, which is sent soon after or at its scheduled time.
    ///
    /// - Returns: The id of the push's row in `_PushStatus`.
    /// - Throws: 119 for the read-only master key, 115 if a parameter is invalid or too many pushes are waiting, and
    ///   the errors of invalid conditions.
    public func send(_ parameters: JSONObject, _ context: RequestContext) async throws -> String {
        guard context.caller.power != .readOnlyMaster else { throw ParseError.readOnly("send push notifications") }
        let body = try PushBody(parameters, isConfigured: services.extensions.pusher != nil)
        if let problem = services.extensions.pusher?.problem(with: body) { throw PushBody.error(problem) }
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
            // The time has already passed in some or all time zones.
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
            logger.warning("push has no default text for devices with other locales", metadata: ["push": "\(push.id)"])
        }
        // Called before waking the queue, so that the trigger usually sees the row before sending begins.
        await callAfterSave(of: push.id)
        if push.due == nil { services.extensions.pusher?.wake() }
        return push.id
    }

    /// The maximum number of due parts of pushes that haven't started. A request waits up to `longestWait` until there
    /// are fewer.
    private static let maxWaiting = 100
    private static let longestWait = Duration.seconds(10)

    private func waitForRoom() async throws {
        let end = ContinuousClock.now + Self.longestWait
        while try await store.pushes.waiting(limit: Self.maxWaiting) >= Self.maxWaiting {
            guard ContinuousClock.now < end else {
                throw PushBody.error("\(Self.maxWaiting) pushes are already waiting to be sent")
            }
            services.extensions.pusher?.wake()
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    /// Calls the `afterSave` trigger of `_PushStatus` with the current row.
    public func callAfterSave(of id: String) async {
        guard let after = backend.triggers.trigger(.afterSave, "_PushStatus") else { return }
        _ = await backend.triggers.logging(.afterSave, "_PushStatus") { () -> TriggerAnswer? in
            guard let row = try await backend.triggers.original("_PushStatus", id) else { return nil }
            let request = RequestContext(caller: .server, mountURL: "", now: services.clock.now)
            return try await after(TriggerCall("_PushStatus", row, request))
        }
    }

    /// Returns the report of a dry run, which is retained for 30 days.
    ///
    /// - Throws: 101 if the push doesn't exist or has no report.
    public func report(of id: String, _ context: RequestContext) async throws -> JSONObject {
        _ = try await backend.finding.object("_PushStatus", id, context)
        guard let report = try await store.pushes.report(id) else {
            throw ParseError(ParseError.objectNotFound, "Object not found.")
        }
        return report
    }

    /// Returns up to 10,000 devices that a push did not reach, with reasons. Failures are retained for a day.
    ///
    /// - Throws: 101 if the push doesn't exist.
    public func failures(of id: String, _ context: RequestContext) async throws -> [JSONObject] {
        _ = try await backend.finding.object("_PushStatus", id, context)
        return try await store.pushes.failures(id, limit: 10_000)
    }

    /// Parses the condition of a push with full rights.
    ///
    /// - Throws: `ParseError` if the condition is invalid.
    public func filter(_ query: JSONObject, now: ParseDate) throws -> Filter {
        try FilterParser(isMaster: true, now: now.milliseconds).parse(query)
    }
}

/// Sends push notifications.
public protocol Pusher: Sendable {
    /// Starts sending pushes stored in the database.
    func wake()

    /// Returns the reason why the push can't be sent to any device, or nil if it can.
    func problem(with body: PushBody) -> String?
}
