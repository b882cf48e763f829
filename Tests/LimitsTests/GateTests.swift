import Limits
import Synchronization
import Testing

@Suite("Gate")
struct GateTests {
    private let first = Sender(address: "192.0.2.1")
    private let second = Sender(address: "192.0.2.2")

    private final class Order: Sendable {
        private let entries = Mutex<[String]>([])

        var names: [String] { entries.withLock { $0 } }

        func note(_ name: String) { entries.withLock { $0.append(name) } }
    }

    /// Waits until the condition is true. Only the test's time limit ends the wait.
    private func until(_ condition: @Sendable () -> Bool) async throws {
        while !condition() { try await Task.sleep(for: .milliseconds(1)) }
    }

    @Test("Limits how many entries of one sender wait, without limiting other senders", .timeLimit(.minutes(1)))
    func waitingShare() async throws {
        let gate = Gate(capacity: 1, maxWaiting: 2, waitingShare: 1)
        try await gate.enter(of: first)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await gate.run(of: first) {} }
            try await until { gate.waiting == 1 }
            await #expect(throws: Gate.Full.self) { try await gate.enter(of: first) }
            group.addTask { try await gate.run(of: second) {} }
            try await until { gate.waiting == 2 }
            gate.leave(of: first)
            try await group.waitForAll()
        }
        #expect(gate.used == 0)
    }

    @Test("Admits waiting senders in turns", .timeLimit(.minutes(1)))
    func turns() async throws {
        let gate = Gate(capacity: 1)
        let order = Order()
        try await gate.enter(of: first)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, (name, sender)) in [("a1", first), ("a2", first), ("b1", second)].enumerated() {
                group.addTask { try await gate.run(of: sender) { order.note(name) } }
                try await until { gate.waiting == index + 1 }
            }
            gate.leave(of: first)
            try await group.waitForAll()
        }
        #expect(order.names == ["a1", "b1", "a2"])
        #expect(gate.used == 0)
    }

    @Test("Limits one sender to its share and lets others pass it", .timeLimit(.minutes(1)))
    func share() async throws {
        let gate = Gate(capacity: 2, share: 1)
        try await gate.enter(of: first)
        let waits = Task { try await gate.run(of: first) {} }
        try await until { gate.waiting == 1 }
        try await gate.enter(of: second)
        #expect(gate.used == 2)
        gate.leave(of: first)
        try await waits.value
        gate.leave(of: second)
        #expect(gate.used == 0)
    }

    @Test("Leaves room for a new sender, however many others want the whole capacity", .timeLimit(.minutes(1)))
    func room() throws {
        let gate = Gate(capacity: 256, leavesRoom: true)
        var inside: [Sender] = []
        for sender in (1...32).map({ Sender(address: "192.0.2.\($0)") }) {
            for _ in 0..<256 where gate.tryEnter(of: sender) { inside.append(sender) }
        }
        // Senders leave and others with fewer slots replace them, until the distribution is stable.
        for _ in 0..<10_000 {
            gate.leave(of: inside.removeFirst())
            let next = Sender(address: "192.0.2.\(Int.random(in: 1...32))")
            if gate.tryEnter(of: next) { inside.append(next) }
        }
        #expect(gate.used > 200)
        #expect(gate.tryEnter(of: Sender(address: "198.51.100.1")))
    }

    @Test("Leaves slots for other senders, and gets a slot back when its holder is deallocated")
    func places() {
        let gate = Gate(capacity: 1024, leavesRoom: true)
        var taken: [GatePlace] = []
        while let place = GatePlace.acquire(in: gate, of: first) { taken.append(place) }
        #expect((512..<1024).contains(taken.count))
        #expect(GatePlace.acquire(in: gate, of: second) != nil)
        taken = []
        #expect(gate.used == 0)
    }

    @Test("Admits a sender that needn't wait even if the queue of waiting entries is full", .timeLimit(.minutes(1)))
    func roomBesideWaiting() async throws {
        let gate = Gate(capacity: 4, leavesRoom: true, maxWaiting: 1)
        for _ in 0..<3 { #expect(gate.tryEnter(of: first)) }
        let waits = Task { try await gate.run(of: first) {} }
        try await until { gate.waiting == 1 }
        await #expect(throws: Gate.Full.self) { try await gate.enter(of: first) }
        try await gate.enter(of: second)
        gate.leave(of: second)
        gate.leave(of: first)
        try await waits.value
    }

    @Test("Admits the sender whose work took the least time first", .timeLimit(.minutes(1)))
    func time() async throws {
        let gate = Gate(capacity: 1, countsTime: true)
        let order = Order()
        let senders = (1...8).map { Sender(address: "192.0.2.\($0)") }
        func work(_ milliseconds: Int) {
            let end = ContinuousClock.now + .milliseconds(milliseconds)
            while ContinuousClock.now < end {}
        }
        for sender in senders { try await gate.run(of: sender) { work(20) } }
        try await gate.enter(of: first)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, sender) in senders.enumerated() {
                group.addTask { try await gate.run(of: sender) { order.note("long") } }
                try await until { gate.waiting == index + 1 }
            }
            group.addTask { try await gate.run(of: Sender(address: "198.51.100.1")) { order.note("short") } }
            try await until { gate.waiting == senders.count + 1 }
            gate.leave(of: first)
            try await group.waitForAll()
        }
        #expect(order.names.first == "short")
    }

    @Test("Admits an entry heavier than the capacity only when nothing else is inside", .timeLimit(.minutes(1)))
    func weight() async throws {
        let gate = Gate(capacity: 10)
        #expect(gate.tryEnter(weight: 4, of: first))
        let heavy = Task { try await gate.enter(weight: 50, of: second) }
        try await until { gate.waiting == 1 }
        #expect(!gate.tryEnter(weight: 1, of: first))
        gate.leave(weight: 4, of: first)
        try await heavy.value
        #expect(gate.used == 50)
        gate.leave(weight: 50, of: second)
    }

    @Test("Admits as much of a weight as fits, without waiting")
    func parts() {
        let gate = Gate(capacity: 60)
        #expect(gate.enter(upTo: 49, of: first) == 49)
        #expect(gate.enter(upTo: 49, of: second) == 11)
        #expect(gate.enter(upTo: 49, of: second) == 0)
        #expect(gate.enter(upTo: -1, of: second) == 0)
        gate.leave(weight: 49, of: first)
        #expect(gate.enter(upTo: 10, of: second) == 10)
        #expect(gate.used == 21)
    }

    @Test(
        "Lets others pass a sender that waits for its share, and is overfull beyond its capacity",
        .timeLimit(.minutes(1)))
    func overfull() async throws {
        let gate = Gate(capacity: 10, share: 5)
        #expect(gate.tryEnter(weight: 4, of: first))
        let waits = Task { try await gate.run(weight: 8, of: first) {} }
        try await until { gate.waiting == 1 }
        try await gate.enter(weight: 3, of: second)
        #expect(!gate.isOverfull)
        gate.add(weight: 9, of: second)
        #expect(gate.isOverfull)
        gate.leave(weight: 9, of: second)
        gate.leave(weight: 4, of: first)
        gate.leave(weight: 3, of: second)
        try await waits.value
        #expect(gate.used == 0)
    }

    @Test("Removes waiting tasks that are cancelled or whose caller leaves", .timeLimit(.minutes(1)))
    func abandonment() async throws {
        let gate = Gate(capacity: 1)
        try await gate.enter(of: first)
        let cancelled = Task { try await gate.enter(of: first) }
        let caller = CallerPresence(sender: second)
        let left = Task { try await CallerPresence.$current.withValue(caller) { try await gate.enter() } }
        try await until { gate.waiting == 2 }
        cancelled.cancel()
        caller.leave()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        await #expect(throws: CancellationError.self) { try await left.value }
        #expect(gate.waiting == 0)
        gate.leave(of: first)
        #expect(gate.used == 0)
    }

    @Test("Rejects entries when too many are waiting", .timeLimit(.minutes(1)))
    func fullness() async throws {
        let gate = Gate(capacity: 1, maxWaiting: 1)
        try await gate.enter(of: first)
        let waits = Task { try await gate.enter(of: first) }
        try await until { gate.waiting == 1 }
        await #expect(throws: Gate.Full.self) { try await gate.enter(of: second) }
        gate.leave(of: first)
        try await waits.value
        gate.leave(of: first)
    }

    @Test("Loses no slot while thousands of tasks enter, wait and are cancelled", .timeLimit(.minutes(1)))
    func crowd() async throws {
        let gate = Gate(capacity: 3)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<3_000 {
                let sender = Sender(address: "192.0.2.\(number % 7)")
                group.addTask {
                    let task = Task { try await gate.run(of: sender) { await Task.yield() } }
                    if number % 3 == 0 { task.cancel() }
                    _ = await task.result
                }
            }
        }
        #expect(gate.used == 0)
        #expect(gate.waiting == 0)
    }
}
