import Postgres
import Testing

@Suite("Slow statements, broken connections and shutdown")
struct ResilienceTests {
    @Test("Short statements complete while eight slow ones are running")
    func pools() async throws {
        try await TestDatabase.run(exclusive: 16) { database in
            let stillRunning: @Sendable () async throws -> Bool = {
                let active = try await database.client.query(
                    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
                        + "AND query LIKE '%pg_sleep(60)%' AND state = 'active' AND pid <> pg_backend_pid()")
                return active.int(0, 0) == 8
            }
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for _ in 0..<8 {
                    tasks.addTask { _ = try await database.client.slowQuery(Statement("SELECT pg_sleep(60)")) }
                }
                #expect(try await eventually(stillRunning))
                for _ in 0..<20 { _ = try await database.client.query("SELECT 1") }
                // A time limit would depend on the machine, so the test checks that all eight are still running.
                #expect(try await stillRunning())
                tasks.cancelAll()
                while let result = await tasks.nextResult() {
                    #expect(throws: PostgresError.self) { try result.get() }
                }
            }
        }
    }

    @Test("Cancelling a task stops its slow statement on the server")
    func cancellation() async throws {
        try await TestDatabase.run { (database) async throws in
            let task = Task { try await database.client.slowQuery(Statement("SELECT pg_sleep(60) AS long_sleep")) }
            let running =
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
                + "AND query LIKE '%long_sleep%' AND state = 'active' AND pid <> pg_backend_pid()"
            #expect(try await eventually { try await database.client.query(running).int(0, 0) == 1 })
            task.cancel()
            #expect(try await failure { try await task.value }?.kind == .cancelled)
            #expect(try await eventually { try await database.client.query(running).int(0, 0) == 0 })
            // The connection was returned to the pool.
            #expect(try await database.client.slowQuery(Statement("SELECT 5")).int(0, 0) == 5)
        }
    }

    @Test("Reads succeed even if all shared connections are terminated")
    func readsSurvive() async throws {
        try await TestDatabase.run { database in
            _ = try await database.client.query("CREATE TABLE t AS SELECT 7::int8 AS a")
            for _ in 0..<5 {
                async let reads: [Int64?] = withThrowingTaskGroup(of: Int64?.self) { tasks in
                    for _ in 0..<50 {
                        tasks.addTask {
                            try await database.client.query("SELECT a, pg_sleep(0.002) FROM t", readOnly: true).int(
                                0, 0)
                        }
                    }
                    return try await tasks.reduce(into: []) { $0.append($1) }
                }
                try await Task.sleep(for: .milliseconds(10))
                try await database.endAllConnections()
                #expect(try await reads == Array(repeating: 7, count: 50))
            }
            #expect(database.client.statistics.reconnects > 0)
        }
    }

    @Test("A write whose connection breaks fails as connectionLost and isn't retried")
    func writesAreLost() async throws {
        let settings: (inout PostgresConfiguration) -> Void = { $0.sharedStatementTimeout = .seconds(30) }
        try await TestDatabase.run(shared: 1, configure: settings) { database in
            _ = try await database.client.query("CREATE TABLE t (a int8)")
            let write = Task {
                try await failure {
                    try await database.client.query("INSERT INTO t SELECT 1 FROM pg_sleep(5)")
                }
            }
            try await database.withSecondClient { (second) async throws in
                #expect(
                    try await eventually {
                        try await second.query(
                            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
                                + "AND query LIKE 'INSERT%' AND state = 'active'"
                        ).int(0, 0) == 1
                    })
            }
            try await database.endAllConnections()
            #expect(try await write.value?.kind == .connectionLost)
            // The client works again.
            #expect(try await database.client.query("SELECT count(*) FROM t", readOnly: true).int(0, 0) == 0)
        }
    }

    @Test("A transaction whose connection breaks fails and is rolled back, and the next one works")
    func transactionsAreLost() async throws {
        try await TestDatabase.run { database in
            _ = try await database.client.query("CREATE TABLE t (a int8)")
            let error = try await failure {
                try await database.client.transaction { session in
                    _ = try await session.query("INSERT INTO t VALUES (1)")
                    try await database.endAllConnections()
                    _ = try await session.query("INSERT INTO t VALUES (2)")
                }
            }
            #expect(error?.kind == .connectionLost)
            let count = try await database.client.transaction { try await $0.query("SELECT count(*) FROM t").int(0, 0) }
            #expect(count == 0)
        }
    }

    @Test("A listener receives all notifications with their channels")
    func notifications() async throws {
        try await TestDatabase.run { database in
            let events = database.client.listen(channels: ["one", "Two \"quoted\""])
            var iterator = events.makeAsyncIterator()
            guard case .connected = await iterator.next() else {
                Issue.record("the first event must be that the connection stands")
                return
            }
            for number in 0..<20 {
                try await database.client.notify(
                    channel: number % 2 == 0 ? "one" : "Two \"quoted\"", payloads: ["n\(number)"])
            }
            // Notifications of different connections have no order, so only the set is compared.
            var received: Set<String> = []
            while received.count < 20, case .notification(let channel, let payload) = await iterator.next() {
                received.insert(channel + ":" + payload)
            }
            #expect(received.count == 20)
            #expect(received.contains("one:n0"))
            #expect(received.contains("Two \"quoted\":n19"))
        }
    }

    @Test("A listener reconnects after losing its connection and receives later notifications")
    func listenersComeBack() async throws {
        try await TestDatabase.run { database in
            let events = database.client.listen(channels: ["news"])
            var iterator = events.makeAsyncIterator()
            guard case .connected = await iterator.next() else {
                Issue.record("the first event must be that the connection stands")
                return
            }
            try await database.endAllConnections()
            guard case .disconnected = await iterator.next() else {
                Issue.record("the end of the connection must be told")
                return
            }
            guard case .connected = await iterator.next() else {
                Issue.record("the new connection must be told")
                return
            }
            try await database.withSecondClient { try await $0.notify(channel: "news", payloads: ["again"]) }
            guard case .notification(let channel, let payload) = await iterator.next() else {
                Issue.record("the notification must arrive")
                return
            }
            #expect(channel == "news")
            #expect(payload == "again")
        }
    }

    @Test("Cancelling a listener closes its connection")
    func unlisten() async throws {
        try await TestDatabase.run { (database) async throws in
            let listening =
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"
            let task = Task {
                for await _ in database.client.listen(channels: ["quiet"]) {}
            }
            #expect(try await eventually { try await database.client.query(listening).int(0, 0) == 1 })
            task.cancel()
            #expect(try await eventually { try await database.client.query(listening).int(0, 0) == 0 })
        }
    }

    @Test("Starting a client fails as unavailable, with a message, if the server is unreachable")
    func unreachable() async throws {
        var configuration = PostgresConfiguration(connectionString: "postgres://postgres@127.0.0.1:1/nothing")
        configuration.connectTimeout = .milliseconds(300)
        let client = PostgresClient(configuration: configuration, logger: TestDatabase.logger)
        let error = try await failure { try await client.start() }
        #expect(error?.kind == .unavailable)
        #expect(error?.message.isEmpty == false)
    }

    @Test("Statements fail as unavailable after their database was dropped, instead of waiting forever")
    func goneDatabase() async throws {
        try await TestDatabase.run(connectTimeout: .seconds(2)) { database in
            let name = try await database.client.query("SELECT current_database()").string(0, 0) ?? ""
            let administrator = PostgresClient(
                configuration: PostgresConfiguration(connectionString: TestDatabase.cluster),
                logger: TestDatabase.logger)
            try await administrator.execute(script: "DROP DATABASE \(SQL.identifier(name)) WITH (FORCE)")
            let error = try await failure { try await database.client.query("SELECT 1", readOnly: true) }
            #expect(error?.kind == .unavailable)
            let lease = try await failure { try await database.client.slowQuery(Statement("SELECT 1")) }
            #expect(lease?.kind == .unavailable)
        }
    }

    @Test("Shutdown finishes running statements and rejects new ones")
    func shutdown() async throws {
        // Otherwise, on a slow machine, the statements that wait for the lock would move to separate connections.
        let settings: (inout PostgresConfiguration) -> Void = {
            $0.sharedLockTimeout = .seconds(60)
            $0.sharedStatementTimeout = .seconds(60)
        }
        try await TestDatabase.run(configure: settings) { (database) async throws in
            let client = database.client
            let (shared, slow, end) = try await database.whileLocked { (session) async throws in
                let shared = Task { try await client.query("SELECT 1, \(TestDatabase.waiting)").int(0, 0) }
                let slow = Task {
                    try await client.slowQuery(Statement("SELECT 2, \(TestDatabase.waiting)")).int(0, 0)
                }
                let areWaiting = try await eventually { try await session.query(TestDatabase.waiters).rowCount == 2 }
                #expect(areWaiting)
                let end = Task { await client.shutdown() }
                let hasBegun = try await eventually {
                    try await failure { try await client.slowQuery(Statement("SELECT 1")) }?.kind == .shutdown
                }
                #expect(hasBegun)
                return (shared, slow, end)
            }
            await end.value
            #expect(try await shared.value == 1)
            #expect(try await slow.value == 2)
            #expect(try await failure { try await database.client.query("SELECT 1") }?.kind == .shutdown)
            #expect(try await failure { try await database.client.slowQuery(Statement("SELECT 1")) }?.kind == .shutdown)
            await database.client.shutdown()
            #expect(database.client.statistics.inFlight == 0)
        }
    }

    @Test("Every caller gets an answer if the client shuts down during many statements")
    func shutdownUnderLoad() async throws {
        try await TestDatabase.run { (database) async throws in
            let answered = Counter()
            let tasks = (0..<200).map { number in
                Task {
                    _ =
                        try? await
                        (number % 4 == 0
                        ? database.client.slowQuery(Statement("SELECT pg_sleep(0.01)"))
                        : database.client.query("SELECT pg_sleep(0.001)"))
                    answered.add(1)
                }
            }
            #expect(try await eventually { database.client.statistics.inFlight > 0 })
            await database.client.shutdown()
            for task in tasks { await task.value }
            #expect(answered.value == 200)
        }
    }
}
