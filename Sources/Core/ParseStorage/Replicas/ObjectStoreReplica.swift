import JSON
import ParseModel
import Postgres

/// The server that a read runs on.
public enum ReadPlace: Sendable {
    case primary
    /// On a replica. The primary is used only in the cases listed at ``ObjectStore/reading(_:_:_:)``.
    case replica
    /// Like ``replica``, but also on the primary if no replica is reachable, responsive and within the lag limit.
    case replicaIfReachable
}

extension ObjectStore {
    /// Classes that decide permissions. A lagging replica would grant outdated rights.
    private static let alwaysOnPrimary: Set<Name> = ["_User", "_Session", "_Role"]

    /// Whether there are replicas and the current task has no ``WritingCaller`` yet.
    public var needsWritingCaller: Bool { replicas != nil && WritingCaller.current == nil }

    /// Records a write of the current task's caller that has been or may have been committed.
    func recordWrite() { replicas?.ownWrites.record() }

    /// Runs a read of a class on the requested server.
    ///
    /// Ignores `place` and reads on the primary in a transaction, for classes that decide permissions, if there are no
    /// replicas, if they lack the schema or the caller's last write, or if they cancel the read in favor of
    /// replication.
    ///
    /// - Parameter body: Reads with the store that it receives. It runs again on another server after some errors.
    /// - Throws: `PostgresError` if only replicas are allowed and none is usable, or an error of `body`.
    func reading<R>(
        _ className: String, _ place: ReadPlace, _ body: (ObjectStore) async throws -> R
    ) async throws -> R {
        // A transaction must see its own writes.
        guard place != .primary, let replicas, !isInTransaction, !Self.alwaysOnPrimary.contains(className) else {
            return try await body(self)
        }
        let ownLastWrite = replicas.ownLastWrite
        var tried: [Replica] = []
        let evenSilent = place == .replica
        while let replica = replicas.choose(knowing: ownLastWrite, besides: tried, evenSilent: evenSilent) {
            do {
                return try await replica.reading(for: self, body)
            } catch let error as PostgresError
                where DatabaseFailure.isStaleSchema(error) || error.sqlState == "40001"
            {
                // The replica lacks the schema, or cancelled the read because it conflicts with replicated changes.
                return try await body(self)
            } catch let error as PostgresError where DatabaseFailure.isOutOfReach(error) {
                tried.append(replica)
                if place == .replica, replicas.choose(knowing: ownLastWrite, besides: tried) == nil { throw error }
            }
        }
        if place == .replicaIfReachable || (ownLastWrite != nil && replicas.choose(knowing: nil) != nil) {
            return try await body(self)
        }
        guard let replica = replicas.any, !replica.isReachable else {
            throw PostgresError(.unavailable, "no read replica is reachable and recent enough (maxReplicaLag)")
        }
        return try await replica.reading(for: self, body)
    }

    /// Fetches objects of several classes by id. Classes that decide permissions are always read on the primary.
    func fetch(
        _ ids: [Name: [String]], _ accesses: [Name: ReadAccess], _ place: ReadPlace, shorten: Int?
    ) async throws -> [Fetched] {
        var fetched = try await fetch(
            ids.filter { Self.alwaysOnPrimary.contains($0.key) }, accesses, shorten: shorten)
        let others = ids.filter { !Self.alwaysOnPrimary.contains($0.key) }
        if let className = others.keys.first {
            fetched += try await reading(className.text, place) {
                try await $0.fetch(others, accesses, shorten: shorten)
            }
        }
        return fetched
    }
}
