import Foundation
import JSON
import TestSupport
import Testing

/// Acknowledged writes survive any crash.
@Suite("Crashes of Roost and its PostgreSQL", .serialized, .timeLimit(.minutes(10)))
struct CrashTests {
    @Test("Every acknowledged row exists exactly once after three kills of Roost and one of PostgreSQL")
    func killsLoseNothing() async throws {
        try await CrashServer.run { server in
            try await server.start()
            let writers = CrashWriters()
            try await Self.during(writers, clients: 16, server) {
                for _ in 1...3 {
                    try await writers.waitForProgress(rows: 50, within: .seconds(20))
                    let end = try await server.end(by: SIGKILL)
                    #expect(end == .signal(SIGKILL))
                    try await server.start()
                }
                try await writers.waitForProgress(rows: 50, within: .seconds(20))
                let postmaster = server.postmaster
                try server.killPostgres()
                // Responses in transit may still arrive, but not as many as these.
                try await writers.waitForProgress(rows: 100, within: .seconds(30))
                #expect(server.postmaster != postmaster)
            }
            try await Self.expectAll(of: writers, on: server)
            #expect(await server.isHealthy)
            let end = try await server.end(by: SIGTERM)
            #expect(end == .exit(status: 0))
        }
    }

    @Test("SIGTERM lets running requests finish, stops PostgreSQL, and exits with status 0")
    func terminationIsGraceful() async throws {
        try await CrashServer.run { server in
            try await server.start()
            let writers = CrashWriters()
            try await Self.during(writers, clients: 16, server) {
                try await writers.waitForProgress(rows: 50, within: .seconds(20))
                let end = try await server.end(by: SIGTERM)
                #expect(end == .exit(status: 0))
            }
            #expect(server.postmaster == nil, "PostgreSQL is stopped with Roost")
            try await server.start()
            try await Self.expectAll(of: writers, on: server)
            try await server.end(by: SIGTERM)
            #expect(server.postmaster == nil)
        }
    }

    @Test("An index build interrupted by a kill leaves nothing behind, and the next attempt succeeds")
    func killedIndexBuild() async throws {
        try await ServerProcesses.run(1) { processes in
            let server = processes[0]
            let fields: JSONValue = ["fields": ["title": ["type": "String"]]]
            let change: JSONValue = ["indexes": ["byTitle": ["title": 1]]]
            _ = try await server.send("POST", "/schemas/Song", fields, as: .master).succeeded()
            try await server.execute(
                """
                INSERT INTO "Song" ("objectId", title)
                SELECT 'o' || n, repeat(md5(n::text), 3) FROM generate_series(1, 40000) n
                """)
            let halfBuilt = """
                SELECT indisvalid::text FROM pg_index JOIN pg_class ON oid = indexrelid
                WHERE starts_with(relname, 'roost_building:')
                """
            let building = """
                SELECT state::text FROM pg_stat_activity
                WHERE datname = current_database() AND state = 'active' AND query LIKE 'CREATE INDEX CONCURRENTLY%'
                """
            // PostgreSQL builds the index when all writers of the table are done.
            try await server.whileLocked("LOCK TABLE \"Song\" IN ROW EXCLUSIVE MODE") {
                async let cutOff = try? server.send("PUT", "/schemas/Song", change, as: .master)
                let builds = try await eventually { try await server.texts(halfBuilt) == ["false"] }
                #expect(builds)
                try await processes.killAndStart(0)
                #expect(await cutOff?.status != 200)
                // The session ends with its process, although the lock it waits for is still held.
                let isGivenUp = try await eventually(within: .seconds(60)) { try await server.texts(building) == [] }
                #expect(isGivenUp)
            }
            let isClean = try await eventually(within: .seconds(60)) { try await server.texts(halfBuilt) == [] }
            #expect(isClean)
            let serves = try await eventually(within: .seconds(60)) {
                (try? await server.send("GET", "/health", as: .nobody))?.status == 200
            }
            #expect(serves)
            _ = try await server.send("PUT", "/schemas/Song", change, as: .master).succeeded()
            let made = try await server.texts(
                "SELECT indisvalid::text FROM pg_index WHERE indexrelid = to_regclass('\"byTitle\"')")
            #expect(made == ["true"])
            #expect(try await server.texts(halfBuilt) == [])
        }
    }

    private static func during(
        _ writers: CrashWriters, clients: Int, _ server: CrashServer, _ body: @Sendable () async throws -> Void
    ) async throws {
        async let writing: Void = writers.run(clients: clients, server: server)
        do {
            try await body()
        } catch {
            await writers.finish()
            await writing
            throw CrashServer.Failure(description: "\(error)\n\(server.output)")
        }
        await writers.finish()
        await writing
    }

    /// Checks that every acknowledged row exists exactly once, and that all rows were sent by a client.
    private static func expectAll(of writers: CrashWriters, on server: CrashServer) async throws {
        let answer = try await server.send("GET", "/classes/\(CrashWriters.className)?limit=1000000&keys=key")
        #expect(answer.status == 200)
        let rows = (answer.body["results"]?.arrayValue ?? []).compactMap { $0["key"]?.stringValue }
        let stored = Set(rows)
        let acknowledged = await writers.acknowledged
        let sent = await writers.sent
        let refusals = await writers.refusals
        #expect(rows.count == stored.count, "a row appears twice")
        #expect(acknowledged.subtracting(stored).isEmpty, "an acknowledged row is lost")
        #expect(stored.isSubset(of: sent), "a row is there that nobody sent")
        #expect(refusals.isEmpty)
        print("crashes: \(sent.count) rows sent, \(acknowledged.count) acknowledged, \(rows.count) stored")
    }
}
