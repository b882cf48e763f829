public import Logging
import Postgres

/// Writes what a process noted into the table of all processes.
public struct NoteKeeper: Sendable {
    private let notes: FindNotes
    private let table: NoteTable
    private let use: IndexUse?
    private let logger: Logger

    /// Makes a keeper.
    ///
    /// - Parameter hasReplicas: Whether other servers answer reads, and count for themselves which indexes are used.
    public init(_ notes: FindNotes, client: PostgresClient, hasReplicas: Bool, logger: Logger) {
        self.notes = notes
        use = hasReplicas ? nil : IndexUse(client: client)
        table = NoteTable(client: client)
        self.logger = logger
    }

    /// Writes the notes about once a minute, and once more when the task is cancelled.
    public func run() async {
        var minute = 0
        while (try? await Task.sleep(for: .milliseconds(Int.random(in: 50_000...70_000)))) != nil {
            await write()
            if minute % 60 == 0 {
                await attempt { try await table.sweep() }
                await attempt { try await use?.note() }
            }
            minute += 1
        }
        // In a task of its own, as this one cannot wait any more.
        await Task { await write() }.value
    }

    /// Writes what was noted since the last time.
    public func write() async {
        let figures = notes.take()
        guard !figures.isEmpty else { return }
        if !(await attempt { try await table.add(figures) }) { notes.add(figures) }
    }

    @discardableResult
    private func attempt(_ body: () async throws -> Void) async -> Bool {
        do {
            try await body()
            return true
        } catch {
            // The next minute brings another attempt.
            logger.debug("notes for advice on indexes are not written", metadata: ["error": "\(error)"])
            return false
        }
    }
}
