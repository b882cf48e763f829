import Limits
import Testing

@Suite("Sender queue")
struct SenderQueueTests {
    private let first = Sender(address: "192.0.2.1")
    private let second = Sender(address: "192.0.2.2")

    @Test("Serves senders in turns and keeps each sender's order")
    func turns() {
        var queue = SenderQueue<String>()
        for name in ["a1", "a2", "a3"] { queue.append(name, of: first) }
        for name in ["b1", "b2"] { queue.append(name, of: second) }
        var taken: [String] = []
        while let next = queue.popFirst() { taken.append(next.element) }
        #expect(taken == ["a1", "b1", "a2", "b2", "a3"])
        #expect(queue.isEmpty)
    }

    @Test("Puts prepended work before all other work of its sender")
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

    @Test("Removes work at any position, and only once")
    func removal() {
        var queue = SenderQueue<Int>()
        let tickets = (0..<10_000).map { queue.append($0, of: first) }
        for ticket in tickets.dropLast() { #expect(queue.remove(ticket) != nil) }
        #expect(queue.count == 1)
        #expect(queue.remove(tickets[0]) == nil)
        #expect(queue.popFirst()?.element == 9_999)
        #expect(queue.popFirst() == nil)
    }

    @Test("Skips senders that can't be served now")
    func skipping() {
        var queue = SenderQueue<Int>()
        queue.append(1, of: first)
        queue.append(2, of: second)
        let taken = queue.popFirst { _, sender in sender == first ? .skip : .accept }
        #expect(taken?.element == 2)
        #expect(queue.popFirst { _, _ in .stop } == nil)
        #expect(queue.popFirst()?.element == 1)
    }

    @Test("Serves the lowest rank first, and within a rank the sender served longest ago")
    func ranks() {
        var queue = SenderQueue<String>()
        let third = Sender(address: "192.0.2.3")
        for name in ["a1", "a2"] { queue.append(name, of: first) }
        for name in ["b1", "b2"] { queue.append(name, of: second) }
        for name in ["c1", "c2"] { queue.append(name, of: third) }
        let ranks: [Sender: Duration] = [first: .seconds(2), second: .seconds(1), third: .seconds(1)]
        var taken: [String] = []
        while let next = queue.popFirst(by: { ranks[$0] ?? .zero }) { taken.append(next.element) }
        #expect(taken == ["b1", "c1", "b2", "c2", "a1", "a2"])
    }

    @Test("Skips senders of a low rank that can't be served, or stops at one that must be waited for")
    func ranksWithChoices() {
        var queue = SenderQueue<String>()
        queue.append("a1", of: first)
        queue.append("b1", of: second)
        let rank: (Sender) -> Duration = { [first] in $0 == first ? .zero : .seconds(1) }
        #expect(queue.popFirst(by: rank) { _, sender in sender == first ? .stop : .accept } == nil)
        #expect(queue.popFirst(by: rank) { _, sender in sender == first ? .skip : .accept }?.element == "b1")
        #expect(queue.popFirst(by: rank)?.element == "a1")
        #expect(queue.isEmpty)
    }

    @Test(
        "Treats IPv4-mapped addresses and addresses of one IPv6 network as the same sender",
        arguments: [
            ("192.0.2.1", "::ffff:192.0.2.1", true), ("2001:db8::1", "2001:db8::2:3", true),
            ("2001:db8::1", "2001:db8:0:ff::1", true), ("2001:db8::1", "2001:db8:0:100::1", false),
            ("192.0.2.1", "192.0.2.2", false),
        ])
    func networks(one: String, other: String, isSame: Bool) {
        #expect((Sender(address: one) == Sender(address: other)) == isSame)
    }
}
