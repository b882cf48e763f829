import FileStorage
import Limits
import Migration
import Outgoing
import Platform

/// `roost import`: imports a source into a deployment.
package struct DataImport: Sendable {
    package enum Source: Sendable {
        case path(String)
        /// A running Parse server.
        case server(LiveServer.Address)
    }

    private let deployment: Deployment
    private let source: Source
    private let options: ImportOptions
    private let progress: ImportProgress

    package init(
        _ deployment: Deployment, from source: Source, _ options: ImportOptions, progress: ImportProgress
    ) {
        self.deployment = deployment
        self.source = source
        var options = options
        options.scratch = deployment.dataFolder + "/import"
        self.options = options
        self.progress = progress
    }

    /// Imports the source, or only inspects it in a dry run. A cancelled import can be resumed.
    ///
    /// - Throws: `ImportRun.Refusal`, `CancellationError`, and errors of the source, the database and files.
    package func run() async throws -> ImportReport {
        try await withTaskCancellationHandler {
            switch source {
            case .path(let path): return try await importFolder(path)
            case .server(let address):
                let folder =
                    "\(options.scratch)/live-\(SourceFingerprint.of(address.url + " " + address.applicationID))"
                let notes = try await fetch(address, to: folder)
                var report = try await importFolder(folder)
                report.notes += notes
                // The folder contains password hashes and session tokens. Data fetched for a dry run would be outdated
                // by the time of the import.
                if report.isComplete || options.isDryRun { try FileManager.default.removeItem(atPath: folder) }
                return report
            }
        } onCancel: {
            progress.stop()
        }
    }

    private func importFolder(_ path: String) async throws -> ImportReport {
        let run = ImportRun(path, options, progress, logger: LogOutput.quiet)
        if options.isDryRun { return try await run.inspect() }
        return try await DatabaseAccess(deployment).withConnectionString(makesDatabase: true) { uri in
            try await DeploymentFiles(deployment: deployment).withStored(database: uri) { stored in
                try await run.load(
                    into: uri, files: Deployment.files(stored, deployment.configuration), storedFiles: stored)
            }
        }
    }

    private func fetch(_ address: LiveServer.Address, to folder: String) async throws -> [String] {
        let caller = try HTTPCaller(deployment.configuration.outgoing)
        let download = LiveDownload(
            LiveServer(address, caller), to: folder, classes: options.classes, progress: progress)
        return try await withCleanup {
            try await download.run()
        } cleanUp: {
            await caller.shutdown()
        }
    }
}
