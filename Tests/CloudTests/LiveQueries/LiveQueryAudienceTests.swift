import JSON
import Logging
import Synchronization
import TestSupport
import Testing

/// Changes without subscribers cost nothing, and new subscribers miss nothing.
@Suite struct LiveQueryAudienceTests {
    /// Records the statements that PostgreSQL reports.
    private final class Statements: Sendable {
        private let texts = Mutex<[String]>([])

        func add(_ text: String) { texts.withLock { $0.append(text) } }

        /// Returns whether objects of the class were read since the last call.
        func takeReads() -> Bool {
            texts.withLock { texts in
                defer { texts = [] }
                return texts.contains { $0.contains("FROM \"Note\"") }
            }
        }
    }

    private struct Handler: LogHandler {
        let statements: Statements
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.debug
        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            if let text = event.metadata?["message"].map({ "\($0)" }) { statements.add(text) }
        }
    }

    /// Makes PostgreSQL report every statement to the connection that sent it.
    private static let telling = """
        DO $$ BEGIN
            EXECUTE format('ALTER DATABASE %I SET log_statement = ''all''', current_database());
            EXECUTE format('ALTER DATABASE %I SET client_min_messages = ''log''', current_database());
        END $$
        """
    private static let options = TestServer.publishing("Note")

    /// Waits until a save reads no object for live queries.
    private static func isQuiet(_ server: TestServer, _ id: String, _ statements: Statements) async throws -> Bool {
        try await eventually(within: .seconds(90)) {
            _ = statements.takeReads()
            _ = try await server.send("PUT", "/classes/Note/\(id)", ["number": 1]).succeeded()
            return !statements.takeReads()
        }
    }

    @Test("A save without subscribers reads no object; with one in another process, its event is complete")
    func otherProcess() async throws {
        let statements = Statements()
        let logger = Logger(label: "statements") { _ in Handler(statements: statements) }
        try await TestServer.run(inPlaceOf: Self.telling, Self.options) { server in
            try await server.alongside(["liveQuery": ["classNames": ["Note"]]], logger: logger) { writer in
                let id = try await writer.create("Note", ["number": 0])
                #expect(try await Self.isQuiet(writer, id, statements))
                try await server.liveQuery { client in
                    try await client.connect()
                    try await client.subscribe(1, "Note")
                    // The first change after the subscription leads to an event.
                    _ = try await writer.send("PUT", "/classes/Note/\(id)", ["number": 2]).succeeded()
                    let update = try await client.next()
                    #expect(update["op"] == "update" && update["object"]?["number"] == 2, "\(update.text)")
                    #expect(update["original"]?["number"] == 1, "\(update.text)")
                    #expect(statements.takeReads(), "it was read, so that reads are noticed")
                    _ = try await writer.send("DELETE", "/classes/Note/\(id)").succeeded()
                    let deletion = try await client.next()
                    #expect(deletion["op"] == "delete", "\(deletion.text)")
                }
            }
        }
    }

    @Test(
        "A write that began before a subscription and completes much later closes the connection",
        arguments: ["PUT", "DELETE"])
    func overlapping(method: String) async throws {
        let statements = Statements()
        let logger = Logger(label: "statements") { _ in Handler(statements: statements) }
        try await TestServer.run(inPlaceOf: Self.telling, Self.options, logger: logger) { server in
            let id = try await server.create("Note", ["number": 0])
            #expect(try await Self.isQuiet(server, id, statements))
            try await server.liveQuery { client in
                try await client.connect()
                let write = try await Self.beginning(method, id, method == "PUT" ? ["number": 2] : nil, server) {
                    try await client.subscribe(1, "Note")
                }
                _ = try await write.value.succeeded()
                #expect(try await client.isClosed())
            }
        }
    }

    /// Sends a request that waits for a locked row, runs `body` meanwhile, and releases the row.
    private static func beginning<Ignored: Sendable>(
        _ method: String, _ id: String, _ body: JSONValue?, _ server: TestServer,
        _ meanwhile: @escaping @Sendable () async throws -> Ignored
    ) async throws -> Task<TestAnswer, any Error> {
        try await server.whileLocked(#"SELECT 1 FROM "Note" WHERE "objectId" = '\#(id)' FOR UPDATE"#) {
            let request = Task { try await server.send(method, "/classes/Note/\(id)", body) }
            #expect(try await server.waitsForLocks())
            _ = try await meanwhile()
            return request
        }
    }
}
