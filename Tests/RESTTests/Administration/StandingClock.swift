import Operations
import ParseModel
import Synchronization
import Testing

/// A clock that advances only when a test moves it.
final class StandingClock: Sendable {
    private let time: Mutex<ParseDate>

    init(_ text: String) throws { time = Mutex(try #require(ParseDate(iso: text))) }

    func advance(minutes: Int64) { time.withLock { $0.milliseconds += minutes * 60_000 } }

    var now: ParseDate { time.withLock { $0 } }

    var clock: WallClock { WallClock { self.now } }
}
