import ParseModel
import Postgres

extension ObjectStore {
    /// Runs a read with the current schema. If the database has a different one, reloads the schema and reads again.
    ///
    /// Returns `nothing` if the class or its table doesn't exist. Columns missing in the table are created.
    ///
    /// - Throws: An error of `read` or of reloading, or ``StaleTransaction`` if a transaction's schema is outdated.
    func fresh<R>(_ className: String, otherwise nothing: @autoclosure () -> R, _ read: (ClassSchema) async throws -> R)
        async throws -> R
    {
        guard let schema = catalog.schema(className) else { return nothing() }
        do {
            return try await read(schema)
        } catch let error as PostgresError where DatabaseFailure.isStaleSchema(error) {
            if isInTransaction { throw StaleTransaction(cause: error) }
            try await catalog.reload()
        }
        guard let schema = catalog.schema(className) else { return nothing() }
        do {
            return try await read(schema)
        } catch let error as PostgresError where error.sqlState == "42P01" {
            return nothing()
        } catch let error as PostgresError where error.sqlState == "42703" && !isInTransaction {
            try await catalog.repair(className)
            return try await read(schema)
        }
    }
}

/// The error that aborts a transaction because its schema was stale, or because a value doesn't fit an index built by
/// `indexAdvice`. ``ObjectStore/transaction(_:conflictKey:_:)`` removes the cause and retries once.
struct StaleTransaction: Error, CustomStringConvertible {
    let cause: PostgresError
    var description: String { cause.description }
}
