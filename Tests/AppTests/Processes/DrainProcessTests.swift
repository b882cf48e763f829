import Foundation
import JSON
import TestSupport
import Testing

@Suite("Draining one of two processes", .serialized, .timeLimit(.minutes(5)))
struct DrainProcessTests {
    private static let options: JSONObject = [
        "drainTime": 4, "liveQuery": ["classNames": ["Song"]], "startLiveQueryServer": true,
    ]

    @Test("A live-query client receives events while its process drains; then its connection is closed")
    func liveQueries() async throws {
        try await ServerProcesses.run(2, Self.options) { processes in
            _ = try await processes[0].create("Song", ["title": "before"])
            try await processes[0].liveQuery { client in
                try await client.connect()
                try await client.subscribe(1, "Song")
                kill(processes.identifiers[0], SIGTERM)
                let drains = try await eventually {
                    try await processes[0].send("GET", "/health", as: .nobody).status == 503
                }
                #expect(drains)
                // At least two seconds of the drain are left.
                _ = try await processes[1].create("Song", ["title": "after"])
                let event = try await client.next()
                #expect(event["op"] == "create")
                #expect(event["object"]?["title"] == "after")
                // New clients are rejected.
                await #expect(throws: (any Error).self) { try await processes[0].liveQuery { _ in } }
                #expect(try await client.isClosed())
            }
        }
    }
}
