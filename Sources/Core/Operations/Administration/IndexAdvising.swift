public import JSON
import Logging
import ParseModel
import ParseStorage
import Postgres

/// `/index_advice`: the indexes that would help what was asked of the database, for administrators.
public struct IndexAdvising: Sendable {
    let backend: Backend
    private var client: PostgresClient { backend.store.client }

    /// The advice, what saves most first, and the indexes that no query used for a month. What other processes noted within
    /// the last minute may be missing.
    ///
    /// - Throws: 119 if `indexAdvice` is off.
    public func answer() async throws -> JSONObject {
        do {
            guard let advice = try await advice() else {
                throw ParseError(
                    ParseError.operationForbidden, "Index advice is off. Turn it on with the option indexAdvice.")
            }
            return ["results": .array(advice.map { .object($0.json) }), "unused": .array(try await unused())]
        } catch let error as PostgresError {
            throw backend.store.failure(error)
        }
    }

    /// The advice with the latest notes of this process, or nil if it is off; throws `PostgresError`.
    func advice() async throws -> [IndexAdvice]? {
        guard backend.configuration.indexAdvice != .off else { return nil }
        if !backend.configuration.readOnly { await write() }
        return try await IndexAdviser(client: client).advice()
    }

    func unused() async throws -> [JSONValue] {
        try await IndexUse(client: client).unused().map {
            [
                "name": .string($0.name), "className": .string($0.table), "bytes": .number(Double($0.bytes)),
                "days": .number(Double($0.days)),
            ]
        }
    }

    /// Writes the notes of this process about once a minute, and once more when the task is cancelled.
    public func run() async {
        guard backend.catalog.findNotes != nil else { return }
        var minute = 0
        while (try? await Task.sleep(for: .milliseconds(Int.random(in: 50_000...70_000)))) != nil {
            await write()
            defer { minute += 1 }
            if minute % 60 == 0 {
                await attempt { try await NoteTable(client: client).sweep() }
                // Replicas count for themselves which indexes are used.
                guard backend.configuration.replicas.isEmpty else { continue }
                await attempt { try await IndexUse(client: client).note() }
            }
        }
        // In a task of its own, as this one can't wait any more.
        await Task { await write() }.value
    }

    private func write() async {
        guard let notes = backend.catalog.findNotes else { return }
        let figures = notes.take()
        if !(await attempt { try await NoteTable(client: client).add(figures) }) { notes.add(figures) }
    }

    @discardableResult
    private func attempt(_ body: () async throws -> Void) async -> Bool {
        do {
            try await body()
            return true
        } catch {
            // The next minute brings another attempt.
            backend.logger.debug("index advice not stored", metadata: ["error": "\(error)"])
            return false
        }
    }
}
