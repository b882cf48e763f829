import FileStorage
import FileStores
import Limits
import ServerConfiguration

/// Access to a deployment's uploaded files for commands that run without the server.
struct DeploymentFiles: Sendable {
    let deployment: Deployment

    /// Runs `body` with the files as they are stored, possibly encrypted, including those of fallback stores.
    ///
    /// - Parameter database: The connection string of the database, or nil to open the database if a store needs it.
    /// - Throws: The errors of `body`, and an error such as `ConfigurationError` if a store can't be used.
    func withStored<R: Sendable>(
        database: String? = nil, _ body: (any FileStorage) async throws -> R
    ) async throws -> R {
        let configuration = deployment.configuration
        let stores = [configuration.fileStore] + configuration.fileStoreFallbacks
        return try await with(stores, database, body) { database in
            try FileStoreFactory.storage(
                configuration, folder: deployment.filesDirectory, database: database, logger: LogOutput.quiet)
        }
    }

    /// Runs `body` with the files of one store as they are stored, possibly encrypted.
    ///
    /// - Parameter folder: The folder of files on disk, relative to the data folder, or nil for the configured one.
    /// - Throws: The errors of `body`, and an error such as `ConfigurationError` if the store can't be used.
    func withOne<R: Sendable>(
        _ store: Configuration.FileStore, folder: String? = nil, _ body: (any FileStorage) async throws -> R
    ) async throws -> R {
        let folder = folder.map { "\(deployment.dataFolder)/\($0)" } ?? deployment.filesDirectory
        return try await with([store], nil, body) { database in
            try FileStoreFactory.storage(
                store, deployment.configuration, folder: folder, database: database, logger: LogOutput.quiet)
        }
    }

    private func with<R: Sendable>(
        _ stores: [Configuration.FileStore], _ database: String?, _ body: (any FileStorage) async throws -> R,
        make: (String) throws -> any FileStorage
    ) async throws -> R {
        let isInDatabase = stores.contains { if case .postgres = $0 { true } else { false } }
        if isInDatabase, database == nil {
            return try await DatabaseAccess(deployment).withConnectionString { uri in
                try await with(stores, uri, body, make: make)
            }
        }
        let storage = try make(database ?? "")
        return try await withCleanup {
            // Preparing a disk store would create its folder, which commands that only read must not do.
            if isInDatabase { try await storage.prepare() }
            return try await body(storage)
        } cleanUp: {
            await storage.shutdown()
        }
    }
}
