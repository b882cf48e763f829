import Logging
import ParseStorage
import Postgres

/// A database as a server's first start leaves it. Tests of servers begin with copies: to copy it takes a fraction of the time
/// that the statements take.
enum TestTemplate {
    private static let made = Task { try await make() }

    /// What `CREATE DATABASE` is told to copy it; it is made when the first test asks.
    ///
    /// - Throws: `PostgresError`.
    static func copy() async throws -> String { try await made.value }

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
        let version = try await client.query("SELECT current_setting('server_version_num')::int8").int(0, 0) ?? 0
        await client.shutdown()
        // Files are copied in half the time that it takes to log what is in them, which is usual from 15 on.
        return "TEMPLATE \(name)" + (version >= 150_000 ? " STRATEGY file_copy" : "")
    }
}
