public import JSON
import Logging
import ParseModel
import ParseStorage
import Postgres

/// `/index_advice`: recommended indexes, for administrators.
public struct IndexAdvising: Sendable {
    let backend: Backend
    private var client: PostgresClient { backend.store.client }

    /// Returns index recommendations, largest saving first. Findings that other processes made within the last minute
    /// may be missing.
    ///
    /// - Throws: 119 if `indexAdvice` is off, or the error of the database.
    public func answer() async throws -> JSONObject {
        guard let advice = try await backend.store.convertingErrors(advice) else {
            throw ParseError(
                ParseError.operationForbidden, "Index advice is off. Turn it on with the option indexAdvice.")
        }
        return ["results": .array(advice.map { .object($0.json) })]
    }

    /// Returns the recommendations, or nil if `indexAdvice` is off. First stores the latest findings unless `readOnly`.
    ///
    /// - Throws: `PostgresError` if the database fails.
    package func advice() async throws -> [IndexAdvice]? {
        guard backend.configuration.indexAdvice != .off else { return nil }
        if !backend.configuration.readOnly { await write() }
        return try await IndexAdviser(client: client).advice()
    }

    /// Stores this process's findings about once a minute and on cancellation.
    public func run() async {
        guard backend.catalog.findNotes != nil else { return }
        var minute = 0
        while (try? await Task.sleep(for: .milliseconds(Int.random(in: 50_000...70_000)))) != nil {
            await write()
            if minute % 60 == 0 { await attempt { try await NoteTable(client: client).sweep() } }
            minute += 1
        }
        // In a separate task, since this one is cancelled.
        await Task { await write() }.value
    }

    private func write() async {
        guard let notes = backend.catalog.findNotes else { return }
        let figures = notes.drain()
        if !(await attempt { try await NoteTable(client: client).add(figures) }) { notes.add(figures) }
    }

    @discardableResult
    private func attempt(_ body: () async throws -> Void) async -> Bool {
        do {
            try await body()
            return true
        } catch {
            // Not a warning, because the next run retries.
            backend.logger.debug("index advice not stored", metadata: ["error": "\(error)"])
            return false
        }
    }
}
