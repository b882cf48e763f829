import ParseModel
import Postgres

extension ObjectStore {
    /// Reads from a class as it is now: when the database says that the class is not what this process thinks, it learns
    /// what the class has become, and reads once more.
    ///
    /// A class or table that does not exist gives `nothing`, not an error; columns that the table lacks are made.
    ///
    /// - Throws: What `read` throws.
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
        } catch let error as PostgresError where DatabaseFailure.isMissingTable(error) {
            return nothing()
        } catch let error as PostgresError where DatabaseFailure.isMissingColumn(error) && !isInTransaction {
            try await catalog.repair(className)
            return try await read(schema)
        }
    }
}

/// A class turned out to be another than was thought, which ended the transaction: it has to be run again.
struct StaleTransaction: Error {
    let cause: PostgresError
}
