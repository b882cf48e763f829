import HTTP
import JSON
import Operations
import ParseModel
import Rules
import Synchronization
import Tasks

/// A query that an administrator follows by asking again and again: what came since it was asked last. It ends when
/// it is not asked any more, or when more comes than there is room for.
actor LiveWatch {
    /// The most events that wait, and the most bytes that they take: the earliest make room.
    private static let (mostEvents, mostBytes) = (1_000, 1_000_000)
    /// From how many bytes on an event comes without its fields.
    private static let longest = 64 * 1024
    /// What the comparison with one change may take.
    private static let steps = 1_000_000
    /// After how long without a question it ends.
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

    /// Compares changes until it ends.
    func run() async {
        defer { server.feed.remove(inbox, from: topic) }
        await withTaskGroup(of: Void.self) { group in
            group.addTask(executorPreference: LongWork.changes) { await self.takeChanges() }
            group.addTask { [inbox] in for await _ in inbox.overflow {} }
            group.addTask { await self.waitUntilIdle() }
            await group.next()
            group.cancelAll()
        }
    }

    /// What came since this was asked last, and how many events made room.
    func take() -> (events: [JSONValue], skipped: Int) {
        asked = .now
        defer { (events, bytes, skipped) = ([], 0, 0) }
        return (events.map { $0.event }, skipped)
    }

    private func waitUntilIdle() async {
        while ContinuousClock.now - asked < Self.idle, !Task.isCancelled {
            try? await Task.sleep(for: .seconds(1))
        }
    }

    private func takeChanges() async {
        for await item in inbox.items {
            guard case .change(let change, let size) = item else { continue }
            // The next question subscribes anew, and is answered why that cannot be.
            guard (try? note(change)) != nil else { return }
            inbox.take(size)
            await Task.yield()
        }
    }

    private func note(_ change: Change) throws(ParseError) {
        var budget = MatchBudget(steps: Self.steps)
        var context = context
        context.now = server.backend.clock.now
        let event = try server.backend.liveQueries.event(of: change, for: &query, context, &budget)
        guard let event else { return }
        var shown: JSONObject = [
            "event": .string(event.kind.rawValue), "at": .string(context.now.iso), "object": .object(event.object),
        ]
        shown["original"] = event.original.map { .object($0) }
        var size = JSONValue.object(shown).serialized().count
        if size > Self.longest {
            shown["object"] = ["objectId": event.object["objectId"] ?? .null]
            shown["original"] = nil
            shown["bytes"] = .number(Double(size))
            size = 256
        }
        events.append((event: .object(shown), size: size))
        bytes += size
        while events.count > Self.mostEvents || bytes > Self.mostBytes {
            bytes -= events.removeFirst().size
            skipped += 1
        }
    }
}

/// The queries that administrators follow in this process, by the names under which they do.
final class LiveWatches: Sendable {
    private static let most = 32
    private let all = Mutex<[String: LiveWatch]>([:])

    /// Whether nothing is followed.
    var isEmpty: Bool { all.withLock { $0.isEmpty } }

    subscript(name: String) -> LiveWatch? { all.withLock { $0[name] } }

    /// Keeps one; returns whether there was room for it, and nothing of its name.
    func add(_ watch: LiveWatch, as name: String) -> Bool {
        all.withLock { all in
            guard all.count < Self.most, all[name] == nil else { return false }
            all[name] = watch
            return true
        }
    }

    func remove(_ name: String) { all.withLock { $0[name] = nil } }
}

extension LiveQueryServer {
    /// What became of objects that an administrator follows since this was asked last: at once, or as soon as something
    /// comes. Triggers are not asked.
    ///
    /// - Parameters:
    ///   - query: `className` and `where`.
    ///   - name: The name under which it is followed, which the administrator chooses.
    ///   - mountURL: The address under which he sees the server.
    ///   - address: His IP address.
    ///   - wait: For how long to wait.
    /// - Returns: `events`, each with `event`, `at`, `object` and `original`; `skipped`, how many made room for others;
    ///   `isNew`, whether changes are followed from now on only.
    /// - Throws: `ParseError` 102 and others for a query that is none, 103 for a class whose changes are not published,
    ///   155 when too many queries are followed.
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
            let (events, skipped) = await watch.take()
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
        // It outlives the question.
        Task.detached { [watches] in
            await watch.run()
            watches.remove(name)
        }
        try await announceClients()
        await feed.settleWrites()
        return watch
    }
}
