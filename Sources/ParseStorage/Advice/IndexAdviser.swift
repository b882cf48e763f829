import JSON
public import Postgres

/// Says which indexes would help, by what the processes of a database noted.
public struct IndexAdviser: Sendable {
    /// What is worth a word.
    public struct Threshold: Sendable {
        /// From how many milliseconds on average a question is slow.
        public var mean: Double
        /// How many milliseconds it must have taken in all within a month.
        public var total: Double
        /// How many times it must have been asked.
        public var calls: Int

        /// What is worth a line of advice.
        public static let reporting = Threshold(mean: 50, total: 500, calls: 2)
        /// What is worth an index that no operator asked for.
        public static let building = Threshold(mean: 50, total: 10_000, calls: 20)
    }

    /// What was found out.
    public struct Report: Sendable {
        /// Indexes that would help, what saves most first.
        public var advice: [IndexAdvice] = []
        /// Questions that ran into the time limit and that no index helps.
        public var hopeless: [IndexAdvice.Question] = []
        /// Indexes that no query used for a month.
        public var unused: [UnusedIndex] = []
    }

    let client: PostgresClient

    /// Makes an adviser for a database.
    public init(client: PostgresClient) { self.client = client }

    /// Looks at the notes, as the database is now.
    ///
    /// - Throws: `PostgresError`.
    public func report(_ threshold: Threshold = .reporting) async throws -> Report {
        try await report(threshold, try await DatabaseFacts.read(client))
    }

    func report(_ threshold: Threshold, _ facts: DatabaseFacts) async throws -> Report {
        let notes = try await NoteTable(client: client).all().filter {
            $0.month.timeouts > 0
                || ($0.month.mean >= threshold.mean && $0.month.total >= threshold.total
                    && $0.month.calls >= threshold.calls)
        }
        var report = Report(unused: try await IndexUse(client: client).unused())
        guard !notes.isEmpty else { return report }
        report.advice = try await advice(for: notes, facts)
        let helped = Set(report.advice.flatMap(\.questions).map(\.shape))
        report.hopeless = notes.filter { note in
            note.month.timeouts > 0 && !note.shape.isInner && facts.tables[note.shape.table] != nil
                && !helped.contains(note.shape)
        }.map { IndexAdvice.Question(shape: $0.shape, today: $0.today, month: $0.month, rest: nil) }
        return report
    }

    /// The indexes that help with what was noted.
    func advice(for notes: [NoteTable.Note], _ facts: DatabaseFacts) async throws -> [IndexAdvice] {
        try await planned(Self.estimates(for: notes, facts), facts)
    }

    /// The indexes that help by the statistics, those left out that begin others.
    package static func estimates(for notes: [NoteTable.Note], _ facts: DatabaseFacts) -> [IndexAdvice] {
        let choice = IndexChoice(facts: facts)
        var notesOf: [IndexCandidate: [NoteTable.Note]] = [:]
        for note in notes {
            if let chosen = choice.choice(for: note.shape) { notesOf[chosen.candidate, default: []].append(note) }
        }
        for candidate in notesOf.keys.sorted(by: { $0.keys.count < $1.keys.count }) {
            guard let larger = notesOf.keys.first(where: { candidate.isServed(by: $0) }) else { continue }
            notesOf[larger, default: []] += notesOf.removeValue(forKey: candidate) ?? []
        }
        return notesOf.map { candidate, notes in
            let questions = notes.sorted { $0.month.total > $1.month.total }.map { note in
                IndexAdvice.Question(
                    shape: note.shape, today: note.today, month: note.month,
                    rest: facts.tables[candidate.table]?.estimatedRows == nil
                        ? nil : choice.rest(of: note.shape, with: candidate))
            }
            return IndexAdvice(candidate: candidate, questions: questions, isPlanned: false)
        }.sorted { ($0.saved, $1.name) > ($1.saved, $0.name) }
    }

    /// The largest share of the cost that may be left with an index.
    private static let largestRest = 0.5

    /// What the planner says of them, where it can suppose indexes.
    private func planned(_ advice: [IndexAdvice], _ facts: DatabaseFacts) async throws -> [IndexAdvice] {
        guard !advice.isEmpty, client.hasSessions else { return advice }
        return try await client.exclusively { session in
            guard let suppositions = try await PlannedCost.suppositions(session) else { return advice }
            let planner = PlannedCost(session: session, facts: facts)
            var planned: [IndexAdvice] = []
            for item in advice {
                do {
                    let rests = try await planner.rests(
                        of: item.questions.map(\.shape), with: item.candidate, by: suppositions)
                    let judged = item.judged(by: rests)
                    if judged.questions.contains(where: { $0.rest ?? 0 <= Self.largestRest }) { planned.append(judged) }
                } catch let error as PostgresError where error.kind == .server {
                    // A class that went meanwhile.
                    planned.append(item)
                }
            }
            return planned.sorted { $0.saved > $1.saved }
        }
    }
}

extension IndexAdvice {
    /// The advice with what the planner says, where it says something.
    func judged(by rests: [Double?]) -> IndexAdvice {
        guard rests.contains(where: { $0 != nil }) else { return self }
        let questions = zip(questions, rests).map { question, rest in
            Question(
                shape: question.shape, today: question.today, month: question.month, rest: rest ?? question.rest)
        }
        return IndexAdvice(candidate: candidate, questions: questions, isPlanned: true)
    }
}
