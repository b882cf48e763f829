/// Health checks for probes.
extension PostgresClient {
    /// Checks that the server responds to a query.
    ///
    /// - Throws: `PostgresError` if it doesn't.
    public func ping() async throws {
        _ = try await query("SELECT 1", readOnly: true)
    }

    /// Returns a replica's lag in seconds. The lag is 0 for a primary, for a connected replica that has replayed
    /// everything it received, and for a replica that hasn't replayed a transaction yet.
    ///
    /// - Throws: `PostgresError`.
    public func replayLag() async throws -> Double {
        let result = try await query(
            """
            SELECT CASE
                WHEN NOT pg_is_in_recovery() THEN 0
                WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn()
                    AND EXISTS (SELECT FROM pg_stat_wal_receiver) THEN 0
                ELSE coalesce(extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()), 0)
            END::float8
            """, readOnly: true)
        return max(0, result.double(0, 0) ?? 0)
    }

    /// Whether two clients use the same database. Compares only OIDs if either user can't read the server's identifier.
    ///
    /// - Throws: `PostgresError`.
    package func sharesDatabase(with other: PostgresClient) async throws -> Bool {
        let database = "SELECT oid::text FROM pg_database WHERE datname = current_database()"
        let server = "SELECT system_identifier::text FROM pg_control_system()"
        guard try await query(database).string(0, 0) == other.query(database).string(0, 0) else { return false }
        let (one, two) = (try? await query(server), try? await other.query(server))
        return one == nil || two == nil || one?.string(0, 0) == two?.string(0, 0)
    }
}
