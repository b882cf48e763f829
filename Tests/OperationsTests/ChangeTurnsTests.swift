import Synchronization
import Testing

@testable import Operations

/// Turns of those who change one object and report it.
@Suite struct ChangeTurnsTests {
    private struct Counts {
        var inside = 0
        var most = 0
        var done = 0
    }

    private final class Counter: Sendable {
        let counts = Mutex(Counts())
    }

    @Test("Turns of one object come one after the other, and those of another do not wait for them")
    func turns() async {
        let turns = ChangeTurns()
        let counter = Counter()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    await turns.take("Note", "a") {
                        counter.counts.withLock { counts in
                            counts.inside += 1
                            counts.most = max(counts.most, counts.inside)
                        }
                        await Task.yield()
                        counter.counts.withLock { counts in
                            counts.inside -= 1
                            counts.done += 1
                        }
                    }
                }
            }
        }
        #expect(counter.counts.withLock { $0.most == 1 && $0.done == 50 })
        await turns.take("Note", "a") {
            await turns.take("Note", "b") {
                await turns.take("Other", "a") { counter.counts.withLock { $0.done += 1 } }
            }
        }
        #expect(counter.counts.withLock { $0.done } == 51)
    }
}
