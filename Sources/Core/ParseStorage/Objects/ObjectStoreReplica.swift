import JSON
import ParseModel
import Postgres

/// Where a read runs.
public enum ReadPlace: Sendable {
    /// On the server that is written to.
    case primary
    /// Only on the replica.
    case replica
    /// On the replica as long as it can be reached.
    case replicaIfReachable
}

extension ObjectStore {
    /// Classes that decide permissions. A lagging replica would give yesterday's rights.
    private static let alwaysOnPrimary: Set<Name> = ["_User", "_Session", "_Role"]

    /// Runs a read of a class where it is wanted.
    ///
    /// What a replica does not know yet, as a table that was just made, or what the caller just wrote, is read on the
    /// primary, and so is what a replica stopped to get on with its primary's changes.
    /// - Parameter body: Is given the store to read with; what it throws may make it run a second time.
    /// - Throws: What `body` throws; `PostgresError` when the replica is out of reach and nothing else was allowed.
    func reading<R>(
        _ className: String, _ place: ReadPlace, _ body: (ObjectStore) async throws -> R
    ) async throws -> R {
        // A transaction reads what it wrote.
        guard place != .primary, let replicas, !isInTransaction, !Self.alwaysOnPrimary.contains(className) else {
            return try await body(self)
        }
        let ownLastWrite = replicas.ownLastWrite
        var tried: [Replica] = []
        let evenSilent = place == .replica
        while let replica = replicas.choose(knowing: ownLastWrite, besides: tried, evenSilent: evenSilent) {
            do {
                return try await ask(replica, body)
            } catch let error as PostgresError
                where DatabaseFailure.isStaleSchema(error) || DatabaseFailure.isConflict(error)
            {
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
            throw PostgresError(.unavailable, "no replica is within maxReplicaLag")
        }
        return try await ask(replica, body)
    }

    private func ask<R>(_ replica: Replica, _ body: (ObjectStore) async throws -> R) async throws -> R {
        try await replica.reading {
            try await body(ObjectStore(client: replica.client, catalog: catalog, logger: logger))
        }
    }

    /// Fetches objects of several classes by id, each class where it may be read.
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
