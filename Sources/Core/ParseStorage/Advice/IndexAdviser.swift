import JSON
public import Postgres

/// Finds useful missing indexes from the recorded queries of all processes and PostgreSQL's statistics.
public struct IndexAdviser: Sendable {
    let client: PostgresClient

    public init(client: PostgresClient) { self.client = client }

    /// Returns the missing indexes, those that save the most time first.
    ///
    /// - Throws: `PostgresError`.
    public func advice() async throws -> [IndexAdvice] { try await advice(try await DatabaseFacts.read(client)) }

    /// Returns the missing indexes according to facts that are already read. Throws `PostgresError`.
    ///
    /// - Parameters:
    ///   - total: The total time in milliseconds that a query must have taken in a month, unless it timed out.
    ///   - calls: The minimum number of calls in a month, unless the query timed out.
    package func advice(_ facts: DatabaseFacts, total: Double = 500, calls: Int = 2) async throws -> [IndexAdvice] {
        let notes = try await NoteTable(client: client).all().filter { note in
            let month = note.month
            return month.timeouts > 0 || month.mean >= 50 && month.total >= total && month.calls >= calls
        }
        return Self.estimates(for: notes, facts)
    }

    /// Returns the indexes that help according to PostgreSQL's statistics. An index that is a prefix of another is
    /// merged into it.
    package static func estimates(for notes: [NoteTable.Note], _ facts: DatabaseFacts) -> [IndexAdvice] {
        let choice = IndexChoice(facts: facts)
        var notesOf: [IndexCandidate: [NoteTable.Note]] = [:]
        for note in notes {
            if let candidate = choice.candidate(for: note.shape) { notesOf[candidate, default: []].append(note) }
        }
        for candidate in notesOf.keys.sorted(by: { $0.keys.count < $1.keys.count }) {
            guard let larger = notesOf.keys.first(where: { candidate.isServed(by: $0) }) else { continue }
            notesOf[larger, default: []] += notesOf.removeValue(forKey: candidate) ?? []
        }
        return notesOf.map { candidate, notes in
            let questions = notes.sorted { $0.month.total > $1.month.total }.map {
                IndexAdvice.Question(note: $0, rest: choice.rest(of: $0.shape, with: candidate))
            }
            return IndexAdvice(candidate: candidate, questions: questions)
        }.sorted { ($0.saved, $1.name) > ($1.saved, $0.name) }
    }
}
