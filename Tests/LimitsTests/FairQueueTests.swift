import Limits
import Testing

/// Fair scheduling of work from several senders.
@Suite struct FairQueueTests {
    private final class Connection {}

    private static func source(_ address: String, _ connection: Connection? = nil) -> FairQueue<String>.Source {
        FairQueue<String>.Source(Sender(address: address), connection.map { ObjectIdentifier($0) })
    }

    private static func drain(_ queue: inout FairQueue<String>) -> [String] {
        var all: [String] = []
        while let work = queue.popFirst() { all.append(work) }
        return all
    }

    @Test("Senders take turns, so a thousand entries of one don't delay another")
    func addresses() {
        var queue = FairQueue<String>()
        for number in 0..<1000 { queue.append("a\(number)", number: number, from: Self.source("a")) }
        for number in 0..<3 { queue.append("b\(number)", number: 1000 + number, from: Self.source("b")) }
        #expect(queue.count == 1003)
        let all = Self.drain(&queue)
        #expect(all.prefix(7) == ["a0", "b0", "a1", "b1", "a2", "b2", "a3"])
        #expect(all.count == 1003)
        #expect(queue.count == 0)
    }

    @Test("Connections behind one proxy take turns")
    func connections() {
        let (first, second) = (Connection(), Connection())
        var queue = FairQueue<String>()
        for number in 0..<100 { queue.append("a\(number)", number: number, from: Self.source("p", first)) }
        queue.append("b", number: 100, from: Self.source("p", second))
        queue.append("c", number: 101, from: Self.source("q"))
        #expect(Self.drain(&queue).prefix(4) == ["a0", "c", "b", "a1"])
        withExtendedLifetime((first, second)) {}
    }

    @Test("Removed work leaves the queue and gives its sender no extra turn")
    func removal() {
        var queue = FairQueue<String>()
        for number in 0..<3 { queue.append("a\(number)", number: number, from: Self.source("a")) }
        for number in 3..<6 { queue.append("b\(number)", number: number, from: Self.source("b")) }
        #expect(queue.remove(number: 1, of: Self.source("a")) == "a1")
        #expect(queue.remove(number: 1, of: Self.source("a")) == nil)
        #expect(queue.remove(number: 3, of: Self.source("a")) == nil)
        for number in 3..<6 { #expect(queue.remove(number: number, of: Self.source("b")) == "b\(number)") }
        queue.append("b6", number: 6, from: Self.source("b"))
        #expect(queue.count == 3)
        #expect(Self.drain(&queue) == ["a0", "b6", "a2"])
    }

    @Test("Drops the last work of the sender with the most, but only in favor of one with less")
    func eviction() {
        var queue = FairQueue<String>()
        for number in 0..<4 { queue.append("a\(number)", number: number, from: Self.source("a")) }
        #expect(queue.removeLast(insteadOf: Sender(address: "a")) == nil)
        #expect(queue.removeLast(insteadOf: Sender(address: "b")) == "a3")
        queue.append("b", number: 10, from: Self.source("b"))
        #expect(queue.removeLast(insteadOf: Sender(address: "b")) == "a2")
        queue.append("b2", number: 11, from: Self.source("b"))
        #expect(queue.removeLast(insteadOf: Sender(address: "b")) == nil)
        #expect(queue.removeLast(insteadOf: Sender(address: "c")) != nil)
        #expect(queue.count == 3)
    }

    @Test("IPv6 addresses of one network count as one sender, and IPv4-mapped addresses as IPv4")
    func networks() {
        #expect(Sender.network(of: "2001:db8:1:2::1") == Sender.network(of: "2001:db8:1:2:ffff::9"))
        #expect(Sender.network(of: "2001:db8:1:2::1") != Sender.network(of: "2001:db8:1:102::1"))
        #expect(Sender.network(of: "::ffff:10.0.0.1") == Sender.network(of: "10.0.0.1"))
        #expect(Sender.network(of: "10.0.0.1") != Sender.network(of: "10.0.0.2"))
    }
}
