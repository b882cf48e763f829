import Postgres
import Synchronization
import Testing

@Suite("Servers that have become read-only")
struct ReadOnlyServerTests {
    /// Makes its connection reject writes, like those of a server that became a standby.
    private static let refuse = "SELECT set_config('default_transaction_read_only', 'on', false)"

    @Test("A write rejected on a shared connection as read-only is executed once, on a new connection")
    func sharedWrites() async throws {
        try await TestDatabase.run(shared: 1) { (database) async throws in
            _ = try await database.client.query("CREATE TABLE made (id int8)")
            _ = try await database.client.query(Self.refuse)
            _ = try await database.client.query("INSERT INTO made VALUES (1)")
            #expect(try await database.client.query("SELECT count(*) FROM made").int(0, 0) == 1)
        }
    }

    @Test("Grouped changes rejected as read-only are executed on a new connection, each once")
    func sharedChanges() async throws {
        try await TestDatabase.run(shared: 1) { (database) async throws in
            let client = database.client
            _ = try await client.query("CREATE TABLE made (id int8)")
            _ = try await client.query(Self.refuse)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<20 {
                    group.addTask {
                        _ = try await client.change(
                            conflictKey: "\(number)",
                            [Statement("INSERT INTO made VALUES ($1)", [.int(Int64(number))])])
                    }
                }
                try await group.waitForAll()
            }
            let rows = try await client.query("SELECT count(*), count(DISTINCT id) FROM made")
            #expect(rows.int(0, 0) == 20)
            #expect(rows.int(0, 1) == 20)
        }
    }

    @Test("Retries a transaction rejected as read-only on a new connection")
    func transactions() async throws {
        try await TestDatabase.run { (database) async throws in
            let client = database.client
            _ = try await client.query("CREATE TABLE made (id int8)")
            try await client.transaction { _ = try await $0.query(Self.refuse) }
            try await client.transaction { _ = try await $0.query("INSERT INTO made VALUES (1)") }
            #expect(try await client.query("SELECT count(*) FROM made").int(0, 0) == 1)
        }
    }

    @Test("While the only server is read-only, reads work and writes fail; writes work again afterward")
    func withoutOther() async throws {
        try await TestDatabase.run { (database) async throws in
            let name = try await database.client.query("SELECT current_database()").string(0, 0) ?? ""
            _ = try await database.client.query("CREATE TABLE made (id int8)")
            _ = try await database.client.query("ALTER DATABASE \(name) SET default_transaction_read_only = on")
            try await database.withSecondClient { client in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<4 {
                        group.addTask {
                            for _ in 0..<50 {
                                let one = try await client.query("SELECT 1", readOnly: true).int(0, 0)
                                #expect(one == 1)
                            }
                        }
                        group.addTask {
                            for _ in 0..<10 {
                                let error = try await failure { try await client.query("INSERT INTO made VALUES (1)") }
                                #expect(error?.kind == .connectionLost)
                                #expect(error?.sqlState == "25006")
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                // Connections opened in the meantime are read-only.
                try await database.client.execute(
                    script: """
                        BEGIN READ WRITE; ALTER DATABASE \(name) RESET default_transaction_read_only; COMMIT;
                        """)
                let isWritten = try await eventually {
                    try await failure { try await client.query("INSERT INTO made VALUES (1)") } == nil
                }
                #expect(isWritten)
            }
            #expect(try await database.client.query("SELECT count(*) FROM made").int(0, 0) == 1)
        }
    }

    private final class Events: Sendable {
        let seen = Mutex<[String]>([])
    }

    @Test("Listeners on a server that became read-only reconnect and report the interruption")
    func listeners() async throws {
        try await TestDatabase.run(shared: 1) { (database) async throws in
            let client = database.client
            let events = Events()
            let listener = Task {
                for await event in client.listen(channels: ["c"]) {
                    events.seen.withLock {
                        switch event {
                        case .connected: $0.append("connected")
                        case .disconnected: $0.append("disconnected")
                        case .notification(_, let payload): $0.append(payload)
                        }
                    }
                }
            }
            #expect(try await eventually { events.seen.withLock { $0 } == ["connected"] })
            _ = try await client.query(Self.refuse)
            _ = try await client.query("CREATE TABLE made (id int8)")
            #expect(try await eventually { events.seen.withLock { $0 } == ["connected", "disconnected", "connected"] })
            try await client.notify(channel: "c", payloads: ["news"])
            #expect(try await eventually { events.seen.withLock { $0.last } == "news" })
            listener.cancel()
        }
    }
}
