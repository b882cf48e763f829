import ParseModel
import Synchronization
import TestSupport
import Testing

@testable import NodeHost

/// How many calls a process has at a time.
@Suite struct CallGateTests {
    /// Calls that stay open until they are told to end.
    private final class Calls: Sendable {
        let gate: CallGate
        let isOver = OneTime<Void>()
        let running = Mutex(0)
        let most = Mutex(0)

        init(places: Int, queue: Int) { gate = CallGate(places: places, queue: queue) }

        func begin(isNested: Bool = false) -> Task<Void, any Error> {
            Task {
                try await gate.enter(isNested: isNested) {
                    let now = running.withLock { running in
                        running += 1
                        return running
                    }
                    most.withLock { $0 = max($0, now) }
                    _ = await isOver.wait()
                    running.withLock { $0 -= 1 }
                }
            }
        }

        func reaches(load: Int) async throws -> Bool { try await eventually { gate.load == load } }
    }

    @Test("So many run, so many wait, and one more is told that the code is overloaded")
    func overload() async throws {
        let calls = Calls(places: 2, queue: 3)
        let tasks = (0..<5).map { _ in calls.begin() }
        #expect(try await calls.reaches(load: 5))
        await #expect(throws: CallGate.overloaded) { try await calls.begin().value }
        calls.isOver.set(())
        for task in tasks { try await task.value }
        #expect(calls.most.withLock { $0 } == 2)
        #expect(calls.gate.load == 0)
    }

    @Test("A call within a call does not wait for a place")
    func nested() async throws {
        let calls = Calls(places: 1, queue: 0)
        let outer = calls.begin()
        #expect(try await calls.reaches(load: 1))
        let inner = calls.begin(isNested: true)
        #expect(try await eventually { calls.running.withLock { $0 } == 2 })
        calls.isOver.set(())
        try await outer.value
        try await inner.value
    }

    @Test("Who waits and gives up leaves the queue, and who waits when the process ends is told")
    func leaving() async throws {
        let calls = Calls(places: 1, queue: 2)
        let open = calls.begin()
        #expect(try await calls.reaches(load: 1))
        let impatient = calls.begin()
        let patient = calls.begin()
        #expect(try await calls.reaches(load: 3))
        impatient.cancel()
        await #expect(throws: CancellationError.self) { try await impatient.value }
        #expect(calls.gate.load == 2)
        calls.gate.close()
        await #expect(throws: CallGate.Closed.self) { try await patient.value }
        await #expect(throws: CallGate.Closed.self) { try await calls.begin().value }
        calls.isOver.set(())
        try await open.value
    }
}
