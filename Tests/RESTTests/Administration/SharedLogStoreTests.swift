import Foundation
import Logging
import Operations
import ParseModel
import ParseStorage
import Postgres
import TestSupport
import Testing

/// What waits until the database takes it.
@Suite("Lines on their way to the log of all processes")
struct SharedLogStoreTests {
    private static func ring() throws -> (ring: LogRing, shared: SharedLog, logger: Logger) {
        let ring = LogRing(sharedDays: 14)
        return (ring, try #require(ring.shared), ring.recording(UnwrittenLog.logger()))
    }

    /// Runs `body` while what waits is sent to a new database, and sends what is left.
    private static func whileSending(
        _ shared: SharedLog, _ body: @Sendable (_ uri: String) async throws -> Void
    ) async throws {
        try await TestServer.withDatabase { uri in
            var configuration = PostgresConfiguration(connectionString: uri)
            configuration.sharedConnections = 1
            let logger = TestServer.quietLogger
            let client = PostgresClient(configuration: configuration, logger: logger)
            try await client.start()
            let catalog = SchemaCatalog(client: client, senderId: "test", refusesMixedMembership: false, logger: logger)
            let store = ObjectStore(client: client, catalog: catalog, logger: logger)
            let sender = Task { await shared.run(store, logger) }
            let result: Result<Void, any Error>
            do {
                result = .success(try await body(uri))
            } catch {
                result = .failure(error)
            }
            sender.cancel()
            await sender.value
            await client.shutdown()
            try result.get()
        }
    }

    private static func stored(_ uri: String, _ condition: String = "true") async throws -> Int {
        let isThere = try await TestServer.texts("SELECT to_regclass('\"_roost_log\"')::text", on: uri)
        guard !isThere.isEmpty else { return 0 }
        let count = "SELECT count(*)::text FROM \"_roost_log\" WHERE \(condition)"
        return Int(try await TestServer.texts(count, on: uri).first ?? "") ?? 0
    }

    @Test("While nothing takes them ten thousand lines wait, and how many were left out is a line of its own")
    func bound() async throws {
        let (ring, shared, logger) = try Self.ring()
        for number in 0..<12_345 { logger.warning("line \(number)") }
        #expect(ring.count == 12_345)
        #expect(shared.waiting == 10_000)
        try await Self.whileSending(shared) { uri in
            let areStored = try await eventually(within: .seconds(60)) { try await Self.stored(uri) == 10_001 }
            #expect(areStored)
            #expect(shared.waiting == 0)
            let left = try await Self.stored(
                uri, "line::json->>'message' = 'log lines were left out' AND line::json->>'count' = '2345'")
            #expect(left == 1)
            let first = try await TestServer.texts(
                "SELECT line::json->>'message' FROM \"_roost_log\" ORDER BY \"id\" LIMIT 1", on: uri)
            #expect(first == ["line 0"])
            // It goes on as before.
            logger.warning("afterwards")
            let comes = try await eventually {
                try await Self.stored(uri, "line::json->>'message' = 'afterwards'") == 1
            }
            #expect(comes)
        }
    }

    @Test("Of more than a thousand lines a second warnings are kept, and each tenth of the others")
    func sampled() async throws {
        let (_, shared, logger) = try Self.ring()
        for number in 0..<3000 {
            logger.info("line \(number)")
            if number >= 2990 { logger.error("wrong \(number)") }
        }
        // A thousand, the 201 tenths of the 2,000 others, and the ten errors.
        #expect(shared.waiting == 1211)
        try await Self.whileSending(shared) { uri in
            let errors = try await eventually(within: .seconds(60)) { try await Self.stored(uri, "\"error\"") == 10 }
            #expect(errors)
            let counted = try await eventually { try await Self.stored(uri, "line::json->>'count' IS NOT NULL") == 1 }
            #expect(counted)
        }
    }

    @Test("A line of a day that there is no room for keeps no others from the database")
    func noRoom() async throws {
        let (_, shared, logger) = try Self.ring()
        // As of a machine that learns the time after its start.
        shared.add(
            LogRing.Line(
                number: 0, moment: ParseDate(milliseconds: 5000), level: .info, message: "early", metadata: [:]))
        logger.info("afterwards")
        try await Self.whileSending(shared) { uri in
            let areStored = try await eventually(within: .seconds(60)) { try await Self.stored(uri) == 2 }
            #expect(areStored)
            let time = try await TestServer.texts(
                "SELECT line::json->>'timestamp' FROM \"_roost_log\" WHERE line::json->>'message' = 'early'", on: uri)
            #expect(time == ["1970-01-01T00:00:05.000Z"])
        }
    }

    @Test("What the database does not take waits in its order, and a table that was removed is made anew")
    func removed() async throws {
        let (_, shared, logger) = try Self.ring()
        try await Self.whileSending(shared) { uri in
            logger.info("first")
            let isStored = try await eventually(within: .seconds(60)) { try await Self.stored(uri) == 1 }
            #expect(isStored)
            try await TestServer.execute("DROP TABLE \"_roost_log\"", on: uri)
            for number in 0..<5 { logger.info("line \(number)") }
            let areStored = try await eventually(within: .seconds(60)) {
                try await Self.stored(uri, "line::json->>'message' LIKE 'line %'") == 5
            }
            #expect(areStored)
            let lines = try await TestServer.texts(
                "SELECT line::json->>'message' FROM \"_roost_log\" ORDER BY \"id\"", on: uri)
            #expect(lines.filter { $0.hasPrefix("line ") } == (0..<5).map { "line \($0)" })
        }
    }
}
