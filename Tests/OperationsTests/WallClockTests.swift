import Operations
import ParseModel
import Synchronization
import Testing

@Suite("Write clock")
struct WallClockTests {
    /// A system clock that the test moves.
    private final class Hand: Sendable {
        let milliseconds = Mutex<Int64>(1_000)

        func clock(rising: Bool = true) -> WallClock {
            WallClock(rising: rising) { ParseDate(milliseconds: self.milliseconds.withLock { $0 }) }
        }
        func move(by amount: Int64) { milliseconds.withLock { $0 += amount } }
    }

    @Test("Advances past each recorded write, but only once for writes with the same time")
    func rises() {
        let hand = Hand()
        let clock = hand.clock()
        #expect([clock.now, clock.now].map(\.milliseconds) == [1_000, 1_000])
        for expected in 1_000..<1_010 as Range<Int64> {
            let (first, second) = (clock.now, clock.now)
            #expect([first, second].map(\.milliseconds) == [expected, expected])
            clock.record(first)
            clock.record(second)
        }
        hand.move(by: 100)
        #expect(clock.now.milliseconds == 1_100)
    }

    @Test("Follows a system clock that is set back and advances from there")
    func setBack() {
        let hand = Hand()
        let clock = hand.clock()
        clock.record(clock.now)
        hand.move(by: -500)
        #expect(clock.now.milliseconds == 500)
        clock.record(clock.now)
        #expect(clock.now.milliseconds == 501)
    }

    @Test("Limits how far consecutive writes run ahead of the system clock")
    func bounded() async throws {
        let clock = WallClock(rising: true) { .now }
        var last = ParseDate(milliseconds: 0)
        for _ in 0..<100 {
            let date = clock.now
            try await clock.approach(date)
            #expect(date > last)
            #expect(date.milliseconds - ParseDate.now.milliseconds <= WallClock.maxAhead)
            clock.record(date)
            last = date
        }
    }

    @Test("Doesn't advance a custom clock")
    func own() async throws {
        let clock = Hand().clock(rising: false)
        clock.record(clock.now)
        #expect(clock.now.milliseconds == 1_000)
        try await clock.approach(ParseDate(milliseconds: 1_000_000))
    }
}
