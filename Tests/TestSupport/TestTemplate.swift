import Logging
import ParseStorage
import Postgres

/// A database as a server's first start leaves it. Tests of servers begin with copies: to copy it takes a fraction of the time
/// that the statements take.
enum TestTemplate {
    private static let made = Task { try await make() }

    /// Its name in the cluster; it is made when the first test asks.
    ///
    /// - Throws: `PostgresError`.
    static func name() async throws -> String { try await made.value }

    /// It stays in the cluster, where the next run makes it anew.
    private static func make() async throws -> String {
        let name = "roost_test_template"
        try await TestServer.execute("DROP DATABASE IF EXISTS \(name) WITH (FORCE)", on: TestServer.cluster)
        try await TestServer.execute("CREATE DATABASE \(name)", on: TestServer.cluster)
        var configuration = PostgresConfiguration(connectionString: TestServer.databaseURI(name))
        configuration.sharedConnections = 1
        let client = PostgresClient(configuration: configuration, logger: TestServer.quietLogger)
        try await client.start()
        let catalog = SchemaCatalog(
            client: client, senderId: "template", refusesMixedMembership: false, logger: TestServer.quietLogger)
        try await DatabaseInstaller(client: client, catalog: catalog, logger: TestServer.quietLogger).install()
        await client.shutdown()
        return name
    }
}
