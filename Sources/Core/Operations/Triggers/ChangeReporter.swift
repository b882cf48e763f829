import JSON
import Limits
import Logging
import ParseModel
import ParseStorage
import Synchronization

/// Notifies observers of each change with the object before and after, but not always in commit order.
final class ChangeReporter: Sendable {
    let observers: [any ChangeObserver]
    let links: FileLinks
    private let logger: Logger
    private let queue = ChangeQueue()
    /// Limits the total size in bytes of large rows that are held as values at the same time.
    private let largeValues = Gate(capacity: 16 * 1024 * 1024)
    private let isNumbered = Atomic(false)

    /// - Parameter links: The links for files in changes, which don't depend on the URL that the caller used.
    init(_ observers: [any ChangeObserver], links: FileLinks, logger: Logger) {
        self.observers = observers
        self.links = links
        self.logger = logger
    }

    /// Prepares the database to number changes, so that their order is known across processes.
    func prepare(_ store: ObjectStore) async {
        guard !observers.isEmpty else { return }
        do {
            try await store.prepareChangeNumbers()
            isNumbered.store(true, ordering: .relaxed)
        } catch {
            logger.warning(
                "can't number changes, so live queries may get changes by different processes out of order",
                metadata: ["error": "\(error)"])
        }
    }

    func observes(_ className: String) -> Bool { observers.contains { $0.observes(Name(className)) } }

    private func mayObserve(_ className: String) -> Bool { observers.contains { $0.mayObserve(Name(className)) } }

    /// Returns the parts of a write's result that observers need.
    func wants(_ className: String) -> ObjectStore.ChangeWants {
        guard observes(className) else { return [] }
        return isNumbered.load(ordering: .relaxed) ? [.former, .current, .number] : [.former, .current]
    }

    /// Runs a write and notifies observers before the next write of the same object begins.
    ///
    /// - Parameters:
    ///   - objectId: The object, or nil if its id isn't known yet.
    ///   - body: Writes the object and returns the change if it was requested.
    /// - Throws: Errors of `body`, and for observed classes those of ``ChangeQueue/run(_:_:_:)``.
    func reporting<R: Sendable>(
        _ className: String, _ objectId: String?,
        _ body: () async throws -> (R, ObjectStore.ChangedObject?)
    ) async throws -> R {
        guard mayObserve(className) else { return try await body().0 }
        guard observes(className) else {
            let write = begin()
            defer { end(write, of: className) }
            return try await reportingNow(className, body)
        }
        guard let objectId else { return try await reportingNow(className, body) }
        return try await queue.run(className, objectId) { try await reportingNow(className, body) }
    }

    private func reportingNow<R: Sendable>(
        _ className: String, _ body: () async throws -> (R, ObjectStore.ChangedObject?)
    ) async throws -> R {
        do {
            let (result, change) = try await body()
            if let change { await report(change) }
            return result
        } catch let error as ParseError where error.code == ParseError.internalServerError {
            // The write may or may not have succeeded.
            await miss(className)
            throw error
        }
    }

    /// Notifies observers of the start of writes that they could miss.
    func begin() -> [Int] { observers.map { $0.beginUnobserved() } }

    /// Notifies observers of the end of the writes that ``begin()`` announced.
    ///
    /// - Parameter className: The class, or nil for several classes or none.
    func end(_ writes: [Int], of className: String? = nil) {
        for (observer, write) in zip(observers, writes) {
            observer.endUnobserved(write, of: className.map { Name($0) })
        }
    }

    /// Notifies observers of a committed change.
    ///
    /// - Parameter first: The first change of the same object in the same transaction, which is merged into this one.
    func report(_ change: ObjectStore.ChangedObject, after first: ObjectStore.ChangedObject? = nil) async {
        let className = Name(change.className)
        guard change.isWhole, observers.contains(where: { $0.observes(className) }) else { return }
        do {
            let place = try await reserve(change.size)
            let before = try await (first ?? change).former(ReadAccess(), links)
            let after = try await change.current(links)
            // An object created and deleted in the same transaction was never visible.
            guard before != nil || after != nil else { return }
            let reported = Change(
                className: change.className, objectId: change.objectId, before: before, after: after,
                number: change.number, size: change.size, place: place)
            for observer in observers where observer.observes(className) { await observer.observe(reported) }
        } catch {
            logger.error(
                "can't publish a change",
                metadata: ["class": "\(change.className)", "error": "\(error)"])
            await miss(change.className)
        }
    }

    private func miss(_ className: String) async {
        let className = Name(className)
        for observer in observers where observer.observes(className) { await observer.missChange(of: className) }
    }

    /// Returns the current state of an object in the format of changes, or nil if it doesn't exist.
    ///
    /// - Throws: `ParseError` if it can't be read; ``NoPlace`` if the memory for large objects is in use.
    func current(_ className: String, _ objectId: String, in store: ObjectStore) async throws
        -> (object: JSONObject, place: GatePlace?)?
    {
        guard store.catalog.schema(className) != nil, !objectId.utf8.contains(0) else { return nil }
        var request = ObjectStore.FindRequest(className: className, objectId: objectId)
        request.links = links
        let found = try await store.find(request)
        guard found.rowCount > 0 else { return nil }
        let place = try await reserve(found.cost.bytes)
        return try await found.objects.first.map { ($0, place) }
    }

    struct NoPlace: Error, CustomStringConvertible {
        var description: String { "the memory for large objects stayed in use for a second" }
    }

    /// The maximum time that a change waits for memory. Beyond it, observers are too slow for the rate of changes.
    private static let timeToReserve = Duration.seconds(1)

    /// Reserves memory for the decoded values of an object, or returns nil if the object isn't large.
    ///
    /// - Throws: ``NoPlace`` if the memory isn't available in time.
    private func reserve(_ size: Int) async throws -> GatePlace? {
        guard size >= Change.largeSize else { return nil }
        let (gate, sender) = (largeValues, Sender.current)
        let place = await withTimeLimit(Self.timeToReserve) { () async -> GatePlace? in
            do {
                return try await GatePlace.wait(in: gate, weight: size, of: sender)
            } catch {
                // The caller disconnected, but its change must still be reported.
                return Task.isCancelled ? nil : GatePlace.add(to: gate, weight: size, of: sender)
            }
        }
        guard case let place?? = place else { throw NoPlace() }
        return place
    }
}
