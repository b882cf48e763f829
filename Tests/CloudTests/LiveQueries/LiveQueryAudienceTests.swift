import JSON
import TestSupport
import Testing

/// Changes without subscribers cost nothing, and new subscribers miss nothing.
@Suite struct LiveQueryAudienceTests {
    private static let options = TestServer.publishing("Note")

    /// Returns whether objects of the class were read since the last call.
    private static func readsNotes(_ statements: StatementLog) -> Bool {
        statements.take().contains { $0.contains("FROM \"Note\"") }
    }

    /// Waits until a save reads no object for live queries.
    private static func isQuiet(_ server: TestServer, _ id: String, _ statements: StatementLog) async throws -> Bool {
        try await eventually(within: .seconds(90)) {
            _ = statements.take()
            _ = try await server.send("PUT", "/classes/Note/\(id)", ["number": 1]).succeeded()
            return !readsNotes(statements)
        }
    }

    @Test("A save without subscribers reads no object; with one in another process, its event is complete")
    func otherProcess() async throws {
        let statements = StatementLog()
        try await TestServer.run(inPlaceOf: StatementLog.layout, Self.options) { server in
            try await server.alongside(["liveQuery": ["classNames": ["Note"]]], logger: statements.logger) { writer in
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
                    #expect(Self.readsNotes(statements), "it was read, so that reads are noticed")
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
        let statements = StatementLog()
        try await TestServer.run(inPlaceOf: StatementLog.layout, Self.options, logger: statements.logger) { server in
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
