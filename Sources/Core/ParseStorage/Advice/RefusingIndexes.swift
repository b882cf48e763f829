import Postgres

/// Drops advised indexes that can't hold a value, such as a long text, and repeats the change: advice must not refuse what
/// was accepted before.
struct RefusingIndexes {
    let store: ObjectStore

    /// The most indexes that one change drops.
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

    /// The advised index that a value is too long for, or nil for any other failure.
    static func refusing(_ error: PostgresError) -> String? {
        guard error.sqlState == "54000", let index = error.constraint, index.hasPrefix(IndexCandidate.prefix) else {
            return nil
        }
        return index
    }

    /// Drops an index and notes it, so that clients don't have a table read again and again for building it anew.
    func drop(_ index: String) async throws {
        store.logger.warning(
            "advised index dropped: a value is too long for it", metadata: ["index": "\(index)"])
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
