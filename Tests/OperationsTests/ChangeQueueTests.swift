import Operations
import ParseModel
import Synchronization
import Testing

/// The order of concurrent changes to an object and of their reports.
@Suite struct ChangeQueueTests {
    private struct Counts {
        var inside = 0
        var most = 0
        var done = 0
    }

    private final class Counter: Sendable {
        let counts = Mutex(Counts())
    }

    @Test("Changes to one object run one at a time and don't block other objects")
    func queue() async throws {
        let queue = ChangeQueue()
        let counter = Counter()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    try await queue.run("Note", "a") {
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
            try await group.waitForAll()
        }
        #expect(counter.counts.withLock { $0.most == 1 && $0.done == 50 })
        try await queue.run("Note", "a") {
            try await queue.run("Note", "b") {
                try await queue.run("Other", "a") { counter.counts.withLock { $0.done += 1 } }
            }
        }
        #expect(counter.counts.withLock { $0.done } == 51)
    }

    @Test("Rejects changes beyond 200 waiting ones, and cancelled changes stop waiting", .timeLimit(.minutes(1)))
    func ends() async throws {
        let queue = ChangeQueue()
        let counter = Counter()
        let (entered, enter) = AsyncStream.makeStream(of: Never.self)
        let (ended, end) = AsyncStream.makeStream(of: Never.self)
        let first = Task {
            try await queue.run("Note", "a") {
                enter.finish()
                for await _ in ended {}
            }
        }
        for await _ in entered {}
        let others = (0..<400).map { _ in
            Task {
                do {
                    try await queue.run("Note", "a") {}
                } catch is ServiceUnavailable {
                    counter.counts.withLock { $0.done += 1 }
                }
            }
        }
        while counter.counts.withLock({ $0.done }) < 200 { try await Task.sleep(for: .milliseconds(5)) }
        for task in others { task.cancel() }
        var cancelled = 0
        for task in others {
            if case .failure(let error) = await task.result, error is CancellationError { cancelled += 1 }
        }
        #expect(cancelled == 200 && counter.counts.withLock { $0.done } == 200)
        end.finish()
        try await first.value
    }
}
