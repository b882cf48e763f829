import Postgres
import Testing

@Suite("Responses to a sent request, without a server")
struct SendingTests {
    /// A sent message.
    enum Part: Sendable { case preparation, statement, leading, endOfMember }

    /// A received response.
    enum Answer: Sendable {
        case result, skip
        case failure(String)
    }

    /// Sent messages, received responses, and the expected outcome.
    struct Course: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var parts: [Part] = []
        var answers: [Answer]
        /// For each response, whether it is a result for the caller.
        var kept: [Bool]
        var outcome = "good"
        var unprepared = 0
        var failedMember: Int?
    }

    private static let members: [Part] = [
        .statement, .statement, .endOfMember, .preparation, .statement, .endOfMember, .statement, .endOfMember,
    ]

    private static let courses = [
        Course(
            testDescription: "two statements", parts: [.statement, .statement], answers: [.result, .result],
            kept: [true, true]),
        Course(
            testDescription: "a statement with its preparation", parts: [.preparation, .statement],
            answers: [.result, .result], kept: [false, true]),
        Course(
            testDescription: "statements that begin a transaction come first, prepared or not",
            parts: [.preparation, .leading, .leading, .preparation, .statement, .statement],
            answers: Array(repeating: .result, count: 6), kept: [false, false, false, false, true, true]),
        Course(
            testDescription: "a script with an unknown number of results", answers: [.result, .result],
            kept: [false, false]),
        Course(
            testDescription: "a preparation that fails", parts: [.preparation, .statement],
            answers: [.failure("42601"), .skip], kept: [false, false], outcome: "42601 after 0", unprepared: 1),
        Course(
            testDescription: "a statement that fails, and those that the server skips after it",
            parts: [.preparation, .statement, .preparation, .statement],
            answers: [.result, .failure("23505"), .skip, .skip], kept: [false, false, false, false],
            outcome: "23505 after 1", unprepared: 1),
        Course(
            testDescription: "an error at commit", parts: [.statement],
            answers: [.result, .failure("40001")], kept: [true, false], outcome: "40001 after 1"),
        Course(
            testDescription: "the first of two errors counts", parts: [.statement, .statement],
            answers: [.failure("23505"), .failure("57014")], kept: [false, false], outcome: "23505 after 0"),
        Course(
            testDescription: "a request that is skipped because of another's error",
            parts: [.preparation, .statement], answers: [.skip, .skip], kept: [false, false], outcome: "skipped",
            unprepared: 1),
        Course(
            testDescription: "an error after a skipped statement isn't the request's own",
            parts: [.statement, .statement],
            answers: [.skip, .failure("57014")], kept: [false, false], outcome: "skipped"),
        Course(
            testDescription: "the first member's second statement fails", parts: members,
            answers: [.result, .failure("23505")], kept: [true, false], outcome: "23505 after 1", unprepared: 1,
            failedMember: 0),
        Course(
            testDescription: "the second member's preparation fails", parts: members,
            answers: [.result, .result, .failure("42601")], kept: [true, true, false], outcome: "42601 after 2",
            unprepared: 1, failedMember: 1),
        Course(
            testDescription: "the last member fails", parts: members,
            answers: [.result, .result, .result, .result, .failure("23505")],
            kept: [true, true, false, true, false], outcome: "23505 after 4", failedMember: 2),
        Course(
            testDescription: "the shared transaction fails at commit", parts: members,
            answers: [.result, .result, .result, .result, .result, .failure("23505")],
            kept: [true, true, false, true, true, false], outcome: "23505 after 5"),
    ]

    private static func sending(_ parts: [Part], end: Sending.End = .ownSync) -> Sending {
        var sending = Sending(sequence: 1, end: end)
        var cache = StatementCache(limit: 100)
        for (number, part) in parts.enumerated() {
            switch part {
            case .preparation:
                let key = StatementKey(sql: "SELECT \(number)", slots: [])
                sending.addPreparation(of: cache.insert(key, sequence: 1))
            case .statement: sending.addStatement()
            case .leading: sending.addStatement(isCallers: false)
            case .endOfMember: sending.endMember()
            }
        }
        return sending
    }

    /// Processes a response. Returns whether it is a result for the caller.
    private static func take(_ answer: Answer, _ sending: inout Sending) -> Bool {
        switch answer {
        case .result: return sending.receiveResult()
        case .skip: sending.receiveFailure(nil)
        case .failure(let state): sending.receiveFailure(PostgresError(.server, "it failed", sqlState: state))
        }
        return false
    }

    private static func text(_ outcome: Sending.Outcome) -> String {
        switch outcome {
        case .good: "good"
        case .skipped: "skipped"
        case .failed(let error, let place): "\(error.sqlState) after \(place)"
        }
    }

    @Test("Returns only the caller's results, and attributes errors to their statement and member", arguments: courses)
    func answers(course: Course) {
        var sending = Self.sending(course.parts)
        let kept = course.answers.map { Self.take($0, &sending) }
        #expect(kept == course.kept)
        #expect(Self.text(sending.outcome) == course.outcome)
        #expect(sending.preparations.count == course.unprepared)
        #expect(sending.failedMember == course.failedMember)
        let isFailed = course.outcome != "good" && course.outcome != "skipped"
        #expect((sending.error != nil) == isFailed)
    }

    @Test("Without a sync, a request ends with its last response; with one, it waits for the sync")
    func ends() {
        for answer in [Answer.result, .skip, .failure("23505")] {
            for end in [Sending.End.ownSync, .lastResult, .sharedSync] {
                var sending = Self.sending([.preparation, .statement], end: end)
                var isOver = [sending.isOver]
                for answer in [.result, answer] {
                    _ = Self.take(answer, &sending)
                    isOver.append(sending.isOver)
                }
                #expect(isOver == [false, false, end == .lastResult])
            }
        }
    }

    @Test("The last request of a batch gets the shared sync; a request with its own sync keeps it")
    func syncs() {
        let ends = [Sending.End.ownSync, .lastResult, .sharedSync].map { end in
            var sending = Self.sending([.statement], end: end)
            sending.addSync()
            return sending.end
        }
        #expect(ends == [.ownSync, .sharedSync, .sharedSync])
    }
}
