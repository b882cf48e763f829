public import JSON

/// An index that is not there and would help.
public struct IndexAdvice: Sendable {
    /// A question that it helps.
    public struct Question: Sendable {
        let shape: StatementShape
        let today: FindNotes.Figures
        let month: FindNotes.Figures
        /// Which share of the work is left with the index; nil where it is not known.
        let rest: Double?

        /// The class.
        public var className: String { shape.table.text }
        /// Milliseconds on average.
        var mean: Double { (today.calls > 0 ? today : month).mean }
        /// Milliseconds with the index; nil where it is not known.
        var meanAfter: Double? { shape.isInner ? nil : rest.map { max(1, mean * $0) } }

        /// What was noted of it in words: `Track by plays: 412 times today, 290 ms`.
        public var words: String {
            let figures = today.calls > 0 ? today : month
            var text = "\(shape.words): \(figures.calls) times "
            text += today.calls > 0 ? "today" : "within 30 days"
            text += ", \(Int(mean.rounded())) ms"
            if figures.timeouts > 0 { text += ", \(figures.timeouts) of them stopped by the time limit" }
            return text
        }
    }

    let candidate: IndexCandidate
    /// The questions, the most costly first.
    public let questions: [Question]
    /// Whether PostgreSQL's planner was asked, and not only its statistics.
    public let isPlanned: Bool

    /// The class.
    public var className: String { candidate.table.text }
    /// The columns, in their order.
    public var columns: [String] { candidate.keys.map(\.column.text) }
    /// Whether it holds who may read a row besides, which no index of a class does.
    public var holdsReaders: Bool { candidate.holdsReaders }
    /// The name that the index gets.
    public var name: String { candidate.name }
    /// The statement that builds it beside other work.
    public var statement: String { candidate.statement }
    /// How many milliseconds of a month it would have saved.
    public var saved: Double { questions.reduce(0) { $0 + $1.month.total * (1 - ($1.rest ?? 1)) } }

    /// What was noted, and what the index would make of it.
    public var words: String {
        guard let first = questions.first else { return "" }
        var text = first.words
        if let after = first.meanAfter {
            text += "; an index on \(candidate.words) makes it \(isPlanned ? "" : "about ")\(Int(after.rounded())) ms"
        } else {
            text += "; an index on \(candidate.words) makes it quick"
        }
        if questions.count > 1 { text += ", and helps \(questions.count - 1) more questions" }
        return text
    }

    /// The advice for administrators.
    public var json: JSONObject {
        var object: JSONObject = [
            "className": .string(className), "columns": .array(columns.map { .string($0) }), "name": .string(name),
            "statement": .string(statement), "why": .string(words), "isPlanned": .bool(isPlanned),
            "savedMs": .number(saved.rounded()),
        ]
        object["questions"] = .array(
            questions.map { question in
                var object: JSONObject = [
                    "words": .string(question.shape.words), "callsToday": .number(Double(question.today.calls)),
                    "calls": .number(Double(question.month.calls)), "meanMs": .number(question.mean.rounded()),
                    "longestMs": .number(question.month.longest.rounded()),
                    "timeouts": .number(Double(question.month.timeouts)),
                ]
                if let after = question.meanAfter { object["afterMs"] = .number(after.rounded()) }
                return .object(object)
            })
        return object
    }
}
