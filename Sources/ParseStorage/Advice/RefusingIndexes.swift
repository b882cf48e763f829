import Postgres

/// Advised indexes that cannot hold a value, as a long text: they are dropped, and the change is made once more, since
/// advice must not refuse what was accepted before.
struct RefusingIndexes {
    let store: ObjectStore

    /// How many of them one change drops at most.
    private static let mostRefusals = 8

    /// Runs a change until no index refuses it.
    func removing<R>(_ change: () async throws -> R) async throws -> R {
        for _ in 0..<Self.mostRefusals {
            do {
                return try await change()
            } catch let error as PostgresError {
                guard let index = Self.refusing(error) else { throw error }
                try await drop(index)
            }
        }
        return try await change()
    }

    /// The advised index that a value is too long for; nil for any other failure.
    static func refusing(_ error: PostgresError) -> String? {
        guard error.sqlState == "54000", let index = error.constraint, index.hasPrefix(IndexCandidate.prefix) else {
            return nil
        }
        return index
    }

    /// Drops an advised index.
    func drop(_ index: String) async throws {
        store.logger.warning(
            "an advised index is dropped, as a value is too long for it", metadata: ["index": "\(index)"])
        try await SchemaTransaction(client: store.client).run("DROP INDEX IF EXISTS \(SQL.identifier(index))")
    }
}
