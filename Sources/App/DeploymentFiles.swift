import FileStorage
import FileStores
import Logging
import ServerConfiguration

/// The uploaded files of a deployment, for commands beside the server.
package struct DeploymentFiles: Sendable {
    private let deployment: Deployment
    private let logger: Logger

    /// The files of a deployment; nothing is opened yet.
    package init(_ deployment: Deployment, logger: Logger) {
        self.deployment = deployment
        self.logger = logger
    }

    /// Runs `body` with the files as they are stored, encrypted or not.
    ///
    /// - Parameters:
    ///   - store: Another store than that of the configuration.
    ///   - database: The connection string of the database, where it is known.
    /// - Throws: What `body` throws; `ConfigurationError` for a store that cannot be used.
    package func withStored<R: Sendable>(
        _ store: Configuration.FileStore? = nil, database: String? = nil, _ body: (any FileStorage) async throws -> R
    ) async throws -> R {
        let store = store ?? deployment.configuration.fileStore
        if case .postgres = store, database == nil {
            return try await DatabaseAccess(deployment, logger: logger).withConnectionString { uri in
                try await withStored(store, database: uri, body)
            }
        }
        let storage = try FileStoreFactory.storage(
            store, deployment.configuration, folder: deployment.filesDirectory, database: database ?? "",
            logger: logger)
        do {
            // A command that reads makes no folder.
            if case .disk = store {} else { try await storage.prepare() }
            let result = try await body(storage)
            await storage.shutdown()
            return result
        } catch {
            await storage.shutdown()
            throw error
        }
    }

    /// Runs `body` with the files in clear.
    ///
    /// - Throws: What `body` throws; `ConfigurationError` for a store that cannot be used.
    package func withClear<R: Sendable>(_ body: (any FileStorage) async throws -> R) async throws -> R {
        try await withStored { try await body(Deployment.files($0, deployment.configuration)) }
    }
}
