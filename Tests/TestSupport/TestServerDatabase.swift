import Logging
import Postgres

extension TestServer {
    /// Runs a statement on the server's database, as another process would, and gives the number of its rows.
    @discardableResult
    public func sql(_ statement: String) async throws -> Int {
        var configuration = PostgresConfiguration(connectionString: databaseURI)
        configuration.sharedConnections = 1
        let client = PostgresClient(configuration: configuration, logger: Logger(label: "test"))
        try await client.start()
        do {
            let rows = try await client.query(statement).rowCount
            await client.shutdown()
            return rows
        } catch {
            await client.shutdown()
            throw error
        }
    }
}
