import JSON
import ParseModel
import Postgres

/// Where a read is run.
public enum ReadPlace: Sendable {
    /// On the server that is written to.
    case primary
    /// On the replica, or not at all.
    case replica
    /// On the replica as long as it can be reached.
    case replicaIfReachable
}

extension ObjectStore {
    /// Classes that say who may do what. A replica that lags behind would give yesterday's rights.
    private static let alwaysOnPrimary: Set<Name> = ["_User", "_Session", "_Role"]

    /// Runs a read of a class where it is wanted.
    ///
    /// What the replica does not know yet, as a table that was just made, is read on the primary.
    /// - Parameter body: Is given the store to read with; what it throws may make it run a second time.
    /// - Throws: What `body` throws; `PostgresError` when the replica is out of reach and nothing else was allowed.
    func reading<R>(
        _ className: String, _ place: ReadPlace, _ body: (ObjectStore) async throws -> R
    ) async throws -> R {
        // A transaction reads what it wrote.
        guard place != .primary, let replica, !isInTransaction, !Self.alwaysOnPrimary.contains(className) else {
            return try await body(self)
        }
        // Without a connection a request would wait for one until it is too late.
        if place == .replicaIfReachable, replica.statistics.connections == 0 { return try await body(self) }
        do {
            return try await body(ObjectStore(client: replica, catalog: catalog, logger: logger))
        } catch let error as PostgresError
            where DatabaseFailure.isStaleSchema(error)
            || (place == .replicaIfReachable && DatabaseFailure.isOutOfReach(error))
        {
            return try await body(self)
        }
    }

    /// Fetches objects of several classes by id, each class where it may be read.
    func fetch(_ ids: [Name: [String]], _ accesses: [Name: ReadAccess], _ place: ReadPlace) async throws
        -> [Fetched]
    {
        var fetched = try await fetch(ids.filter { Self.alwaysOnPrimary.contains($0.key) }, accesses)
        let others = ids.filter { !Self.alwaysOnPrimary.contains($0.key) }
        if let className = others.keys.first {
            fetched += try await reading(className.text, place) { try await $0.fetch(others, accesses) }
        }
        return fetched
    }
}
