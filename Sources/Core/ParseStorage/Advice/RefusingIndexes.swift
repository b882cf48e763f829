import Postgres

/// Drops an index built by `indexAdvice` that can't store a value, such as a long text, and repeats the change. Index
/// advice must never cause a rejected write.
struct RefusingIndexes {
    let store: ObjectStore

    private static let maxRefusals = 8

    /// Runs a change. If an advised index rejects a value, drops the index and repeats the change, up to eight times.
    func removing<R>(_ change: () async throws -> R) async throws -> R {
        for _ in 0..<Self.maxRefusals {
            do {
                return try await change()
            } catch let error as PostgresError {
                guard let index = Self.refusing(error) else { throw error }
                try await drop(index)
            }
        }
        return try await change()
    }

    /// Returns the advised index that rejected a value as too long, or nil for any other failure.
    static func refusing(_ error: PostgresError) -> String? {
        guard error.sqlState == "54000", let index = error.constraint, index.hasPrefix(IndexCandidate.prefix) else {
            return nil
        }
        return index
    }

    /// Drops an index and records it as refused. Otherwise clients could trigger one table scan after the other by
    /// having it rebuilt.
    func drop(_ index: String) async throws {
        store.logger.warning(
            "dropping an advised index because a value is too long for it", metadata: ["index": "\(index)"])
        try await SchemaTransaction(client: store.client).run("DROP INDEX IF EXISTS \(SQL.identifier(index))")
        do {
            try await NoteTable(client: store.client).refuse(index)
        } catch {
            store.logger.warning(
                "can't record that an advised index was dropped",
                metadata: ["index": "\(index)", "error": "\(error)"])
        }
    }
}
