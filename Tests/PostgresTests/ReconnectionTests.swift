import Testing

@testable import Postgres

@Suite("Broken connections")
struct ReconnectionTests {
    @Test("are made anew, and plain reads do not notice", .timeLimit(.minutes(1)))
    func reads() async throws {
        try await TestDatabase.withClient { client, database async throws in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        for _ in 0..<60 {
                            let result = try await client.query("SELECT pg_sleep(0.005), 4", readOnly: true)
                            #expect(result.int(0, 1) == 4)
                        }
                    }
                }
                group.addTask {
                    try await Task.sleep(for: .milliseconds(200))
                    try await database.terminateConnections()
                }
                try await group.waitForAll()
            }
            #expect(client.statistics.reconnects >= 2)
            #expect(try await eventually { client.statistics.connections >= 2 })
        }
    }

    @Test("with a write on its way say that its outcome is unknown", .timeLimit(.minutes(1)))
    func writes() async throws {
        try await TestDatabase.withClient { client, database async throws in
            let observer = database.client()
            let task = Task { try await client.query("SELECT pg_sleep(20)") }
            #expect(try await eventually { try await observer.isRunning("pg_sleep") })
            await observer.shutdown()
            try await database.terminateConnections()
            let error = try await postgresError { _ = try await task.value }
            #expect(error.kind == .connectionLost)
            #expect(error.sqlState == "57P01")
            #expect(try await client.query("SELECT 1", readOnly: true).int(0, 0) == 1)
        }
    }

    @Test("end the transaction on them; nothing more of it is carried out", .timeLimit(.minutes(1)))
    func transactions() async throws {
        try await TestDatabase.withClient { client, database async throws in
            _ = try await client.query("CREATE TABLE t (id int8)")
            let error = try await postgresError {
                try await client.transaction { session in
                    _ = try await session.query("INSERT INTO t VALUES (1)")
                    try await database.terminateConnections()
                    _ = try? await session.query("INSERT INTO t VALUES (2)")
                    _ = try await session.query("INSERT INTO t VALUES (3)")
                }
            }
            #expect(error.kind == .connectionLost)
            #expect(try await client.query("SELECT count(*) FROM t", readOnly: true).int(0, 0) == 0)
            #expect(try await client.slowQuery(Statement("SELECT 1")).int(0, 0) == 1)
        }
    }

    @Test("that cannot be made anew in time make requests fail as never sent", .timeLimit(.minutes(1)))
    func unavailable() async throws {
        try await TestDatabase.configured { $0.connectTimeout = .seconds(1) }.withClient {
            client, database async throws in
            try await database.administer("ALTER DATABASE \(database.name) ALLOW_CONNECTIONS false")
            try await database.terminateConnections()
            #expect(try await eventually { client.statistics.connections == 0 })
            let error = try await postgresError { _ = try await client.query("SELECT 1") }
            #expect(error.kind == .unavailable)
            #expect(error.message.contains(database.name))
            #expect(error.sqlState == "55000")
            // Who waits when the server comes back gets an answer.
            let task = Task { try await client.query("SELECT 8").int(0, 0) }
            try await database.administer("ALTER DATABASE \(database.name) ALLOW_CONNECTIONS true")
            let answers = [try? await task.value, try await client.query("SELECT 8", readOnly: true).int(0, 0)]
            #expect(answers.last == 8)
        }
    }

    @Test("at the start tell the server's own words", .timeLimit(.minutes(1)))
    func start() async throws {
        try await TestDatabase.use { database async throws in
            var configuration = PostgresConfiguration(connectionString: database.connectionString + "_missing")
            configuration.sharedConnections = 1
            let client = PostgresClient(configuration: configuration, logger: TestDatabase.logger)
            let error = try await postgresError { try await client.start() }
            #expect(error.kind == .unavailable)
            #expect(error.sqlState == "3D000")
            #expect(error.message.contains("\"\(database.name)_missing\" does not exist"))
            #expect(!error.message.contains("LOCATION"))
            await client.shutdown()

            let nowhere = PostgresClient(
                configuration: PostgresConfiguration(connectionString: "postgres://127.0.0.1:1/none"),
                logger: TestDatabase.logger)
            #expect(try await postgresError { try await nowhere.start() }.kind == .unavailable)
            await nowhere.shutdown()
            let nonsense = PostgresClient(
                configuration: PostgresConfiguration(connectionString: "postgres://host?nonsense=1"),
                logger: TestDatabase.logger)
            #expect(try await postgresError { try await nonsense.start() }.message.contains("nonsense"))
            await nonsense.shutdown()
        }
    }
}
