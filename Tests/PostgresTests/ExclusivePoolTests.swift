import Postgres
import Testing

@Suite("Lent connections")
struct ExclusivePoolTests {
    @Test("A caller waits for a connection, but not longer than the limit")
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

    @Test("A script is carried out whole or not at all, and what it did to its session ends with it")
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

    @Test("COPY is refused, and the next caller has a connection that works")
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

    @Test("Statements sent at once on one lent connection are each answered")
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

    @Test("A connection that was given back cannot be used any more")
    func strayedSession() async throws {
        try await TestDatabase.run { (database) async throws in
            let session = try await database.client.exclusively { $0 }
            #expect(try await failure { try await session.query("SELECT 1") }?.sqlState == "08003")
        }
    }

    @Test("A transaction in which an error was swallowed throws it instead of pretending to commit")
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
