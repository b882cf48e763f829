import Testing

@testable import Postgres

@Suite("Exclusive connections")
struct ExclusiveLaneTests {
    @Test("carry slow statements, so that fast ones stay fast", .timeLimit(.minutes(1)))
    func slowBesideFast() async throws {
        try await TestDatabase.withClient { client, _ async throws in
            _ = try await client.query("SELECT 1")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask { _ = try await client.slowQuery(Statement("SELECT pg_sleep(2)")) }
                }
                let clock = ContinuousClock()
                let end = clock.now + .milliseconds(1500)
                var durations: [Duration] = []
                while clock.now < end {
                    let duration = try await clock.measure { _ = try await client.query("SELECT 1", readOnly: true) }
                    durations.append(duration)
                    try await Task.sleep(for: .milliseconds(5))
                }
                durations.sort()
                // Not the very last: the machine may be busy with something else for a moment.
                #expect(durations[durations.count * 95 / 100] < .milliseconds(100))
                try await group.waitForAll()
            }
        }
    }

    @Test("are waited for, but not longer than the limit", .timeLimit(.minutes(1)))
    func waiting() async throws {
        try await TestDatabase.configured {
            $0.exclusiveConnections = 1
            $0.connectTimeout = .seconds(1)
        }.withClient { client, _ async throws in
            try await client.exclusively { _ in
                let error = try await postgresError { _ = try await client.slowQuery(Statement("SELECT 1")) }
                #expect(error.kind == .unavailable)
            }
            #expect(try await client.slowQuery(Statement("SELECT 1")).int(0, 0) == 1)
            // Twenty take turns.
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<20 { group.addTask { _ = try await client.slowQuery(Statement("SELECT 2")) } }
                try await group.waitForAll()
            }
        }
    }

    @Test(
        "run scripts of several statements, all or nothing, and forget what these did to the session",
        .timeLimit(.minutes(1)))
    func scripts() async throws {
        try await TestDatabase.configured { $0.exclusiveConnections = 1 }.withClient { client, _ async throws in
            try await client.execute(
                script:
                    "CREATE TABLE a (id int8); INSERT INTO a VALUES (1), (2); SET work_mem = '7MB'; SELECT * FROM a;")
            let error = try await postgresError {
                try await client.execute(script: "INSERT INTO a VALUES (3); SELECT nothing; INSERT INTO a VALUES (4)")
            }
            #expect(error.sqlState == "42703")
            try await client.execute(script: "BEGIN; INSERT INTO a VALUES (5)")
            let found = try await client.exclusively { session async throws in
                try await session.query(
                    "SELECT count(*), current_setting('work_mem'), current_setting('statement_timeout') FROM a")
            }
            #expect(found.int(0, 0) == 2)
            #expect(found.string(0, 1) != "7MB")
            #expect(found.string(0, 2) == "30s")
            let copy = try await postgresError { try await client.execute(script: "COPY a FROM STDIN") }
            #expect(copy.sqlState == "0A000")
            #expect(try await client.slowQuery(Statement("SELECT 1")).int(0, 0) == 1)
        }
    }

    @Test("take several requests at once, answered in order", .timeLimit(.minutes(1)))
    func concurrentRequests() async throws {
        try await TestDatabase.withClient { client, _ async throws in
            try await client.exclusively { session async throws in
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
}
