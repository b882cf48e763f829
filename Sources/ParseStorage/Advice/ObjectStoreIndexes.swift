import Postgres

extension ObjectStore {
    /// How many advised indexes a change may meet that cannot hold what it writes.
    private static let mostRefusals = 8

    /// Runs a change. An advised index that cannot hold a value of it, as a long text, is dropped, and the change is made
    /// once more: advice must not refuse what was accepted before.
    func withoutRefusals<R>(_ change: () async throws -> R) async throws -> R {
        for _ in 0..<Self.mostRefusals {
            do {
                return try await change()
            } catch let error as PostgresError {
                guard let index = refusingIndex(error) else { throw error }
                try await drop(index)
            }
        }
        return try await change()
    }

    /// The advised index that a value is too long for; nil for any other failure.
    func refusingIndex(_ error: PostgresError) -> String? {
        guard error.sqlState == "54000", let index = error.constraint, index.hasPrefix(IndexCandidate.prefix) else {
            return nil
        }
        return index
    }

    /// Drops an advised index.
    func drop(_ index: String) async throws {
        logger.warning("an advised index is dropped, as a value is too long for it", metadata: ["index": "\(index)"])
        try await SchemaTransaction(client: client).run("DROP INDEX IF EXISTS \(SQL.identifier(index))")
    }
}
