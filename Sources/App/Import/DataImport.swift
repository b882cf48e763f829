import FileStorage
import Logging
import Migration
import Outgoing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// `roost import`: a source, and the deployment that it is brought into.
package struct DataImport: Sendable {
    private let deployment: Deployment
    /// Where the data come from.
    package enum Source: Sendable {
        /// A file or a folder.
        case path(String)
        /// A server that runs.
        case server(LiveServer.Address)
    }

    private let source: Source
    private let options: ImportOptions
    private let progress: ImportProgress
    private let logger: Logger

    /// Prepares an import; nothing is read yet.
    ///
    /// - Parameters:
    ///   - source: Where the data come from.
    ///   - progress: Gets how far it is.
    package init(
        _ deployment: Deployment, from source: Source, _ options: ImportOptions, progress: ImportProgress,
        logger: Logger
    ) {
        self.deployment = deployment
        self.source = source
        var options = options
        options.scratch = deployment.dataFolder + "/import"
        self.options = options
        self.progress = progress
        self.logger = logger
    }

    /// Imports, or only looks. When the task is cancelled, it ends where it can go on later.
    ///
    /// - Throws: `ImportRun.Refusal`, and what keeps the source or the database from being used.
    package func run() async throws -> ImportReport {
        try await withTaskCancellationHandler {
            switch source {
            case .path(let path): return try await bring(path)
            case .server(let address):
                let folder =
                    "\(options.scratch)/live-\(SourceFingerprint.of(address.url + " " + address.applicationID))"
                let notes = try await fetch(address, to: folder)
                var report = try await bring(folder)
                report.notes += notes
                // It holds hashes of passwords and session tokens; and what was fetched for a look is old at the import.
                if report.isComplete || options.isDryRun { try FileManager.default.removeItem(atPath: folder) }
                return report
            }
        } onCancel: {
            progress.stop()
        }
    }
    private func bring(_ path: String) async throws -> ImportReport {
        let run = ImportRun(path, options, progress, logger: logger)
        if options.isDryRun { return try await run.look() }
        return try await DatabaseAccess(deployment, logger: logger).withConnectionString(makesDatabase: true) { uri in
            try await DeploymentFiles(deployment, logger: logger).withStored(database: uri) { stored in
                try await run.load(
                    into: uri, files: Deployment.files(stored, deployment.configuration), storedFiles: stored)
            }
        }
    }

    private func fetch(_ address: LiveServer.Address, to folder: String) async throws -> [String] {
        let caller = try HTTPCaller(deployment.configuration.outgoing)
        let download = LiveDownload(
            LiveServer(address, caller), to: folder, classes: options.classes, progress: progress)
        do {
            let notes = try await download.run()
            await caller.shutdown()
            return notes
        } catch {
            await caller.shutdown()
            throw error
        }
    }
}
