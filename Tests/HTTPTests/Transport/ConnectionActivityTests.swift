import HTTP
import REST
import Testing

@Suite("Connection activity")
struct ConnectionActivityTests {
    private let start = ContinuousClock.now

    private func later(_ seconds: Int) -> ContinuousClock.Instant { start + .seconds(seconds) }

    @Test("A connection is idle after it is opened and after each response, but not during a request")
    func idle() {
        var activity = ConnectionActivity(at: start)
        #expect(!activity.isIdle(since: start))
        #expect(activity.isIdle(since: later(1)))
        activity.beginRequest()
        #expect(!activity.isIdle(since: later(9)))
        let closes = activity.finishRequest(at: later(5))
        #expect(!closes)
        #expect(!activity.isIdle(since: later(4)))
        #expect(activity.isIdle(since: later(6)))
    }

    @Test("A shutdown closes an unused connection immediately, a busy one after its last response")
    func quiescing() {
        var idle = ConnectionActivity(at: start)
        let isUnused = idle.quiesce()
        #expect(isUnused)
        var busy = ConnectionActivity(at: start)
        busy.beginRequest()
        busy.beginRequest()
        let closes = (busy.quiesce(), busy.finishRequest(at: start), busy.finishRequest(at: start))
        #expect(closes == (false, false, true))
    }

    @Test("An ended connection stays idle even if the client sends more requests")
    func end() {
        var activity = ConnectionActivity(at: start)
        activity.beginRequest()
        activity.beginRequest()
        _ = activity.finishRequest(at: later(1))
        activity.end(at: later(2))
        activity.beginRequest()
        #expect(!activity.isIdle(since: later(2)))
        #expect(activity.isIdle(since: later(3)))
    }
}
