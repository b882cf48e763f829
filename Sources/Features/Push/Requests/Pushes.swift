public import JSON
import Logging
public import Operations
import ParseModel
public import ParseStorage
public import Rules
import ServerConfiguration

/// Accepts pushes from administrators and cloud code.
public struct Pushes: Pusher {
    private let queue: PushQueue?

    /// - Parameter queue: The queue that sends pushes, or nil without the option `push`.
    public init(queue: PushQueue?) { self.queue = queue }

    public func prepare(_ store: ObjectStore) async throws { try await store.pushes.prepare() }

    public func send(_ parameters: JSONObject, _ context: RequestContext, in backend: Backend) async throws -> String {
        let (configuration, store, logger) = (backend.configuration, backend.store, backend.logger)
        guard context.caller.power != .readOnlyMaster else { throw ParseError.readOnly("send push notifications") }
        let body = try PushBody(parameters, isConfigured: queue != nil)
        if let problem = queue?.problem(with: body) { throw PushBody.error(problem) }
        let now = context.now
        _ = try FilterParser(isMaster: true, now: now.milliseconds).parse(body.query)
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
        try await waitForRoom(in: store)
        try await store.pushes.insert(push)
        if body.hasTextsOfLocalesOnly {
            logger.warning("push has no default text for devices with other locales", metadata: ["push": "\(push.id)"])
        }
        // Called before waking the queue, so that the trigger usually sees the row before sending begins.
        await backend.triggers.callAfterSave("_PushStatus", push.id)
        if push.due == nil { queue?.wake() }
        return push.id
    }

    /// The maximum number of due parts of pushes that haven't started. A request waits up to `longestWait` until there
    /// are fewer.
    private static let maxWaiting = 100
    private static let longestWait = Duration.seconds(10)

    private func waitForRoom(in store: ObjectStore) async throws {
        let end = ContinuousClock.now + Self.longestWait
        while try await store.pushes.waiting(limit: Self.maxWaiting) >= Self.maxWaiting {
            guard ContinuousClock.now < end else {
                throw PushBody.error("\(Self.maxWaiting) pushes are already waiting to be sent")
            }
            queue?.wake()
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    public func report(of id: String, _ context: RequestContext, in backend: Backend) async throws -> JSONObject {
        _ = try await backend.finding.object("_PushStatus", id, context)
        guard let report = try await backend.store.pushes.report(id) else {
            throw ParseError(ParseError.objectNotFound, "Object not found.")
        }
        return report
    }

    public func failures(of id: String, _ context: RequestContext, in backend: Backend) async throws -> [JSONObject] {
        _ = try await backend.finding.object("_PushStatus", id, context)
        return try await backend.store.pushes.failures(id, limit: 10_000)
    }
}
