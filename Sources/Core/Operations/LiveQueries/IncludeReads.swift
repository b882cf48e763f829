import JSON
import Limits
import Logging
import ParseModel
import ParseStorage
import Synchronization

/// Fetches objects included by live queries, once per change and set of objects for all subscribers.
///
/// Objects are fetched without access checks. Each subscriber's rights are applied afterward (``ObjectReader``).
public final class IncludeReads: Sendable {
    private struct Key: Hashable, Sendable {
        let change: Int
        let className: Name
        let ids: Set<Name>
    }

    private struct Read: Sendable {
        let outcome = OneTime<Result<[Name: JSONObject], any Error>>()
        let start = ContinuousClock.now
    }

    /// The maximum size in bytes of rows retained for other subscribers.
    private static let maxCachedBytes = 4 * 1024 * 1024
    /// The bytes counted per read in addition to its rows.
    private static let readWeight = 512
    /// The maximum size in bytes of rows that one read may decode.
    private static let maxReadBytes = 1024 * 1024
    /// The time for which a read is shared. Slower subscribers read again, because ACLs in shared objects may be
    /// outdated.
    private static let timeToShare = Duration.seconds(2)
    /// The maximum time that an event waits for one level of its included objects.
    private static let timeLimit = Duration.seconds(2)

    private let reads = Mutex(BoundedTable<Key, Read>(capacity: maxCachedBytes))
    private let logLines = RecentCounts(within: .seconds(60))

    public init() {}

    /// Fetches objects by class and id, omitting those that don't exist.
    ///
    /// - Throws: `IncludeFailure` if the objects are too large or not read in time, or the error of the find.
    func objects(_ wanted: [Name: Set<Name>], for change: Int, in backend: Backend) async throws
        -> [Pointer: JSONObject]
    {
        let end = ContinuousClock.now + Self.timeLimit
        let reads = wanted.map { className, ids in
            (className, read(Key(change: change, className: className, ids: ids), in: backend))
        }
        var objects: [Pointer: JSONObject] = [:]
        for (className, read) in reads {
            var outcome = read.outcome.value
            if outcome == nil { outcome = await read.outcome.wait(end - .now) }
            switch outcome {
            case .success(let found)?:
                for (id, object) in found {
                    objects[Pointer(className: className.text, objectId: id.text)] = object
                }
            case .failure(let error)?: throw error
            case nil: throw IncludeFailure.unreadable
            }
        }
        return objects
    }

    private func read(_ key: Key, in backend: Backend) -> Read {
        let (read, isNew) = reads.withLock { reads in
            if let known = reads.value(of: key), known.start + Self.timeToShare > .now { return (known, false) }
            let read = Read()
            reads.set(read, for: key, weight: Self.readWeight)
            return (read, true)
        }
        guard isNew else { return read }
        // Other subscribers may wait for the same read, so it continues if this one leaves. It counts for this
        // subscriber's network.
        let presence = CallerPresence(sender: .current)
        Task.detached { [self] in
            await CallerPresence.$current.withValue(presence) {
                do {
                    let (objects, size) = try await Self.read(key, in: backend)
                    read.outcome.set(.success(objects))
                    _ = reads.withLock { $0.set(read, for: key, weight: Self.readWeight + size) }
                } catch {
                    read.outcome.set(.failure(error))
                }
            }
        }
        return read
    }

    private static func read(_ key: Key, in backend: Backend) async throws -> ([Name: JSONObject], size: Int) {
        var request = ObjectStore.FindRequest(className: key.className.text)
        let ids = key.ids.map { JSONValue.string($0.text) }
        request.filter = .field(FieldPath("objectId"), ids.count == 1 ? .equal(ids[0]) : .isIn(ids))
        request.limit = ids.count
        request.shorten = LiveQueries.maxIncludedBytes
        request.links = backend.services.changes.links
        let found = try await backend.store.find(request)
        guard found.cost.bytes <= maxReadBytes else { throw IncludeFailure.tooLarge }
        var objects: [Name: JSONObject] = [:]
        for object in try await found.objects {
            if let id = object["objectId"]?.nameValue { objects[id] = object }
        }
        return (objects, found.cost.bytes)
    }

    /// Logs that an event keeps its pointers, at most once a minute.
    func logPointersKept(of className: Name, _ error: any Error, _ logger: Logger) {
        guard logLines.countOneMore("", limit: 1) else { return }
        logger.warning(
            "live-query event sent without included objects, which exceed a limit or can't be read",
            metadata: ["class": "\(className.text)", "error": "\(error)"])
    }
}
