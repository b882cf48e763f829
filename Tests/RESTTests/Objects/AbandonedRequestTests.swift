import JSON
import Logging
import Postgres
import TestSupport
import Testing

/// Clients that disconnect before the response.
@Suite struct AbandonedRequestTests {
    @Test("Cancels a disconnected client's slow query in PostgreSQL but completes its write")
    func abandoned() async throws {
        try await TestServer.run { server in
            let id = try await server.create("Song", ["plays": 1])
            let observer = PostgresClient(
                configuration: PostgresConfiguration(connectionString: server.databaseURI),
                logger: Logger(label: "test"))
            try await observer.transaction { session in
                _ = try await session.query("LOCK TABLE \"Song\" IN ACCESS EXCLUSIVE MODE")
                let count = Task {
                    try await server.find("Song", ["where": ["plays": ["$gt": 0]], "count": 1, "limit": 0])
                }
                let write = Task { try await server.send("PUT", "/classes/Song/\(id)", ["plays": .increment(1)]) }
                try await eventually { try await observer.waitingForLocks() == 2 }
                count.cancel()
                write.cancel()
                try await eventually { try await observer.waitingForLocks() == 1 }
            }
            try await eventually {
                try await server.send("GET", "/classes/Song/\(id)")["plays"] == 2
            }
            await observer.shutdown()
        }
    }

    @Test("A disconnected client's cancelled query logs no errors")
    func silence() async throws {
        try await TestServer.run(logger: UnwrittenLog.logger()) { server in
            _ = try await server.create("Song", ["plays": 1])
            let observer = PostgresClient(
                configuration: PostgresConfiguration(connectionString: server.databaseURI),
                logger: Logger(label: "test"))
            try await observer.transaction { session in
                _ = try await session.query("LOCK TABLE \"Song\" IN ACCESS EXCLUSIVE MODE")
                let count = Task {
                    try await server.find("Song", ["where": ["plays": ["$gt": 0]], "count": 1, "limit": 0])
                }
                try await eventually { try await observer.waitingForLocks() == 1 }
                count.cancel()
                try await eventually { try await observer.waitingForLocks() == 0 }
            }
            #expect(try await server.find("Song").results.count == 1)
            let errors = try await server.send("GET", "/scriptlog?level=error", as: .master)
            #expect(errors.json.arrayValue?.isEmpty == true, "\(errors.text)")
            await observer.shutdown()
        }
    }

    private func eventually(_ condition: () async throws -> Bool) async throws {
        for _ in 0..<1500 {
            if try await condition() { return }
            try await Task.sleep(for: .milliseconds(20))
        }
        Issue.record("it did not happen within half a minute")
    }
}

extension PostgresClient {
    fileprivate func waitingForLocks() async throws -> Int64? {
        try await query(
            """
            SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock' AND pid <> pg_backend_pid()
            """
        ).int(0, 0)
    }
}
