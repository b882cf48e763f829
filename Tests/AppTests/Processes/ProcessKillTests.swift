import JSON
import TestSupport
import Testing

/// Three processes on one database. One is killed while clients write through all of them.
@Suite("Killing one of three processes", .serialized, .timeLimit(.minutes(10)))
struct ProcessKillTests {
    /// The rows sent through each process, and the responses.
    private actor Account {
        private(set) var sent: Set<String> = []
        private(set) var stored: [Set<String>]
        /// Errors of processes that were not killed.
        private(set) var failures: [String] = []
        private(set) var isFinished = false

        init(processes: Int) { stored = Array(repeating: [], count: processes) }

        func send(_ key: String) { sent.insert(key) }
        func store(_ key: String, by process: Int) { stored[process].insert(key) }
        func fail(_ reason: String) { failures.append(reason) }
        func finish() { isFinished = true }
    }

    /// Waits until each process has stored twenty further rows.
    private static func waitForProgress(_ account: Account) async throws {
        let goals = await account.stored.map { $0.count + 20 }
        let isReached = try await eventually(within: .seconds(120)) {
            let stored = await account.stored
            return zip(stored, goals).allSatisfy { $0.count >= $1 }
        }
        try #require(isReached)
    }

    /// Writes through one process until the test ends.
    private static func write(_ client: Int, by number: Int, of processes: ServerProcesses, _ account: Account) async {
        var sequence = 0
        while await !account.isFinished {
            sequence += 1
            let key = "\(number)-\(client)-\(sequence)"
            await account.send(key)
            let answer = try? await processes[number].send("POST", "/classes/Row", ["key": .string(key)])
            if answer?.status == 201 {
                await account.store(key, by: number)
            } else {
                if number != 1 { await account.fail("\(key): \(answer?.text ?? "no answer")") }
                try? await Task.sleep(for: .milliseconds(20))
            }
        }
    }

    @Test("Acknowledged rows exist exactly once, and requests to the other processes never fail")
    func killed() async throws {
        try await ServerProcesses.run(3) { processes in
            _ = try await processes[0].create("Row", ["key": "first"])
            let account = Account(processes: 3)
            try await withThrowingTaskGroup(of: Void.self) { clients in
                for number in 0..<3 {
                    for client in 0..<4 {
                        clients.addTask { await Self.write(client, by: number, of: processes, account) }
                    }
                }
                do {
                    try await Self.waitForProgress(account)
                    for _ in 1...3 {
                        try await processes.killAndStart(1)
                        try await Self.waitForProgress(account)
                    }
                } catch {
                    await account.finish()
                    throw error
                }
                await account.finish()
                try await clients.waitForAll()
            }
            let rows = try await processes[0].texts("SELECT key FROM \"Row\" WHERE key <> 'first'")
            let (stored, sent, failures) = (await account.stored, await account.sent, await account.failures)
            #expect(failures.isEmpty, "\(failures.prefix(3))")
            #expect(rows.count == Set(rows).count, "a row appears twice")
            #expect(Set(stored.joined()).isSubset(of: rows), "an acknowledged row is lost")
            #expect(Set(rows).isSubset(of: sent))
        }
    }
}
