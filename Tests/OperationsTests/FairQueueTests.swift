import Foundation
import Operations
import ParseModel
import Postgres
import Synchronization
import Tasks
import Testing

/// Fair scheduling of work from several senders.
@Suite struct FairQueueTests {
    private final class Connection {}

    private static func sender(_ address: String, _ connection: Connection? = nil) -> FairQueue<String>.Sender {
        FairQueue<String>.Sender(address: Array(address.utf8), connection: connection.map { ObjectIdentifier($0) })
    }

    private static func drain(_ queue: inout FairQueue<String>) -> [String] {
        var all: [String] = []
        while let work = queue.popFirst() { all.append(work) }
        return all
    }

    @Test("A sender of a thousand log-ins keeps another waiting for one of them, not for all")
    func addresses() {
        var queue = FairQueue<String>()
        for number in 0..<1000 { queue.append("a\(number)", number: number, from: Self.sender("a")) }
        for number in 0..<3 { queue.append("b\(number)", number: 1000 + number, from: Self.sender("b")) }
        #expect(queue.count == 1003)
        let all = Self.drain(&queue)
        #expect(all.prefix(7) == ["a0", "b0", "a1", "b1", "a2", "b2", "a3"])
        #expect(all.count == 1003)
        #expect(queue.count == 0)
    }

    @Test("Behind one proxy, connections take turns")
    func connections() {
        let (first, second) = (Connection(), Connection())
        var queue = FairQueue<String>()
        for number in 0..<100 { queue.append("a\(number)", number: number, from: Self.sender("p", first)) }
        queue.append("b", number: 100, from: Self.sender("p", second))
        queue.append("c", number: 101, from: Self.sender("q"))
        #expect(Self.drain(&queue).prefix(4) == ["a0", "c", "b", "a1"])
        withExtendedLifetime((first, second)) {}
    }

    @Test("Work that nobody waits for leaves the queue and gives its sender no second turn")
    func removal() {
        var queue = FairQueue<String>()
        for number in 0..<3 { queue.append("a\(number)", number: number, from: Self.sender("a")) }
        for number in 3..<6 { queue.append("b\(number)", number: number, from: Self.sender("b")) }
        #expect(queue.remove(number: 1, of: Self.sender("a")) == "a1")
        #expect(queue.remove(number: 1, of: Self.sender("a")) == nil)
        #expect(queue.remove(number: 3, of: Self.sender("a")) == nil)
        for number in 3..<6 { #expect(queue.remove(number: number, of: Self.sender("b")) == "b\(number)") }
        queue.append("b6", number: 6, from: Self.sender("b"))
        #expect(queue.count == 3)
        #expect(Self.drain(&queue) == ["a0", "b6", "a2"])
    }

    @Test("A sender that fills the queue makes room for others, and for nobody who has as much")
    func eviction() {
        var queue = FairQueue<String>()
        for number in 0..<4 { queue.append("a\(number)", number: number, from: Self.sender("a")) }
        #expect(queue.removeLast(insteadOf: Array("a".utf8)) == nil)
        #expect(queue.removeLast(insteadOf: Array("b".utf8)) == "a3")
        queue.append("b", number: 10, from: Self.sender("b"))
        #expect(queue.removeLast(insteadOf: Array("b".utf8)) == "a2")
        queue.append("b2", number: 11, from: Self.sender("b"))
        #expect(queue.removeLast(insteadOf: Array("b".utf8)) == nil)
        #expect(queue.removeLast(insteadOf: Array("c".utf8)) != nil)
        #expect(queue.count == 3)
    }

    @Test("A thousand IPv6 addresses of one network are one sender")
    func networks() {
        #expect(Sender.network(of: "2001:db8:1:2::1") == Sender.network(of: "2001:db8:1:2:ffff::9"))
        #expect(Sender.network(of: "2001:db8:1:2::1") != Sender.network(of: "2001:db8:1:102::1"))
        #expect(Sender.network(of: "::ffff:10.0.0.1") == Sender.network(of: "10.0.0.1"))
        #expect(Sender.network(of: "10.0.0.1") != Sender.network(of: "10.0.0.2"))
    }

    private final class Counter: Sendable {
        private let value = Atomic(0)
        var count: Int { value.load(ordering: .relaxed) }
        func increment() { value.add(1, ordering: .relaxed) }
    }

    @Test("What nobody waits for any more is not computed; what is too much is refused at once")
    func pool() async throws {
        let (mayEnd, hasBegun) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let computed = Counter()
        let pool = HashingPool<Int, Int>(threads: 1, capacity: 3) { input in
            if input == 1 {
                hasBegun.signal()
                mayEnd.wait()
            }
            if input == 0 { computed.increment() }
            return input
        }
        let first = Task { try await pool.run(from: "a", 1) }
        await Self.wait(for: hasBegun)
        let caller = CallerPresence()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    await #expect(throws: CancellationError.self) {
                        try await CallerPresence.$current.withValue(caller) { try await pool.run(from: "a", 0) }
                    }
                }
            }
            while pool.waiting < 3 { await Task.yield() }
            await #expect(throws: ServiceUnavailable.self) { try await pool.run(from: "a", 0) }
            caller.leave()
            try await group.waitForAll()
        }
        #expect(pool.waiting == 0)
        let cancelled = Task { try await pool.run(from: "a", 0) }
        while pool.waiting < 1 { await Task.yield() }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        // A call for a caller that has already disconnected doesn't wait.
        await #expect(throws: CancellationError.self) {
            try await CallerPresence.$current.withValue(caller) { try await pool.run(from: "a", 0) }
        }
        let others = (2..<5).map { number in Task { try await pool.run(from: "b", number) } }
        while pool.waiting < 3 { await Task.yield() }
        mayEnd.signal()
        #expect(try await first.value == 1)
        for (index, task) in others.enumerated() { #expect(try await task.value == index + 2) }
        #expect(computed.count == 0)
    }

    private static func wait(for semaphore: DispatchSemaphore) async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                semaphore.wait()
                continuation.resume()
            }
        }
    }
}
