import JSON
import Logging
import ParseModel
import ParseStorage
import Rules
import Synchronization
import Tasks

/// Has observers know of changes of objects: of each what it was and what it is, exactly, and of the changes of one object in
/// their order.
final class ChangeReporter: Sendable {
    let observers: [any ChangeObserver]
    let links: FileLinks
    private let logger: Logger
    private let queue = ChangeQueue()
    private let largeValues = Gate(capacity: ValuePlace.mostBytes)
    private let isNumbered = Atomic(false)

    /// - Parameter links: Links to files as changes carry them: the caller does not say where others find its files.
    init(_ observers: [any ChangeObserver], links: FileLinks, logger: Logger) {
        self.observers = observers
        self.links = links
        self.logger = logger
    }

    /// Prepares the database for changes that are in order across processes.
    func prepare(_ store: ObjectStore) async {
        guard !observers.isEmpty else { return }
        do {
            try await store.prepareChangeNumbers()
            isNumbered.store(true, ordering: .relaxed)
        } catch {
            logger.warning(
                "changes are not numbered: live queries may hear of changes by several processes in another order",
                metadata: ["error": "\(error)"])
        }
    }

    /// Whether an observer wants to know of changes of a class.
    func observes(_ className: String) -> Bool { observers.contains { $0.observes(Name(className)) } }

    private func mayObserve(_ className: String) -> Bool { observers.contains { $0.mayObserve(Name(className)) } }

    /// What observers want to know of a write of an object of a class.
    func wants(_ className: String) -> ObjectStore.ChangeWants {
        guard observes(className) else { return [] }
        return isNumbered.load(ordering: .relaxed) ? [.former, .current, .number] : [.former, .current]
    }

    /// Carries out a write, and has observers know of it before any other write of the object begins here.
    ///
    /// - Parameters:
    ///   - objectId: The object, as far as it is known.
    ///   - body: Writes it, and gives the change where it was wanted.
    /// - Throws: What `body` throws.
    func reporting<R: Sendable>(
        _ className: String, _ objectId: String?, by caller: Caller,
        _ body: () async throws -> (R, ObjectStore.ChangedObject?)
    ) async throws -> R {
        guard mayObserve(className) else { return try await body().0 }
        guard observes(className) else {
            let write = begin()
            defer { end(write, of: className) }
            return try await reportingNow(className, caller, body)
        }
        guard let objectId else { return try await reportingNow(className, caller, body) }
        return try await queue.take(className, objectId) { try await reportingNow(className, caller, body) }
    }

    private func reportingNow<R: Sendable>(
        _ className: String, _ caller: Caller, _ body: () async throws -> (R, ObjectStore.ChangedObject?)
    ) async throws -> R {
        do {
            let (result, change) = try await body()
            if let change { await report(change, by: caller) }
            return result
        } catch let error as ParseError where error.code == ParseError.internalServerError {
            // Whether it was written is not known.
            await miss(className)
            throw error
        }
    }

    /// Notes that writes begin which observers may not hear of.
    func begin() -> [Int] { observers.map { $0.beginUnobserved() } }

    /// Notes that they are over.
    ///
    /// - Parameter className: The class; nil where there are several, or none.
    func end(_ writes: [Int], of className: String? = nil) {
        for (observer, write) in zip(observers, writes) {
            observer.endUnobserved(write, of: className.map { Name($0) })
        }
    }

    /// Has observers know of a change that is committed.
    ///
    /// - Parameter first: An earlier change of the same object in the same transaction, which they do not hear of.
    func report(
        _ change: ObjectStore.ChangedObject, after first: ObjectStore.ChangedObject? = nil, by caller: Caller
    ) async {
        let className = Name(change.className)
        guard change.isWhole, observers.contains(where: { $0.observes(className) }) else { return }
        do {
            let place = try await ValuePlace.take(change.size, in: largeValues)
            let before = try await (first ?? change).former(ReadAccess(), links)
            let after = try await change.current(links)
            // One that is made and removed in one transaction was never there.
            guard before != nil || after != nil else { return }
            let reported = Change(
                className: change.className, objectId: change.objectId, before: before, after: after,
                number: change.number, size: change.size, origin: caller, place: place)
            for observer in observers where observer.observes(className) { await observer.observe(reported) }
        } catch {
            logger.error(
                "change not published: the object could not be read",
                metadata: ["class": "\(change.className)", "error": "\(error)"])
            await miss(change.className)
        }
    }

    private func miss(_ className: String) async {
        let className = Name(className)
        for observer in observers where observer.observes(className) { await observer.missChange(of: className) }
    }

    /// An object as it is now, as changes carry it; nil where there is none.
    ///
    /// - Throws: `ParseError`; ``ValuePlace/NoPlace``.
    func current(_ className: String, _ objectId: String, in store: ObjectStore) async throws
        -> (object: JSONObject, place: ValuePlace?)?
    {
        guard store.catalog.schema(className) != nil, !objectId.utf8.contains(0) else { return nil }
        var request = ObjectStore.FindRequest(className: className, objectId: objectId)
        request.links = links
        let found = try await store.find(request)
        guard found.rowCount > 0 else { return nil }
        let place = try await ValuePlace.take(found.valueSize, in: largeValues)
        return try await found.objects.first.map { ($0, place) }
    }
}
