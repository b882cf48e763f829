import JSON
public import Logging
public import Operations
import ParseModel
import ParseStorage
public import ServerConfiguration
import Synchronization

/// Sends queued pushes from the database. Several processes can share the devices of a push.
///
/// A process leases a range of devices for a minute and renews the lease while it works. If the process dies, another
/// one takes the devices without an outcome, so a device may be sent to twice unless `delivery` is `atMostOnce`.
public final class PushQueue: Sendable {
    private let settings: Configuration.Push
    private let services: PushServices
    private let worker: RangeWorker
    private let logger: Logger
    private let owner: String
    private let wakes: [AsyncStream<Void>]
    private let wakers: [AsyncStream<Void>.Continuation]
    private let running = Mutex<[Int: (range: Int64, task: Task<Void, Never>)]>([:])
    private let unsettled = Mutex<[Int64]>([])
    private let lastRun = Atomic(0)
    private let changes = Mutex<@Sendable (String) async -> Void>({ _ in })

    private static let atOnce = 4
    private static let grace = Duration.seconds(5)
    /// The delay before a `PushPart` that failed to start is retried, in seconds.
    private static let partPause = 30.0
    /// The time after which an overdue `PushPart` that fails to start is given up, in seconds.
    private static let partPatience: Int64 = 86_400

    public init(_ settings: Configuration.Push, services: PushServices, logger: Logger) {
        self.settings = settings
        self.services = services
        self.logger = logger
        let owner = Identifiers.hexadecimal(32)
        self.owner = owner
        worker = RangeWorker(owner: owner, settings: settings, services: services, logger: logger)
        // One for parts, one for each type, and one for devices of unsupported types.
        let streams = (0..<services.types.count + 2).map { _ in
            AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        }
        wakes = streams.map(\.stream)
        wakers = streams.map(\.continuation)
    }

    /// Starts sending pushes stored in the database.
    func wake() { wakers[0].yield() }

    /// Returns the reason why the push can't be sent to any device, or nil if it can.
    func problem(with body: PushBody) -> String? {
        guard let data = body.parameters["data"]?.objectValue else { return nil }
        let isAskedForApple = services.types.contains { ["ios", "osx", "tvos", "watchos"].contains($0) }
        let isCall = data["pushType"]?.stringValue == "voip" || body.parameters["push_type"]?.stringValue == "voip"
        let limit = isCall ? APNsForm.maxCallBytes : APNsForm.maxBytes
        let texts = LocalizedTexts(data)
        let size = JSONValue.object(APNsForm.body(texts.data(for: nil))).serialized().count
        return isAskedForApple && size > limit
            ? "The payload is \(size) bytes; the limit is \(limit)." : nil
    }

    /// Sends queued pushes until the task is cancelled. Returns immediately if this process only enqueues pushes.
    public func run(_ backend: Backend) async {
        guard settings.isSent else { return }
        let store = backend.store
        changes.withLock { $0 = { await backend.triggers.callAfterSave("_PushStatus", $0) } }
        await withDiscardingTaskGroup { group in
            for (index, route) in (services.types + [""]).enumerated() {
                group.addTask { await self.followRanges(index + 1, route, store) }
            }
            group.addTask { await self.tick(store) }
            group.addTask { await self.sweep(store) }
            for await _ in wakes[0] {
                await attempt("start due pushes") {
                    while try await self.startPart(store, backend.clock) {}
                }
            }
            group.cancelAll()
        }
        await stop(store)
    }

    private func tick(_ store: ObjectStore) async {
        var second = 0
        while !Task.isCancelled {
            for waker in wakers { waker.yield() }
            if second % 10 == 0 {
                let ranges = running.withLock { $0.values.map(\.range) }
                await attempt("renew push leases") { try await store.pushes.renewRanges(ranges, of: self.owner) }
            }
            await attempt("reschedule moved pushes") { try await self.followMoves(store) }
            second += 1
            try? await Task.sleep(for: .seconds(1))
        }
    }

    /// Removes old push data every hour. Runs separately from `tick`, which must renew leases in time.
    private func sweep(_ store: ObjectStore) async {
        while !Task.isCancelled {
            await attempt("delete old push data") {
                try await store.pushes.sweep(keepingRowsFor: self.settings.keepStatusDays)
            }
            try? await Task.sleep(for: .seconds(3600))
        }
    }

    private func reportChange(_ pushId: String) async { await changes.withLock { $0 }(pushId) }

    private func attempt(_ what: String, _ body: () async throws -> Void) async {
        do {
            try await body()
        } catch {
            if !Task.isCancelled {
                logger.warning("can't \(what)", metadata: ["error": "\(error)"])
            }
        }
    }

    private func followMoves(_ store: ObjectStore) async throws {
        for push in try await store.pushes.moved() {
            let time = PushTime(json: .string(push.pushTime))
            if time == nil {
                logger.warning("scheduled push has an invalid time", metadata: ["push": "\(push.id)"])
            }
            try await store.pushes.move(
                push.id, to: push.pushTime, due: time?.first, last: time.map { max($0.last, ParseDate.now) },
                isLocal: time?.isLocal ?? false)
        }
    }

    private func startPart(_ store: ObjectStore, _ clock: WallClock) async throws -> Bool {
        let begun = Mutex<PushPart?>(nil)
        do {
            try await begin(store, clock) { part in begun.withLock { $0 = part } }
        } catch {
            // A failing push must not block the others.
            guard let part = begun.withLock({ $0 }) else { throw error }
            if let error = error as? ParseError, Self.isFinal(error, for: part) {
                try await store.pushes.fail(part.pushId, code: error.code, message: error.message)
                await reportChange(part.pushId)
            } else {
                try await store.pushes.postponePart(part, by: Self.partPause)
                throw error
            }
        }
        guard let part = begun.withLock({ $0 }) else { return false }
        await reportChange(part.pushId)
        for waker in wakers.dropFirst() { waker.yield() }
        return true
    }

    /// Returns whether to give up a part that failed to start: the push itself is at fault, or it is long overdue. A
    /// statement that timed out or waited for locks is not the push's fault.
    private static func isFinal(_ error: ParseError, for part: PushPart) -> Bool {
        guard [ParseError.internalServerError, ParseError.timeout].contains(error.code) else { return true }
        guard let time = PushTime(json: .string(part.pushTime)) else { return false }
        return time.last.milliseconds + partPatience * 1000 < ParseDate.now.milliseconds
    }

    private func begin(_ store: ObjectStore, _ clock: WallClock, taking: @escaping @Sendable (PushPart) -> Void)
        async throws
    {
        try await store.transaction(.administration) { store in
            guard let part = try await store.pushes.acquirePart() else { return }
            taking(part)
            guard let status = part.status, status != "failed" else {
                return try await store.pushes.fail(part.pushId, code: 115, message: "")
            }
            if let expiry = part.expiry, expiry <= ParseDate.now.milliseconds {
                return try await store.pushes.fail(part.pushId, code: 115, message: PushMessage.overdue)
            }
            let query =
                part.body["where"]?.objectValue ?? ["channels": ["$in": part.body["channels"] ?? .array([])]]
            let condition = try FilterParser(isMaster: true, now: clock.now.milliseconds).parse(query)
            if part.needsZones, let time = PushTime(json: .string(part.pushTime)), case .local(let date) = time {
                let zones = try await store.pushes.timeZones(of: condition, at: date)
                let moments = LocalTime.moments(date, in: zones)
                try await store.pushes.failPart(part, condition, exceptZones: moments.values.flatMap(\.zones))
                for (offset, moment) in moments {
                    try await store.pushes.insertPart(part.pushId, offset, zones: moment.zones, due: moment.due)
                }
                try await store.pushes.removePart(part)
            } else {
                // The ranges of one device type that a process sends at the same time contain at most one batch
                // together, because they may be sent again if the process dies.
                try await store.pushes.makeRanges(
                    part, condition, types: self.services.types.map(\.text),
                    wholeTypes: self.services.wholeTypes.map(\.text), size: self.settings.batchSize,
                    pieces: Self.atOnce)
            }
        }
    }

    private func followRanges(_ index: Int, _ route: Name, _ store: ObjectStore) async {
        let slots = RangeSlots(atOnce: services.wholeTypes.contains(route) ? 1 : Self.atOnce)
        for await _ in wakes[index] {
            await attempt("dequeue push batches") {
                while !Task.isCancelled, slots.hasRoom, let range = try await dequeue(route, store) {
                    start(range, store, slots, wakers[index])
                }
            }
        }
    }

    private func dequeue(_ route: Name, _ store: ObjectStore) async throws -> PushRange? {
        try await store.pushes.acquireRange(route.text, owner: owner) { body in
            let content = PushContent(body: body)
            return switch content.isTrial ? nil : content.badge {
            case .set(let number)?: (number, nil)
            case .add(let amount)?: (nil, amount)
            case nil: (nil, nil)
            }
        }
    }

    /// Sends a range in a detached task, which continues for a while when the server stops.
    private func start(
        _ range: PushRange, _ store: ObjectStore, _ slots: RangeSlots, _ waker: AsyncStream<Void>.Continuation
    ) {
        slots.recordOpened()
        let number = lastRun.wrappingAdd(1, ordering: .relaxed).newValue
        // Under the lock, so that the task can't end before it is recorded.
        running.withLock { running in
            let task = Task.detached {
                let isSettled = await self.worker.work(
                    on: range, store, reportChange: { await self.reportChange(range.pushId) },
                    reportWaiting: { isWaiting in
                        slots.record(isWaiting: isWaiting, devices: range.devices.count)
                        waker.yield()
                    })
                if !isSettled { self.unsettled.withLock { $0.append(range.id) } }
                self.end(number)
                slots.recordDone()
                waker.yield()
            }
            running[number] = (range.id, task)
        }
    }

    private func end(_ number: Int) { running.withLock { $0[number] = nil } }

    private func stop(_ store: ObjectStore) async {
        worker.stopSoon()
        let end = ContinuousClock.now + Self.grace
        while ContinuousClock.now < end, running.withLock({ !$0.isEmpty }) {
            await Task { try? await Task.sleep(for: .milliseconds(10)) }.value
        }
        // Before cancelling the tasks, so that they learn which devices were not sent to.
        await services.shutdown()
        let tasks = running.withLock { $0.values.map(\.task) }
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
        await Task {
            do {
                try await store.pushes.releaseRanges(of: self.owner, except: self.unsettled.withLock { $0 })
            } catch {
                self.logger.warning(
                    "can't release push batches; other processes will send them when the lease expires",
                    metadata: ["error": "\(error)"])
            }
        }.value
    }
}
