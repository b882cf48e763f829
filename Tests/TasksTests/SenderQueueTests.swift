import Testing

@testable import Tasks

@Suite("A queue that serves its senders in turns")
struct SenderQueueTests {
    private let first = Sender(address: "192.0.2.1")
    private let second = Sender(address: "192.0.2.2")

    @Test("gives each sender a turn, and keeps the order of each")
    func turns() {
        var queue = SenderQueue<String>()
        for name in ["a1", "a2", "a3"] { queue.append(name, of: first) }
        for name in ["b1", "b2"] { queue.append(name, of: second) }
        var taken: [String] = []
        while let next = queue.popFirst() { taken.append(next.element) }
        #expect(taken == ["a1", "b1", "a2", "b2", "a3"])
        #expect(queue.isEmpty)
    }

    @Test("puts what has waited before before all others of its sender")
    func prepending() {
        var queue = SenderQueue<String>()
        queue.append("a2", of: first)
        queue.append("b1", of: second)
        let ticket = queue.prepend("a0", of: first)
        queue.prepend("a-1", of: first)
        queue.remove(ticket)
        var taken: [String] = []
        while let next = queue.popFirst() { taken.append(next.element) }
        #expect(taken == ["a-1", "b1", "a2"])
    }

    @Test("forgets what is removed at once, wherever it stands")
    func removal() {
        var queue = SenderQueue<Int>()
        let tickets = (0..<10_000).map { queue.append($0, of: first) }
        for ticket in tickets.dropLast() { #expect(queue.remove(ticket) != nil) }
        #expect(queue.count == 1)
        #expect(queue.remove(tickets[0]) == nil)
        #expect(queue.popFirst()?.element == 9_999)
        #expect(queue.popFirst() == nil)
    }

    @Test("passes over senders that may not be served now")
    func skipping() {
        var queue = SenderQueue<Int>()
        queue.append(1, of: first)
        queue.append(2, of: second)
        let taken = queue.popFirst { _, sender in sender == first ? .skip : .take }
        #expect(taken?.element == 2)
        #expect(queue.popFirst { _, _ in .stop } == nil)
        #expect(queue.popFirst()?.element == 1)
    }

    @Test(
        "knows one network by its address of either version",
        arguments: [
            ("192.0.2.1", "::ffff:192.0.2.1", true), ("2001:db8::1", "2001:db8::2:3", true),
            ("2001:db8::1", "2001:db8:0:1::1", false), ("192.0.2.1", "192.0.2.2", false),
        ])
    func networks(one: String, other: String, isSame: Bool) {
        #expect((Sender(address: one) == Sender(address: other)) == isSame)
    }
}
