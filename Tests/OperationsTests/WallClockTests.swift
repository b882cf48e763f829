import Operations
import ParseModel
import Synchronization
import Testing

@Suite("The clock that dates writes")
struct WallClockTests {
    /// A system clock that the test moves.
    private final class Hand: Sendable {
        let milliseconds = Mutex<Int64>(1_000)

        func clock(rising: Bool = true) -> WallClock {
            WallClock(rising: rising) { ParseDate(milliseconds: self.milliseconds.withLock { $0 }) }
        }
        func move(by amount: Int64) { milliseconds.withLock { $0 += amount } }
    }

    @Test("is later after a write, within the same millisecond of the system, and the same beside it")
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

    @Test("follows a system's clock that is set back, and rises from there")
    func setBack() {
        let hand = Hand()
        let clock = hand.clock()
        clock.record(clock.now)
        hand.move(by: -500)
        #expect(clock.now.milliseconds == 500)
        clock.record(clock.now)
        #expect(clock.now.milliseconds == 501)
    }

    @Test("is never far ahead of the system, however many writes follow each other")
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

    @Test("stands where a deployment's own clock stands")
    func own() async throws {
        let clock = Hand().clock(rising: false)
        clock.record(clock.now)
        #expect(clock.now.milliseconds == 1_000)
        try await clock.approach(ParseDate(milliseconds: 1_000_000))
    }
}
