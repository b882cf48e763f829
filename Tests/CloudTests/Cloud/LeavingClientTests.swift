import JSON
import Logging
import Postgres
import TestSupport
import Testing

/// Calls whose clients disconnect or whose objects are locked.
@Suite struct LeavingClientTests {
    @Test(
        "A save completes even if its client disconnects during the trigger, and frees the call's slot"
    )
    func saves() async throws {
        let hasLeft = Latch()
        try await WebhookServer.run { hooks in
            try await TestServer.run(["webhookConnections": 1]) { server in
                try await hooks.trigger("beforeSave", "Song", on: server) { call in
                    await hasLeft.wait()
                    return .success(["a": call["object"]?["a"] ?? .null, "checked": true])
                }
                try await hooks.trigger("afterSave", "Song", on: server) { _ in .nothing }
                let leaving = Task { try await server.send("POST", "/classes/Song", ["a": 1]) }
                #expect(try await eventually { hooks.calls.count == 1 })
                leaving.cancel()
                await #expect(throws: (any Error).self) { try await leaving.value }
                // Gives the server time to notice.
                try await Task.sleep(for: .milliseconds(100))
                hasLeft.open()
                #expect(try await eventually { try await server.find("Song").results.first?["checked"] == true })
                #expect(try await eventually { hooks.calls("Song.afterSave").count == 1 })
                #expect(try await server.send("POST", "/classes/Song", ["a": 2])["checked"] == true)
            }
        }
    }

    @Test(
        "Waiting function calls end when their clients disconnect, so later calls get through"
    )
    func functions() async throws {
        try await WebhookServer.run { hooks in
            try await TestServer.run(["webhookConnections": 5, "webhookTimeout": 10_000]) { server in
                try await hooks.function("slow", on: server) { _ in .silence }
                try await hooks.function("quick", on: server) { _ in .success(1) }
                // A sender may use at most three quarters of the slots, so four of five.
                let clients = (0..<50).map { _ in Task { try await server.send("POST", "/functions/slow", [:]) } }
                #expect(try await eventually { hooks.calls("slow").count >= 4 })
                for client in clients { client.cancel() }
                for client in clients { _ = try? await client.value }
                #expect(try await eventually { try await server.send("POST", "/functions/quick", [:])["result"] == 1 })
                // Waiting calls ended with their clients. At most four more may have started before.
                let leavers = hooks.calls("slow").count
                #expect(leavers <= 8)
            }
        }
    }

    @Test(
        "Changes to a locked row fail after lockTimeout without delaying others or being half applied"
    )
    func lockedRows() async throws {
        try await WebhookServer.run { hooks in
            try await TestServer.run(["lockTimeout": 1000]) { server in
                let id = try await server.create("Song", ["a": 1])
                for event in ["beforeSave", "afterSave", "beforeDelete"] {
                    try await hooks.trigger(event, "Song", on: server) { _ in .nothing }
                }
                let other = PostgresClient(
                    configuration: PostgresConfiguration(connectionString: server.databaseURI),
                    logger: Logger(label: "test"))
                try await other.transaction(purpose: .administration) { session in
                    _ = try await session.query("SELECT 1 FROM \"Song\" WHERE \"objectId\" = '\(id)' FOR UPDATE")
                    async let update = server.send("PUT", "/classes/Song/\(id)", ["a": 2])
                    async let deletion = server.send("DELETE", "/classes/Song/\(id)")
                    #expect(try await server.send("POST", "/classes/Song", ["a": 3]).status == 201)
                    let answers = try await [update, deletion]
                    #expect(answers.allSatisfy { $0.code != nil && $0.status >= 400 }, "\(answers.map(\.text))")
                    #expect(answers.allSatisfy { $0.status != 500 || $0.code == 1 }, "\(answers.map(\.text))")
                }
                await other.shutdown()
                // A rejected request makes no partial changes.
                #expect(try await server.send("GET", "/classes/Song/\(id)")["a"] == 1)
                #expect(hooks.calls("Song.afterSave").count == 1)
                #expect(try await server.send("PUT", "/classes/Song/\(id)", ["a": 4]).status == 200)
            }
        }
    }
}
