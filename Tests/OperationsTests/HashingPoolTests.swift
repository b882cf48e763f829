import Foundation
import Limits
import Operations
import ParseModel
import Postgres
import Synchronization
import Testing

/// The threads for password hashes.
@Suite struct HashingPoolTests {
    @Test("Skips hashes that were cancelled or whose callers left, and rejects calls beyond capacity")
    func pool() async throws {
        let (mayEnd, hasBegun) = (DispatchSemaphore(value: 0), OneTime<Void>())
        let computed = Atomic(0)
        let pool = HashingPool<Int, Int>(threads: 1, capacity: 3) { input in
            if input == 1 {
                hasBegun.set(())
                mayEnd.wait()
            }
            if input == 0 { computed.add(1, ordering: .relaxed) }
            return input
        }
        let first = Task { try await pool.run(from: "a", 1) }
        await hasBegun.wait()
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
        let count = computed.load(ordering: .relaxed)
        #expect(count == 0)
    }
}
