import Operations
import Testing

/// Waiting for writes that began before an observer.
@Suite struct PendingWritesTests {
    @Test("Returns at once if no write is pending, and marks no write as missed")
    func none() async {
        let writes = PendingWrites()
        await writes.settle(within: .seconds(60))
        let write = writes.begin()
        let isMissed = writes.end(write)
        #expect(!isMissed)
        await writes.settle(within: .seconds(60))
    }

    @Test("Waits for writes that began earlier, but not for later ones")
    func waiting() async {
        let writes = PendingWrites()
        let (first, second) = (writes.begin(), writes.begin())
        async let settled: Void = writes.settle(within: .seconds(60))
        // The wait starts once a later write has a different number.
        var later = writes.begin()
        while later == first {
            _ = writes.end(later)
            await Task.yield()
            later = writes.begin()
        }
        let isFirstMissed = writes.end(first)
        let isSecondMissed = writes.end(second)
        await settled
        let isLaterMissed = writes.end(later)
        #expect(!isFirstMissed && !isSecondMissed && !isLaterMissed)
    }

    @Test("Marks a write that outlasts the wait as missed, but not later writes")
    func missing() async {
        let writes = PendingWrites()
        let slow = writes.begin()
        await writes.settle(within: .milliseconds(20))
        let later = writes.begin()
        let isMissed = writes.end(slow)
        let isLaterMissed = writes.end(later)
        #expect(isMissed && !isLaterMissed)
    }
}
