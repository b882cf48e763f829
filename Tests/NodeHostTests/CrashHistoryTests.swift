import NodeHost
import Testing

/// The back-off before a crashed process is restarted.
@Suite struct CrashHistoryTests {
    private static let backOff: [Duration] = [.milliseconds(200), .seconds(1), .seconds(5), .seconds(15), .seconds(30)]

    @Test("Consecutive crashes lengthen the restart delay up to its maximum")
    func row() {
        var history = CrashHistory()
        let pauses = (0..<50).map { _ in history.recordCrash(after: .seconds(1), backOff: Self.backOff) }
        #expect(Array(pauses[..<5]) == Self.backOff)
        #expect(pauses[5...].allSatisfy { $0 == .seconds(30) })
    }

    @Test("A crash after a long uptime resets the restart delay")
    func longLife() {
        var history = CrashHistory()
        for _ in 0..<10 { _ = history.recordCrash(after: .seconds(10), backOff: Self.backOff) }
        #expect(history.recordCrash(after: .seconds(61), backOff: Self.backOff) == .milliseconds(200))
        #expect(history.recordCrash(after: .seconds(10), backOff: Self.backOff) == .seconds(1))
    }
}
