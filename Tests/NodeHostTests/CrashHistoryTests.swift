import Testing

@testable import NodeHost

/// How long is waited before another process is started.
@Suite struct CrashHistoryTests {
    private static let backOff: [Duration] = [.milliseconds(200), .seconds(1), .seconds(5), .seconds(15), .seconds(30)]

    @Test("Each death in a row makes the pause longer, and the fifth within a minute is the last")
    func row() {
        var history = CrashHistory()
        let start = ContinuousClock.now
        let pauses = (0..<5).map { number in
            history.note(at: start + .seconds(number), after: .seconds(1), backOff: Self.backOff)
        }
        #expect(pauses == [.milliseconds(200), .seconds(1), .seconds(5), .seconds(15), nil])
    }

    @Test("Deaths that lie far apart go on with the longest pause, and one after a long life begins anew")
    func apart() {
        var history = CrashHistory()
        let start = ContinuousClock.now
        for number in 0..<10 {
            #expect(
                history.note(at: start + .seconds(number * 20), after: .seconds(10), backOff: Self.backOff) != nil,
                "\(number)")
        }
        #expect(history.note(at: start + .seconds(1000), after: .seconds(1), backOff: Self.backOff) == .seconds(30))
        #expect(
            history.note(at: start + .seconds(2000), after: .seconds(61), backOff: Self.backOff) == .milliseconds(200))
    }
}
