import Postgres
import Testing

@Suite("Opening and closing connections")
struct ReconnectionTests {
    @Test("Requests fail as unavailable while the database accepts no connections, and work again afterward")
    func unavailable() async throws {
        try await TestDatabase.run(connectTimeout: .seconds(1)) { (database) async throws in
            let client = database.client
            let name = try await client.query("SELECT current_database()").string(0, 0) ?? ""
            let administrator = PostgresClient(
                configuration: PostgresConfiguration(connectionString: TestDatabase.cluster),
                logger: TestDatabase.logger)
            _ = try await administrator.query("ALTER DATABASE \(name) ALLOW_CONNECTIONS false")
            let terminate = Statement(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", [.text(name)])
            let isAlone = try await eventually {
                // A connection that is being opened isn't listed at first.
                _ = try await administrator.query(terminate)
                return client.statistics.connections == 0
            }
            #expect(isAlone)
            let error = try await failure { try await client.query("SELECT 1") }
            #expect(error?.kind == .unavailable)
            #expect(error?.sqlState == "55000")
            #expect(error?.message.contains(name) == true)
            _ = try await administrator.query("ALTER DATABASE \(name) ALLOW_CONNECTIONS true")
            await administrator.shutdown()
            #expect(try await eventually { try await failure { try await client.query("SELECT 1") } == nil })
        }
    }

    @Test("A failed start reports the server's message and SQLSTATE, or the invalid connection parameter")
    func start() async throws {
        try await TestDatabase.run { (database) async throws in
            func startFailure(_ connectionString: String) async throws -> PostgresError? {
                let client = PostgresClient(
                    configuration: PostgresConfiguration(connectionString: connectionString),
                    logger: TestDatabase.logger)
                let error = try await failure { try await client.start() }
                await client.shutdown()
                return error
            }
            let missing = try await startFailure(database.uri + "_missing")
            #expect(missing?.kind == .unavailable)
            #expect(missing?.sqlState == "3D000")
            #expect(missing?.message.contains("_missing\" does not exist") == true)
            #expect(missing?.message.contains("LOCATION") == false)
            let nonsense = try await startFailure("postgres://host?nonsense=1")
            #expect(nonsense?.message.contains("nonsense") == true)
        }
    }

    @Test("Connection-string options supplement the driver's and override its application name")
    func options() async throws {
        try await TestDatabase.run { (database) async throws in
            let client = PostgresClient(
                configuration: PostgresConfiguration(
                    connectionString: database.uri + "?options=-c%20work_mem%3D5MB&application_name=other"),
                logger: TestDatabase.logger)
            let settings = try await client.query(
                "SELECT current_setting('work_mem'), current_setting('statement_timeout'), current_setting($1)",
                [.text("application_name")])
            await client.shutdown()
            #expect(settings.string(0, 0) == "5MB")
            #expect(settings.string(0, 1) == "200ms")
            #expect(settings.string(0, 2) == "other")
            let usual = try await database.client.query("SHOW application_name")
            #expect(usual.string(0, 0) == "roost")
        }
    }

    @Test("Shutdown lets a running transaction finish and ends listener streams")
    func drains() async throws {
        try await TestDatabase.run { (database) async throws in
            let client = database.client
            _ = try await client.query("CREATE TABLE made (id int8)")
            let listener = Task { for await _ in client.listen(channels: ["c"]) {} }
            let hasBegun = Counter()
            let transaction = Task {
                try await client.transaction { session in
                    _ = try await session.query("INSERT INTO made VALUES (1)")
                    hasBegun.add(1)
                    try await Task.sleep(for: .milliseconds(300))
                    _ = try await session.query("INSERT INTO made VALUES (2)")
                }
            }
            #expect(try await eventually { hasBegun.value == 1 })
            await client.shutdown()
            try await transaction.value
            await listener.value
            let count = try await database.withSecondClient {
                try await $0.query("SELECT count(*) FROM made").int(0, 0)
            }
            #expect(count == 2)
        }
    }

    @Test("An unused client can be shut down, and a deallocated client closes its connections")
    func unused() async throws {
        try await TestDatabase.run(shared: 1) { (database) async throws in
            var configuration = PostgresConfiguration(connectionString: database.uri)
            configuration.applicationName = "forgotten"
            let unused = PostgresClient(configuration: configuration, logger: TestDatabase.logger)
            await unused.shutdown()
            #expect(try await failure { try await unused.query("SELECT 1") }?.kind == .shutdown)
            do {
                let forgotten = PostgresClient(configuration: configuration, logger: TestDatabase.logger)
                #expect(try await forgotten.query("SELECT 1").int(0, 0) == 1)
            }
            let sql =
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
                + "application_name = 'forgotten'"
            #expect(try await eventually { try await database.client.query(sql).int(0, 0) == 0 })
        }
    }
}
