import Postgres
import Testing

@Suite("Leased connections")
struct ExclusivePoolTests {
    @Test("A caller that waits too long for a connection fails as busy")
    func waiting() async throws {
        try await TestDatabase.run(exclusive: 1, connectTimeout: .seconds(1)) { (database) async throws in
            let client = database.client
            try await client.exclusively { (_) async throws in
                let error = try await failure { try await client.exclusively { _ in } }
                #expect(error?.kind == .busy)
            }
            #expect(try await client.slowQuery(Statement("SELECT 1")).int(0, 0) == 1)
        }
    }

    @Test("Scripts run atomically and leave no settings or open transaction in their session")
    func scripts() async throws {
        try await TestDatabase.run(exclusive: 1) { (database) async throws in
            let client = database.client
            try await client.execute(
                script: "CREATE TABLE a (id int8); INSERT INTO a VALUES (1), (2); SET work_mem = '7MB'; SELECT * FROM a"
            )
            let error = try await failure {
                try await client.execute(script: "INSERT INTO a VALUES (3); SELECT nothing; INSERT INTO a VALUES (4)")
            }
            #expect(error?.sqlState == "42703")
            try await client.execute(script: "BEGIN; INSERT INTO a VALUES (5)")
            let found = try await client.exclusively { session in
                try await session.query(
                    "SELECT count(*), current_setting('work_mem'), current_setting('statement_timeout') FROM a")
            }
            #expect(found.int(0, 0) == 2)
            #expect(found.string(0, 1) != "7MB")
            #expect(found.string(0, 2) == "30s")
        }
    }

    @Test("Rejects COPY and leaves the connection usable")
    func copy() async throws {
        try await TestDatabase.run(exclusive: 1) { (database) async throws in
            let client = database.client
            let script = try await failure { try await client.execute(script: "COPY pg_class TO STDOUT") }
            #expect(script?.sqlState == "0A000")
            let statement = try await failure { try await client.slowQuery(Statement("COPY pg_class TO STDOUT")) }
            #expect(statement?.sqlState == "0A000")
            #expect(try await client.slowQuery(Statement("SELECT 1")).int(0, 0) == 1)
        }
    }

    @Test("Concurrent statements on one leased connection each get their own result")
    func concurrentRequests() async throws {
        try await TestDatabase.run { database in
            try await database.client.exclusively { session in
                try await withThrowingTaskGroup(of: Bool.self) { group in
                    for number in 0..<100 {
                        group.addTask {
                            try await session.query("SELECT $1", [.int(Int64(number))]).int(0, 0) == Int64(number)
                        }
                    }
                    for try await isRight in group { #expect(isRight) }
                }
            }
        }
    }

    @Test("A session can't be used after its lease ends")
    func strayedSession() async throws {
        try await TestDatabase.run { (database) async throws in
            let session = try await database.client.exclusively { $0 }
            #expect(try await failure { try await session.query("SELECT 1") }?.sqlState == "08003")
        }
    }

    @Test("A transaction whose body swallowed an error throws it and rolls back")
    func swallowedError() async throws {
        try await TestDatabase.run { (database) async throws in
            let client = database.client
            _ = try await client.query("CREATE TABLE t (id int8)")
            let error = try await failure {
                try await client.transaction { session in
                    _ = try await session.query("INSERT INTO t VALUES (1)")
                    _ = try? await session.query("SELECT 1 / 0")
                }
            }
            #expect(error?.sqlState == "22012")
            #expect(try await client.query("SELECT count(*) FROM t").int(0, 0) == 0)
        }
    }
}
