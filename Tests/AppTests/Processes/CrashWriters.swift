import Foundation
import JSON

/// Concurrent clients that write rows and record the responses.
actor CrashWriters {
    static let className = "CrashRow"

    /// The keys that were acknowledged with 201.
    private(set) var acknowledged: Set<String> = []
    /// All keys that were sent.
    private(set) var sent: Set<String> = []
    /// Responses with a client error, which the clients didn't cause.
    private(set) var refusals: [String] = []
    private var isFinished = false

    func run(clients: Int, server: CrashServer) async {
        await withTaskGroup(of: Void.self) { group in
            for client in 0..<clients {
                group.addTask { await self.write(client, server) }
            }
        }
    }

    /// Stops all clients after their current request.
    func finish() { isFinished = true }

    /// Waits until this many further rows are acknowledged.
    ///
    /// - Throws: `CrashServer.Failure` on a time-out.
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
                // Without a response, the row may or may not exist, and is not sent again.
                try? await Task.sleep(for: .milliseconds(20))
            }
        }
    }
}
