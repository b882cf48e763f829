import JSON
import TestSupport
import Testing

/// Clients that disconnect before the response.
@Suite struct AbandonedRequestTests {
    private static let lock = "LOCK TABLE \"Song\" IN ACCESS EXCLUSIVE MODE"

    private static func waits(_ count: Int, _ server: TestServer) async throws -> Bool {
        try await eventually { try await server.texts(TestServer.lockWaits).count == count }
    }

    private static func countSongs(_ server: TestServer) -> Task<TestAnswer, any Error> {
        Task { try await server.find("Song", ["where": ["plays": ["$gt": 0]], "count": 1, "limit": 0]) }
    }

    @Test("Cancels a disconnected client's slow query in PostgreSQL but completes its write")
    func abandoned() async throws {
        try await TestServer.run { server in
            let id = try await server.create("Song", ["plays": 1])
            try await server.whileLocked(Self.lock) { () async throws in
                let count = Self.countSongs(server)
                let write = Task { try await server.send("PUT", "/classes/Song/\(id)", ["plays": .increment(1)]) }
                #expect(try await Self.waits(2, server))
                count.cancel()
                write.cancel()
                #expect(try await Self.waits(1, server))
            }
            #expect(try await eventually { try await server.send("GET", "/classes/Song/\(id)")["plays"] == 2 })
        }
    }

    @Test("A disconnected client's cancelled query logs no errors")
    func silence() async throws {
        try await TestServer.run(logger: UnwrittenLog.logger()) { server in
            _ = try await server.create("Song", ["plays": 1])
            try await server.whileLocked(Self.lock) { () async throws in
                let count = Self.countSongs(server)
                #expect(try await Self.waits(1, server))
                count.cancel()
                #expect(try await Self.waits(0, server))
            }
            #expect(try await server.find("Song").results.count == 1)
            let errors = try await server.send("GET", "/scriptlog?level=error", as: .master)
            #expect(errors.json.arrayValue?.isEmpty == true, "\(errors.text)")
        }
    }
}
