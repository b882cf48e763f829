import Foundation
import LocalPostgres
import Logging
import Postgres
import TestTools

/// Embedded PostgreSQL clusters in temporary folders.
enum TemporaryCluster {
    static let logger: Logger = {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        return logger
    }()

    /// Runs `body` with a temporary folder, then stops its cluster and deletes the folder.
    static func withFolder(_ suffix: String = "", _ body: (String) async throws -> Void) async throws {
        // The user `postgres` must be able to enter the folder, so it is directly below /tmp.
        let parent = "/tmp/roost-cluster-" + UUID().uuidString.prefix(8).lowercased()
        let folder = parent + suffix
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let result = await Result.awaiting { try await body(folder) }
        // If a failed test left its cluster running, it is adopted and stopped.
        if FileManager.default.fileExists(atPath: folder + "/cluster/postmaster.pid") {
            let rest = LocalPostgres(dataFolder: folder, logger: logger)
            if (try? await rest.start()) != nil { await rest.stop() }
        }
        try? FileManager.default.removeItem(atPath: parent)
        try result.get()
    }

    @discardableResult
    static func query(_ uri: String, _ sql: String) async throws -> PostgresResult {
        let client = PostgresClient(configuration: PostgresConfiguration(connectionString: uri), logger: logger)
        try await client.start()
        let result = await Result.awaiting { try await client.query(sql) }
        await client.shutdown()
        return try result.get()
    }
}
