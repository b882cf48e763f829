import NIOEmbedded
import Testing

@testable import ParseHTTP

@Suite("What transfers keep in memory")
struct StallGuardTests {
    private static func makeGuard(memory: Int, grace: Duration) -> StallGuard {
        var limits = ParseServer.Limits()
        limits.transferMemory = memory
        limits.grace = grace
        return StallGuard(limits: limits)
    }

    @Test("Whoever comes when there is no room is refused, unless it is alone")
    func full() {
        let stallGuard = Self.makeGuard(memory: 100, grace: .seconds(60))
        let first = stallGuard.begin(.answer, on: EmbeddedChannel())
        #expect(stallGuard.hold(first, bytes: 1000))
        let second = stallGuard.begin(.body, on: EmbeddedChannel())
        #expect(!stallGuard.hold(second, bytes: 1))
        stallGuard.end(first)
        #expect(stallGuard.heldBytes == 0)
        #expect(stallGuard.hold(second, bytes: 50))
        #expect(stallGuard.hold(second, bytes: 50))
        #expect(stallGuard.heldBytes == 100)
        stallGuard.end(second)
        stallGuard.end(second)
        #expect(stallGuard.heldBytes == 0)
    }

    @Test("The slowest make room; those that wait for the server do not")
    func slowest() {
        let stallGuard = Self.makeGuard(memory: 100, grace: .zero)
        let channels = (0..<3).map { _ in EmbeddedChannel() }
        let tickets = channels.map { stallGuard.begin(.answer, on: $0) }
        for ticket in tickets { #expect(stallGuard.hold(ticket, bytes: 30)) }
        stallGuard.rest(tickets[0])
        stallGuard.moved(tickets[1], bytes: 1_000_000_000)
        let late = stallGuard.begin(.answer, on: EmbeddedChannel())
        #expect(stallGuard.hold(late, bytes: 40))
        #expect(stallGuard.heldBytes == 100)
        // The third is gone, the first and the second are not: nothing more fits.
        stallGuard.end(tickets[2])
        #expect(stallGuard.heldBytes == 100)
        stallGuard.rest(late)
        let last = stallGuard.begin(.answer, on: EmbeddedChannel())
        #expect(!stallGuard.hold(last, bytes: 1))
    }
}
