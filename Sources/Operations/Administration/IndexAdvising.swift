public import JSON
import Logging
import ParseModel
import ParseStorage
import Postgres

/// `/index_advice`: which indexes would help what was asked of the database, for administrators.
public struct IndexAdvising: Sendable {
    let backend: Backend

    /// The advice, what saves most first, and the questions that ran into the time limit and that no index helps, and
    /// indexes that no query used for a month.
    ///
    /// What other processes noted within the last minute may be missing.
    ///
    /// - Throws: 119 where nothing is noted.
    public func answer() async throws -> JSONObject {
        do {
            guard let report = try await report() else {
                throw ParseError(ParseError.operationForbidden, "Advice on indexes is off (option indexAdvice).")
            }
            return [
                "results": .array(report.advice.map { .object($0.json) }),
                "unused": .array(
                    report.unused.map {
                        [
                            "name": .string($0.name), "className": .string($0.table),
                            "bytes": .number(Double($0.bytes)),
                            "days": .number(Double($0.days)),
                        ]
                    }),
                "stopped": .array(
                    report.hopeless.map { ["className": .string($0.className), "why": .string($0.words)] }),
            ]
        } catch let error as PostgresError {
            throw backend.store.failure(error)
        }
    }

    /// What was found out, with what this process noted last; nil where nothing is noted; throws `PostgresError`.
    func report() async throws -> IndexAdviser.Report? {
        guard backend.configuration.indexAdvice != .off else { return nil }
        if !backend.configuration.readOnly { await keeper?.write() }
        return try await IndexAdviser(client: backend.store.client).report()
    }

    /// What writes the notes of this process; nil where none are taken.
    private var keeper: NoteKeeper? {
        backend.catalog.findNotes.map {
            NoteKeeper(
                $0, client: backend.store.client, hasReplicas: !backend.configuration.replicas.isEmpty,
                logger: backend.logger)
        }
    }

    /// Writes notes until the task is cancelled.
    public func run() async { await keeper?.run() }
}
