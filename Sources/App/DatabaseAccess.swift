import Limits
import LocalPostgres
import Logging
import Platform
import Postgres

/// Access to a deployment's database for commands that run without the server. The embedded PostgreSQL is started for
/// the duration of the command, unless a server is already running it.
package struct DatabaseAccess: Sendable {
    private let deployment: Deployment
    private let logger: Logger

    package init(_ deployment: Deployment, logger: Logger = LogOutput.quiet) {
        self.deployment = deployment
        self.logger = logger
    }

    /// Runs `use` with the connection string of the database, including the app's schema.
    ///
    /// - Parameter makesDatabase: Whether to create the embedded PostgreSQL if it doesn't exist.
    /// - Throws: The errors of `use`, and an error if the embedded PostgreSQL doesn't exist or can't be started.
    package func withConnectionString<R: Sendable>(
        makesDatabase: Bool = false, _ use: (String) async throws -> R
    ) async throws -> R {
        let configuration = deployment.configuration
        func body(_ text: String) async throws -> R {
            let option = configuration.directDatabaseURI == nil ? "databaseURI" : "directDatabaseURI"
            return try await DatabaseFailure.reporting(option: option) {
                try await use(PostgresConfiguration.connectionString(text, schema: configuration.databaseSchema))
            }
        }
        // A direct connection, because commands need session locks and snapshots shared by several connections.
        if let uri = configuration.databaseURI { return try await body(configuration.directDatabaseURI ?? uri) }
        let database = LocalPostgres(dataFolder: deployment.postgresFolder, logger: logger)
        guard makesDatabase || database.exists else {
            throw CommandFailure(
                "no database in \(deployment.dataFolder). Choose another folder with --dataDir, or a database with "
                    + "--databaseURI")
        }
        try deployment.makeDataFolder()
        let (connectionString, isShared) = try await database.startOrShare()
        return try await withCleanup {
            try await body(connectionString)
        } cleanUp: {
            if !isShared { await database.stop() }
        }
    }

    /// Runs `body` with a client of the database.
    ///
    /// - Parameter adjust: Changes the client's settings. By default, statements have no time limit.
    /// - Throws: The errors of `body`, and an error if the database doesn't exist or is unavailable.
    package func withClient<R: Sendable>(
        _ adjust: (inout PostgresConfiguration) -> Void = { _ in }, _ body: (PostgresClient) async throws -> R
    ) async throws -> R {
        try await withConnectionString { connectionString in
            var settings = PostgresConfiguration(connectionString: connectionString)
            settings.sharedConnections = 1
            settings.statementTimeout = .zero
            adjust(&settings)
            return try await PostgresClient.opened(settings, logger: logger, body)
        }
    }
}

/// The reason for a command's failure, described for the operator.
package struct CommandFailure: Error, CustomStringConvertible, Equatable {
    package let description: String

    init(_ description: String) { self.description = description }
}
