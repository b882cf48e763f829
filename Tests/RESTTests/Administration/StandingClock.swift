import Operations
import ParseModel
import Synchronization
import Testing

/// A clock that stands until it is moved.
final class StandingClock: Sendable {
    private let time: Mutex<ParseDate>

    init(_ text: String) throws { time = Mutex(try #require(ParseDate(iso: text))) }

    func advance(minutes: Int64) { time.withLock { $0.milliseconds += minutes * 60_000 } }

    /// Where it stands.
    var now: ParseDate { time.withLock { $0 } }

    /// The clock for a server.
    var clock: WallClock { WallClock { self.now } }
}
