import HTTP
import JSON
import Limits
import Operations
import ParseModel
import Rules
import Synchronization

/// A query that a console operator polls. It ends if polling stops, a change is missed, or a comparison fails.
actor LiveWatch {
    /// The maximum number of waiting events, and their maximum size in bytes. The oldest are dropped.
    private static let (maxEvents, maxBytes) = (1_000, 1_000_000)
    /// The size in bytes above which an event contains only the object id.
    private static let longest = 64 * 1024
    private static let steps = 1_000_000
    private static let idle = Duration.seconds(30)

    private let server: LiveQueryServer
    private let context: RequestContext
    private let inbox = ChangeInbox()
    private var query: LiveQuery
    private var events: [(event: JSONValue, size: Int)] = []
    private var bytes = 0
    private var skipped = 0
    private var asked = ContinuousClock.now

    init(_ query: LiveQuery, _ context: RequestContext, of server: LiveQueryServer) {
        self.query = query
        self.context = context
        self.server = server
    }

    private var topic: ChangeFeed.Topic { .objects(query.className) }

    func begin() { server.feed.add(inbox, to: topic) }

    func run() async {
        defer { server.feed.remove(inbox, from: topic) }
        await withTaskGroup(of: Void.self) { group in
            group.addTask(executorPreference: LongWork.changes) { await self.receiveChanges() }
            group.addTask { [inbox] in for await _ in inbox.overflow {} }
            group.addTask { await self.waitUntilIdle() }
            await group.next()
            group.cancelAll()
        }
    }

    /// Returns the events since the previous call, and the number of dropped events.
    func dequeueEvents() -> (events: [JSONValue], skipped: Int) {
        asked = .now
        defer { (events, bytes, skipped) = ([], 0, 0) }
        return (events.map { $0.event }, skipped)
    }

    private func waitUntilIdle() async {
        while ContinuousClock.now - asked < Self.idle, !Task.isCancelled {
            try? await Task.sleep(for: .seconds(1))
        }
    }

    private func receiveChanges() async {
        for await item in inbox.items {
            guard case .change(let change, let size) = item else { continue }
            // The next poll subscribes again and so gets the error.
            guard (try? record(change)) != nil else { return }
            inbox.release(size)
            await Task.yield()
        }
    }

    private func record(_ change: Change) throws(ParseError) {
        var budget = MatchBudget(steps: Self.steps)
        var context = context
        context.now = server.backend.clock.now
        let event = try server.backend.liveQueries.event(of: change, for: &query, context, &budget)
        guard let event else { return }
        var entry: JSONObject = [
            "event": .string(event.kind.rawValue), "at": .string(context.now.iso), "object": .object(event.object),
        ]
        entry["original"] = event.original.map { .object($0) }
        var size = JSONValue.object(entry).serialized().count
        if size > Self.longest {
            entry["object"] = ["objectId": event.object["objectId"] ?? .null]
            entry["original"] = nil
            entry["bytes"] = .number(Double(size))
            size = 256
        }
        events.append((event: .object(entry), size: size))
        bytes += size
        while events.count > Self.maxEvents || bytes > Self.maxBytes {
            bytes -= events.removeFirst().size
            skipped += 1
        }
    }
}

/// The watched queries of this process, by name.
final class LiveWatches: Sendable {
    private static let maxWatches = 32
    private let all = Mutex<[String: LiveWatch]>([:])

    var isEmpty: Bool { all.withLock { $0.isEmpty } }

    subscript(name: String) -> LiveWatch? { all.withLock { $0[name] } }

    /// Adds a watch. Returns false if the limit is reached or the name is in use.
    func add(_ watch: LiveWatch, as name: String) -> Bool {
        all.withLock { all in
            guard all.count < Self.maxWatches, all[name] == nil else { return false }
            all[name] = watch
            return true
        }
    }

    func remove(_ name: String) { all.withLock { $0[name] = nil } }
}

extension LiveQueryServer {
    /// Returns the events of a watched query since the previous call, waiting up to `wait` for the first one. The first
    /// call starts the watch and returns immediately. Runs no triggers.
    ///
    /// - Parameters:
    ///   - query: `className` and `where`.
    ///   - name: A name that is unique to the operator's session.
    ///   - mountURL: The server URL as seen by the operator.
    ///   - address: The operator's IP address.
    ///   - wait: The maximum waiting time.
    /// - Returns: `events`, each with `event`, `at`, `object` and, if there is one, `original`; `skipped`, the number
    ///   of dropped events; `isNew`, whether the watch has just started.
    /// - Throws: `ParseError` 102 and others for an invalid query, 103 if changes of the class aren't published, 155 if
    ///   too many queries are watched, 1 if other processes can't be asked for changes.
    public func events(
        _ query: JSONObject, followedAs name: String, mountURL: String, address: String, wait: Duration
    ) async throws -> JSONObject {
        let key = "\(name) \(JSONValue.object(query).text)"
        var isNew = false
        let watch: LiveWatch
        if let known = watches[key] {
            watch = known
        } else {
            let context = RequestContext(
                caller: .server, mountURL: mountURL, now: backend.clock.now, address: address)
            watch = try await follow(query, as: key, context)
            isNew = true
        }
        let end = ContinuousClock.now + wait
        while true {
            let (events, skipped) = await watch.dequeueEvents()
            guard events.isEmpty, skipped == 0, !isNew, ContinuousClock.now < end else {
                return [
                    "events": .array(events), "skipped": .number(Double(skipped)), "isNew": .bool(isNew),
                ]
            }
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    private func follow(_ query: JSONObject, as name: String, _ context: RequestContext) async throws -> LiveWatch {
        let backend = backend
        let prepared = try await LongWork.medium.run { Result { try backend.liveQueries.subscribe(query, context) } }
            .get()
        guard backend.configuration.liveQuery.publishes(prepared.className) else {
            throw ParseError(
                ParseError.invalidClassName,
                "The option liveQuery doesn't include the class \(prepared.className.text).")
        }
        let watch = LiveWatch(prepared, context, of: self)
        guard watches.add(watch, as: name) else {
            throw ParseError(ParseError.requestLimitExceeded, "Too many live queries are being watched.")
        }
        await watch.begin()
        // The watch outlives this request.
        Task.detached { [watches] in
            await watch.run()
            watches.remove(name)
        }
        try await announceClients()
        await feed.settleWrites()
        return watch
    }
}
