import JSON
import LiveQuery
import Operations
import Testing

/// Changes of several processes that arrive out of order.
@Suite struct ChangeSequenceTests {
    private let start = ContinuousClock.now

    /// A change from one state of an object to the next.
    private static func change(
        _ number: Int64?, _ before: Int?, _ after: Int?, of className: String = "Note", id: String = "a"
    ) -> Change {
        func object(_ state: Int?) -> JSONObject? {
            state.map { ["objectId": .string(id), "state": .number(Double($0))] }
        }
        return Change(
            className: className, objectId: id, before: object(before), after: object(after), number: number)
    }

    /// The numbers of changes, with the state known to subscribers if it differs.
    private static func short(_ changes: [Change]) -> [String] {
        changes.map { change in
            let number = change.number.map { "\($0)" } ?? "-"
            switch change.known {
            case nil: return number
            case .earlier(let object): return "\(number) after \(object?["state"]?.text ?? "none")"
            case .later(let object): return "\(number) before \(object?["state"]?.text ?? "none")"
            }
        }
    }

    @Test("Delivers changes that arrive in order immediately")
    func inOrder() {
        var sequence = ChangeSequence()
        for number in 1...5 {
            let told = sequence.add(Self.change(Int64(number * 3), number - 1, number), mayBeLate: false, at: start)
            #expect(Self.short(told) == ["\(number * 3)"])
        }
        #expect(sequence.nextDeadline == nil)
    }

    @Test("Holds a change that arrives before its predecessor, for a limited time")
    func overtaking() {
        var sequence = ChangeSequence()
        _ = sequence.add(Self.change(1, 0, 1), mayBeLate: false, at: start)
        var told = sequence.add(Self.change(4, 3, 4), mayBeLate: true, at: start)
        told += sequence.add(Self.change(3, 2, 3), mayBeLate: true, at: start)
        #expect(told.isEmpty && sequence.nextDeadline == start + ChangeSequence.timeForMissing)
        #expect(Self.short(sequence.add(Self.change(2, 1, 2), mayBeLate: true, at: start)) == ["2", "3", "4"])
        #expect(sequence.nextDeadline == nil)
        #expect(sequence.add(Self.change(6, 5, 6), mayBeLate: true, at: start).isEmpty)
        #expect(sequence.removeOverdue(at: start + ChangeSequence.timeForMissing - .milliseconds(1)).isEmpty)
        #expect(Self.short(sequence.removeOverdue(at: start + ChangeSequence.timeForMissing)) == ["6 after 4"])
        #expect(sequence.add(Self.change(5, 4, 5), mayBeLate: true, at: start).isEmpty, "what came later is told")
    }

    @Test("Holds at most 10,000 changes and delivers each once")
    func mostHeld() {
        var sequence = ChangeSequence()
        var told = 0
        for number in 1...30_000 {
            let change = Self.change(Int64(number), 1, 2, id: "\(number)")
            told += sequence.add(change, mayBeLate: true, at: start).count
        }
        #expect(told == 20_000 && sequence.nextDeadline == start + ChangeSequence.timeForUnknown)
        told += sequence.removeOverdue(at: start + ChangeSequence.timeForUnknown).count
        #expect(told == 30_000 && sequence.nextDeadline == nil)
    }

    @Test("Holds the first change of an object if earlier ones may still arrive, then delivers in order")
    func unknown() {
        var sequence = ChangeSequence()
        #expect(sequence.add(Self.change(5, 4, 5), mayBeLate: true, at: start).isEmpty)
        #expect(sequence.add(Self.change(4, 3, 4), mayBeLate: true, at: start).isEmpty)
        #expect(Self.short(sequence.removeOverdue(at: start + ChangeSequence.timeForUnknown)) == ["4", "5"])
        // A change that arrives even later is delivered with the last known state, which decides whether it leads to a
        // leave event.
        #expect(Self.short(sequence.add(Self.change(3, 2, 3), mayBeLate: true, at: start)) == ["3 before 5"])
        _ = sequence.add(Self.change(6, 5, nil), mayBeLate: true, at: start)
        #expect(Self.short(sequence.add(Self.change(2, 1, 2), mayBeLate: true, at: start)) == ["2 before none"])
    }

    @Test("Forgets a class's state on request, and delivers changes without numbers immediately")
    func forgetting() {
        var sequence = ChangeSequence()
        _ = sequence.add(Self.change(5, 4, 5), mayBeLate: false, at: start)
        _ = sequence.add(Self.change(5, 4, 5, of: "Other"), mayBeLate: false, at: start)
        _ = sequence.add(Self.change(7, 6, 7), mayBeLate: false, at: start)
        sequence.forget("Note")
        #expect(sequence.removeOverdue(at: start + ChangeSequence.timeForMissing).isEmpty)
        #expect(Self.short(sequence.add(Self.change(3, 2, 3), mayBeLate: false, at: start)) == ["3"])
        let other = sequence.add(Self.change(3, 2, 3, of: "Other"), mayBeLate: false, at: start)
        #expect(Self.short(other) == ["3 before 5"])
        sequence.forget(nil)
        let again = sequence.add(Self.change(3, 2, 3, of: "Other"), mayBeLate: false, at: start)
        #expect(Self.short(again) == ["3"])
        #expect(Self.short(sequence.add(Self.change(nil, 1, 2), mayBeLate: true, at: start)) == ["-"])
    }
}
