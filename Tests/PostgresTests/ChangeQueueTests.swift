import Testing

@testable import Postgres

@Suite("The queue of changes that share a transaction")
struct ChangeQueueTests {
    private static func queue(of count: Int) -> ChangeQueue {
        var queue = ChangeQueue()
        for _ in 0..<count { queue.append(Request(internal: [])) }
        return queue
    }

    @Test(
        "After a transaction its callers are waited for while most are away, if there are enough",
        arguments: [
            (members: 16, waiting: 0, expected: true), (16, 9, true), (16, 16, true), (16, 20, false), (16, 27, false),
            (12, 0, true), (11, 0, false), (4, 4, false), (32, 19, true), (32, 20, false), (2, 100, false),
        ])
    func gathering(members: Int, waiting: Int, expected: Bool) {
        var queue = Self.queue(of: waiting)
        queue.didCarryOut(members, at: .now)
        #expect(queue.isGathering(at: .now) == expected)
    }

    @Test("They are waited for a millisecond, and not once more")
    func patience() throws {
        let now = Moment.now
        var queue = Self.queue(of: 3)
        queue.didCarryOut(16, at: now)
        let deadline = try #require(queue.deadline(at: now))
        #expect(deadline == now.after(.milliseconds(1)))
        #expect(!queue.isGathering(at: deadline))
        #expect(queue.deadline(at: deadline) == nil)
        _ = queue.next()
        queue.append(Request(internal: []))
        #expect(!queue.isGathering(at: now))
        #expect(queue.deadline(at: now) == nil)
    }

    @Test("They are waited for until enough are back")
    func returning() {
        let now = Moment.now
        var queue = Self.queue(of: 0)
        queue.didCarryOut(16, at: now)
        for back in 0..<12 {
            #expect(queue.isGathering(at: now))
            #expect(queue.missing(at: now) == 12 - back)
            queue.append(Request(internal: []))
        }
        #expect(!queue.isGathering(at: now))
        #expect(queue.missing(at: now) == 1)
    }

    @Test("Who waits for nobody yet is told when the others are waited for no longer")
    func emptyQueue() {
        let now = Moment.now
        var queue = Self.queue(of: 0)
        #expect(queue.deadline(at: now) == nil)
        queue.didCarryOut(16, at: now)
        #expect(queue.deadline(at: now) == now.after(.milliseconds(1)))
    }
}
