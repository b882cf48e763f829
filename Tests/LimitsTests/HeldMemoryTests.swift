import Limits
import Synchronization
import Testing

@Suite("Memory held by requests")
struct HeldMemoryTests {
    private static let large = HeldMemory.smallest

    private final class Reads: Sendable {
        private let counter = Mutex(0)

        var count: Int { counter.withLock { $0 } }

        func next() -> Int {
            counter.withLock { count in
                count += 1
                return count
            }
        }
    }

    /// Waits until the condition is true. Only the test's time limit ends the wait.
    private func until(_ condition: @Sendable () -> Bool) async throws {
        while !condition() { try await Task.sleep(for: .milliseconds(1)) }
    }

    @Test("Discards a result that doesn't fit in memory, and reads it again once it does", .timeLimit(.minutes(1)))
    func reading() async throws {
        let budget = MemoryBudget(capacity: Self.large)
        let first = HeldMemory(in: budget, depth: 0)
        try await first.hold(Self.large)
        let reads = Reads()
        let second = Task {
            try await HeldMemory.run(in: budget, depth: 0) {
                let value = try await HeldMemory.reading(size: { _ in Self.large }) { reads.next() }
                #expect(budget.gate(depth: 0).used == Self.large)
                return value
            }
        }
        try await until { budget.gate(depth: 0).waiting == 1 }
        #expect(reads.count == 1)
        first.leave()
        #expect(try await second.value == 2)
        #expect(budget.gate(depth: 0).used == 0)
    }

    @Test("Small results and further reads of a request that holds memory don't wait", .timeLimit(.minutes(1)))
    func passing() async throws {
        let budget = MemoryBudget(capacity: Self.large)
        let first = HeldMemory(in: budget, depth: 0)
        let second = HeldMemory(in: budget, depth: 0)
        try await first.hold(Self.large)
        let reads = Reads()
        #expect(try await second.reading(size: { _ in Self.large - 1 }, { reads.next() }) == 1)
        #expect(second.used == 0)
        #expect(try await first.reading(size: { _ in 3 * Self.large }, { reads.next() }) == 2)
        #expect(first.used == 3 * Self.large)
        first.count(4 * Self.large)
        #expect(budget.gate(depth: 0).used == 4 * Self.large)
        first.leave()
        #expect(budget.gate(depth: 0).used == 0)
    }

    @Test("Parts of one request don't wait for each other's memory", .timeLimit(.minutes(1)))
    func parts() async throws {
        let budget = MemoryBudget(capacity: Self.large)
        let first = HeldMemory(in: budget, depth: 0)
        let second = HeldMemory(in: budget, depth: 0)
        try await first.hold(Self.large)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 { group.addTask { try await second.hold(Self.large) } }
            try await until { budget.gate(depth: 0).waiting == 1 }
            first.leave()
            try await group.waitForAll()
        }
        #expect(second.used == Self.large)
        second.leave()
    }

    @Test("Calls from cloud code have a budget per depth; finished ones hold no memory", .timeLimit(.minutes(1)))
    func depths() async throws {
        let budget = MemoryBudget(capacity: Self.large)
        for depth in [0, 1, 16, 1_000] {
            try await HeldMemory(in: budget, depth: depth).hold(2 * Self.large)
            #expect(budget.gate(depth: depth).used == 0, "the request of depth \(depth) is over")
        }
        let outer = HeldMemory(in: budget, depth: 0)
        try await outer.hold(Self.large)
        let inner = HeldMemory(in: budget, depth: 1)
        try await inner.hold(Self.large)
        outer.leave()
        inner.leave()
    }
}
