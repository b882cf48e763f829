import Logging
import ParseStorage
import Postgres

/// A template database in the state after a server's first start. Copying it takes a fraction of the time.
public enum TestTemplate {
    private static let made = Task { try await make() }

    /// Returns the options of `CREATE DATABASE` that copy the template. The first call creates the template.
    public static func copy() async throws -> String { try await made.value }

    /// The template stays in the cluster. The next run replaces it.
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
        // Copying files takes half the time of the default from PostgreSQL 15 on, which logs their contents.
        return "TEMPLATE \(name)" + (version >= 150_000 ? " STRATEGY file_copy" : "")
    }
}
