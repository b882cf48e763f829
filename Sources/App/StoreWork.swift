import Encoding
import FileStorage
import FileStores
import Platform
import ServerConfiguration

/// `roost files` and `roost doctor --files`: work on the file stores of a deployment without the server.
package struct StoreWork: Sendable {
    private let deployment: Deployment
    private var files: DeploymentFiles { DeploymentFiles(deployment: deployment) }

    package init(_ deployment: Deployment) { self.deployment = deployment }

    package typealias CopyReport = FileCopy.Report

    /// Tries every operation that the server needs from its file store.
    ///
    /// - Parameter report: Receives each operation with the reason for its failure, or nil if it succeeded.
    /// - Returns: Whether all operations succeeded.
    package func check(_ report: (String, String?) -> Void) async throws -> Bool {
        try await files.withStored { storage in
            await FileCheck(storage, of: deployment.configuration.fileStore).run { report($0.name, $0.failure) }
        }
    }

    package struct StoreSize: Sendable {
        package let name: String
        package var files = 0
        package var bytes: Int64 = 0
        /// The reason why the store's files can't be counted, or nil if they were counted.
        package var failure: String?
    }

    /// Counts the files of each store. The configured store is first, then its fallbacks.
    package func sizes() async throws -> [StoreSize] {
        var sizes: [StoreSize] = []
        let configuration = deployment.configuration
        for store in [configuration.fileStore] + configuration.fileStoreFallbacks {
            var size = StoreSize(name: store.name)
            do {
                (size.files, size.bytes) = try await files.withOne(store) { storage in
                    var (files, bytes) = (0, Int64(0))
                    try await storage.visit(prefix: "") { file in
                        try Task.checkCancellation()
                        (files, bytes) = (files + 1, min(bytes, 1 << 60) + file.size)
                    }
                    return (files, bytes)
                }
            } catch let error as CancellationError {
                throw error
            } catch {
                size.failure = ErrorText.of(error)
            }
            sizes.append(size)
        }
        return sizes
    }

    package func copy(
        from source: String, to target: String, prefix: String, jobs: Int, isDryRun: Bool, verifies: Bool,
        _ progress: @escaping @Sendable (CopyReport) -> Void
    ) async throws -> CopyReport {
        try await withStore(source) { source in
            try await withStore(target) { target in
                try await FileCopy(
                    from: source, to: target, jobs: jobs, isDryRun: isDryRun, verifies: verifies, progress: progress
                ).run(prefix: prefix)
            }
        }
    }

    /// Re-encrypts the files of each store that don't have the configured key or format.
    ///
    /// - Parameter oldKey: The key of files that the configured key can't decrypt, or nil for `previousEncryptionKey`.
    package func rotate(
        oldKey: String?, jobs: Int, isDryRun: Bool, _ progress: @escaping @Sendable (CopyReport) -> Void
    ) async throws -> CopyReport {
        let configuration = deployment.configuration
        var all = CopyReport()
        for store in [configuration.fileStore] + configuration.fileStoreFallbacks {
            let report = try await files.withOne(store) { stored in
                guard
                    let clear = Deployment.encrypted(
                        stored, configuration, olderKey: oldKey ?? configuration.previousEncryptionKey)
                else { throw CommandFailure("encryptionKey is not configured. Set it to the new key") }
                return try await FileCopy.rotate(stored, clear, jobs: jobs, isDryRun: isDryRun, progress)
            }
            all.copied += report.copied
            all.bytes += report.bytes
            all.skipped += report.skipped
            all.failed += report.failed
        }
        return all
    }

    /// Runs `body` with the store named by a command's argument: `configured`, `fallback`, a folder or an adapter.
    private func withStore<R: Sendable>(_ word: String, _ body: (any FileStorage) async throws -> R) async throws -> R {
        switch word {
        case "configured":
            return try await files.withOne(deployment.configuration.fileStore, body)
        case "fallback":
            guard let store = deployment.configuration.fileStoreFallbacks.first else {
                throw CommandFailure("filesFallback is not configured. Choose another store")
            }
            return try await files.withOne(store, body)
        default:
            if FilePaths.isFolder(word) == true {
                return try await body(DiskStorage(directory: word))
            }
            let (store, folder) = try Configuration.FileStore.read(
                word, environment: ProcessInfo.processInfo.environment)
            return try await files.withOne(store, folder: folder, body)
        }
    }
}
