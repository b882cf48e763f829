import Testing

@testable import Postgres

@Suite("Notifications")
struct NotificationTests {
    @Test("reach those who listen to their channel, in order", .timeLimit(.minutes(1)))
    func delivery() async throws {
        try await TestDatabase.withClient { client, _ async throws in
            var events = client.listen(channels: ["plain", "With \"quotes\""]).makeAsyncIterator()
            guard case .connected = await events.next() else {
                Issue.record("the first event must say that the connection stands")
                return
            }
            try await client.notify(channel: "elsewhere", payload: "unheard")
            try await client.notify(channel: "plain", payload: "first")
            try await client.notify(channel: "With \"quotes\"", payload: "zweite ü")
            var heard: [String] = []
            while heard.count < 2, let event = await events.next() {
                if case .notification(let channel, let payload) = event { heard.append("\(channel): \(payload)") }
            }
            #expect(heard == ["plain: first", "With \"quotes\": zweite ü"])
        }
    }

    @Test("are heard again after the connection was broken", .timeLimit(.minutes(1)))
    func reconnection() async throws {
        try await TestDatabase.withClient { client, database async throws in
            var events = client.listen(channels: ["c"]).makeAsyncIterator()
            var seen: [String] = []
            for round in 0..<3 {
                while let event = await events.next() {
                    if case .connected = event {
                        seen.append("connected")
                        break
                    }
                    if case .disconnected = event { seen.append("disconnected") }
                }
                _ = try await client.query("SELECT pg_notify('c', '\(round)')", readOnly: true)
                while let event = await events.next() {
                    guard case .notification(_, let payload) = event else { continue }
                    seen.append(payload)
                    break
                }
                try await database.terminateConnections()
            }
            let lost = ["disconnected", "connected"]
            #expect(seen == ["connected", "0"] + lost + ["1"] + lost + ["2"])
        }
    }

    @Test("end with the stream: the connection is closed", .timeLimit(.minutes(1)))
    func end() async throws {
        try await TestDatabase.withClient { client, _ async throws in
            let before = client.statistics.connections
            let task = Task {
                for await event in client.listen(channels: ["c"]) {
                    if case .connected = event { return }
                }
            }
            await task.value
            let isClosed = try await eventually { client.statistics.connections == max(before, 2) }
            #expect(isClosed)
        }
    }
}
