public import JSON

/// A missing index that would speed up queries.
public struct IndexAdvice: Sendable {
    struct Question: Sendable {
        let note: NoteTable.Note
        /// The share of the work that remains with the index, or nil if it can't be estimated.
        let rest: Double?

        private var latest: FindNotes.Figures { note.today.calls > 0 ? note.today : note.month }
        /// The estimated mean with the index, in milliseconds, or nil if it can't be estimated.
        var meanAfter: Double? { rest.map { max(1, latest.mean * $0) } }

        /// A description such as `Track by plays: 412 times today, 290 ms`.
        var words: String {
            var text = "\(note.shape.words): \(latest.calls == 1 ? "once" : "\(latest.calls) times") "
            text += note.today.calls > 0 ? "today" : "within 30 days"
            text += ", \(Int(latest.mean.rounded())) ms"
            if latest.timeouts > 0 { text += ", \(latest.timeouts) timed out" }
            return text
        }

        var json: JSONObject {
            var object: JSONObject = [
                "words": .string(note.shape.words), "callsToday": .number(Double(note.today.calls)),
                "calls": .number(Double(note.month.calls)), "meanMs": .number(latest.mean.rounded()),
                "longestMs": .number(note.month.longest.rounded()), "timeouts": .number(Double(note.month.timeouts)),
            ]
            if let meanAfter { object["afterMs"] = .number(meanAfter.rounded()) }
            return object
        }
    }

    let candidate: IndexCandidate
    /// The queries that the index would speed up, most expensive first.
    let questions: [Question]

    public var className: String { candidate.table.text }
    public var columns: [String] { candidate.keys.map(\.column.text) }
    public var name: String { candidate.name }
    /// The statement that builds the index without blocking writes.
    public var statement: String { candidate.statement }
    /// The milliseconds that the index would have saved in a month, without queries that can't be estimated.
    var saved: Double { questions.reduce(0) { $0 + $1.note.month.total * (1 - ($1.rest ?? 1)) } }

    /// A description of the most expensive query and of the index's effect on it.
    public var words: String {
        guard let first = questions.first else { return "" }
        let time = first.meanAfter.map { "about \(Int($0.rounded())) ms" } ?? "fast"
        var text = "\(first.words); \(time) with an index on \(columns.joined(separator: ", "))"
        let others = questions.count - 1
        if others > 0 { text += ", which also speeds up \(others) other \(others == 1 ? "query" : "queries")" }
        return text
    }

    /// The advice as JSON, for administrators.
    public var json: JSONObject {
        [
            "className": .string(className), "columns": .array(columns.map { .string($0) }), "name": .string(name),
            "statement": .string(statement), "why": .string(words), "savedMs": .number(saved.rounded()),
            "questions": .array(questions.map { .object($0.json) }),
        ]
    }
}
