import Synchronization
import Telemetry
import Testing

@Suite("Readiness")
struct ReadinessTests {
    private static let up = Readiness.Check(isUp: true)
    private static let down = Readiness.Check(isUp: false, reason: "gone")

    @Test("Readiness is known once every expected check has reported")
    func known() {
        let readiness = Readiness()
        readiness.expect(["database"])
        #expect(!readiness.isKnown)
        readiness.record(Self.up, of: "databaseWrites", isNeeded: false)
        #expect(!readiness.isKnown)
        readiness.record(Self.down, of: "database", isNeeded: true)
        #expect(readiness.isKnown)
    }

    @Test("Depends on phase and checks, and tolerates one failed check but not two in a row")
    func states() {
        let readiness = Readiness()
        #expect(readiness.summary.status == .unready)
        readiness.record(Self.up, of: "database", isNeeded: true)
        #expect(readiness.summary.status == .unready)
        readiness.enter(.serving)
        #expect(readiness.summary.status == .ready)
        readiness.record(Self.down, of: "database", isNeeded: true)
        #expect(readiness.summary.status == .ready)
        readiness.record(Self.down, of: "database", isNeeded: true)
        #expect(readiness.summary.status == .unready)
        #expect(readiness.isUp("database") == false)
        readiness.record(Self.up, of: "database", isNeeded: true)
        #expect(readiness.summary.status == .ready)
        for _ in 0..<2 { readiness.record(Self.down, of: "replica", isNeeded: false) }
        #expect(readiness.summary.status == .degraded)
        readiness.enter(.draining)
        #expect(readiness.summary.status == .unready)
    }

    /// Responds until frozen.
    private final class Freezing: ReadinessProbe {
        let probeName = "database"
        let isNeeded = true
        let isFrozen = Atomic(false)

        func probe() async throws -> [(name: String, value: Double)] {
            if isFrozen.load(ordering: .relaxed) { try await Task.sleep(for: .seconds(600)) }
            return [("x", 1)]
        }
    }

    @Test("Detects that a probe hangs and that it recovers")
    func frozen() async throws {
        let probe = Freezing()
        let readiness = Readiness()
        readiness.enter(.serving)
        let prober = Prober([probe], readiness, pause: .milliseconds(200), limit: .milliseconds(100))
        let task = Task { await prober.run() }
        while readiness.isUp("database") == nil { try await Task.sleep(for: .milliseconds(5)) }
        #expect(readiness.summary.status == .ready)
        probe.isFrozen.store(true, ordering: .relaxed)
        let start = ContinuousClock.now
        while readiness.summary.status != .unready, .now - start < .seconds(30) {
            try await Task.sleep(for: .milliseconds(5))
        }
        #expect(readiness.summary.status == .unready)
        probe.isFrozen.store(false, ordering: .relaxed)
        while readiness.summary.status != .ready, .now - start < .seconds(60) {
            try await Task.sleep(for: .milliseconds(5))
        }
        #expect(readiness.summary.status == .ready)
        task.cancel()
        await task.value
    }
}
