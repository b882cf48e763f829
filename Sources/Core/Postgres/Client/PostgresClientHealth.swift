/// What probes ask of a server.
extension PostgresClient {
    /// Asks the server for an answer.
    ///
    /// - Throws: `PostgresError` when there is none.
    public func ping() async throws {
        _ = try await query("SELECT 1", readOnly: true)
    }

    /// By how many seconds a replica is behind; 0 for a server that is none, and for one that has applied all that it
    /// received, as long as its primary sends it more.
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
}
