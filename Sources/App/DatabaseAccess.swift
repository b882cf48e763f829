import LocalPostgres
import Logging
import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The database of a deployment, for commands beside the server: the one that the configuration names, or the embedded
/// one, which is started for as long as it is used, unless a server runs on it.
package struct DatabaseAccess: Sendable {
    private let deployment: Deployment
    private let logger: Logger

    /// The database of a deployment; nothing is opened yet.
    package init(_ deployment: Deployment, logger: Logger) {
        self.deployment = deployment
        self.logger = logger
    }

    /// What a command that only reads says of a folder without a database.
    struct NoDatabase: Error, CustomStringConvertible {
        let folder: String
        var description: String {
            "no database in \(folder). Choose another folder with --dataDir, or a database with --databaseURI"
        }
    }

    /// Runs `use` with the connection string of the database, and of the app's schema in it.
    ///
    /// - Parameter makesDatabase: Whether an embedded database that there is not is made.
    /// - Throws: What `use` throws; `LocalPostgres.Failure` when the embedded database cannot be had.
    package func withConnectionString<R: Sendable>(
        makesDatabase: Bool = false, _ use: (String) async throws -> R
    ) async throws -> R {
        let configuration = deployment.configuration
        func body(_ text: String) async throws -> R {
            try await DatabaseFailure.reporting {
                try await use(PostgresConfiguration.connectionString(text, schema: configuration.databaseSchema))
            }
        }
        // These take locks of sessions, and read in snapshots that several connections share.
        if let uri = configuration.databaseURI { return try await body(configuration.directDatabaseURI ?? uri) }
        let database = LocalPostgres(dataFolder: deployment.postgresFolder, logger: logger)
        if !makesDatabase, !database.exists { throw NoDatabase(folder: deployment.dataFolder) }
        try deployment.makeDataFolder()
        let (connectionString, isShared) = try await database.startOrShare()
        do {
            let result = try await body(connectionString)
            if !isShared { await database.stop() }
            return result
        } catch {
            if !isShared { await database.stop() }
            throw error
        }
    }

    /// Runs `body` with a client of the database.
    ///
    /// - Parameters:
    ///   - makesDatabase: Whether an embedded database that there is not is made.
    ///   - adjust: Changes the client's settings. Without, statements may take as long as they like.
    /// - Throws: What `body` throws; `LocalPostgres.Failure` and `PostgresError` when the database cannot be had.
    package func withClient<R: Sendable>(
        makesDatabase: Bool = false, _ adjust: (inout PostgresConfiguration) -> Void = { _ in },
        _ body: (PostgresClient) async throws -> R
    ) async throws -> R {
        try await withConnectionString(makesDatabase: makesDatabase) { connectionString in
            var settings = PostgresConfiguration(connectionString: connectionString)
            settings.sharedConnections = 1
            settings.statementTimeout = .zero
            adjust(&settings)
            return try await PostgresClient.opened(settings, logger: logger, body)
        }
    }
}

/// Why a command did nothing, in words for the operator who gave it.
package struct CommandFailure: Error, CustomStringConvertible, Equatable {
    package let description: String

    init(_ description: String) { self.description = description }

    /// What the system says of the last failure.
    static func reason() -> String { String(cString: strerror(errno)) }
}
