import Logging
import Postgres

extension TestServer {
    /// Runs statements directly in the server's database, as an administrator or another server would.
    public func execute(_ script: String) async throws {
        try await withClient { try await $0.execute(script: script) }
    }

    /// The first column of what a statement gives, asked directly in the server's database.
    public func texts(_ sql: String) async throws -> [String] {
        try await withClient { client in
            let rows = try await client.query(sql)
            return (0..<rows.rowCount).compactMap { rows.string($0, 0) }
        }
    }

    private func withClient<R: Sendable>(_ body: (PostgresClient) async throws -> R) async throws -> R {
        var configuration = PostgresConfiguration(connectionString: databaseURI)
        configuration.sharedConnections = 1
        let client = PostgresClient(configuration: configuration, logger: Self.quietLogger)
        do {
            let result = try await body(client)
            await client.shutdown()
            return result
        } catch {
            await client.shutdown()
            throw error
        }
    }
}
