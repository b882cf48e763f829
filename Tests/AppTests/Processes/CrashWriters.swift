import Foundation
import JSON

/// Clients that write rows side by side, and what the server told them about each.
actor CrashWriters {
    /// The class of the rows.
    static let className = "CrashRow"

    /// The keys that were answered with 201.
    private(set) var acknowledged: Set<String> = []
    /// The keys that were sent, whatever came of them.
    private(set) var sent: Set<String> = []
    /// Answers that say the client was wrong, which it was not.
    private(set) var refusals: [String] = []
    private var isFinished = false

    /// Lets clients write until ``finish()`` is called.
    func run(clients: Int, server: CrashServer) async {
        await withTaskGroup(of: Void.self) { group in
            for client in 0..<clients {
                group.addTask { await self.write(client, server) }
            }
        }
    }

    /// Tells all clients to stop after the request that they wait for.
    func finish() { isFinished = true }

    /// Waits until more rows are acknowledged than were.
    ///
    /// - Throws: `CrashServer.Failure` when none is for a while.
    func waitForProgress(rows: Int, within limit: Duration) async throws {
        let goal = acknowledged.count + rows
        let deadline = ContinuousClock.now + limit
        while acknowledged.count < goal {
            guard ContinuousClock.now < deadline else {
                throw CrashServer.Failure(
                    description: "\(acknowledged.count) rows were acknowledged, \(goal) were expected")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private func write(_ client: Int, _ server: CrashServer) async {
        var sequence = 0
        while !isFinished {
            sequence += 1
            let key = "\(client)-\(sequence)"
            sent.insert(key)
            let row: JSONValue = [
                "client": .number(Double(client)), "sequence": .number(Double(sequence)), "key": .string(key),
            ]
            do {
                let answer = try await server.send("POST", "/classes/\(Self.className)", row)
                switch answer.status {
                case 201: acknowledged.insert(key)
                case 500...: try? await Task.sleep(for: .milliseconds(20))
                default: refusals.append("\(key): \(answer.status) \(answer.body)")
                }
            } catch {
                // No answer: the row may be there or not, and is never sent again.
                try? await Task.sleep(for: .milliseconds(20))
            }
        }
    }
}
