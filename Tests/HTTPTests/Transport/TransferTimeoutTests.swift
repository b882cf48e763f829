import NIOEmbedded
import Testing

@testable import HTTP
@testable import REST

@Suite("What transfers keep in memory")
struct TransferTimeoutTests {
    private static func makeGuard(memory: Int, grace: Duration) -> TransferTimeout {
        var limits = HTTPServer.Limits()
        limits.transferMemory = memory
        limits.grace = grace
        return TransferTimeout(limits: limits)
    }

    @Test("A transfer that comes when there is no room is refused, unless it is alone")
    func full() {
        let transferTimeout = Self.makeGuard(memory: 100, grace: .seconds(60))
        let first = transferTimeout.begin(.answer, on: EmbeddedChannel())
        #expect(transferTimeout.hold(first, bytes: 1000))
        let second = transferTimeout.begin(.body, on: EmbeddedChannel())
        #expect(!transferTimeout.hold(second, bytes: 1))
        transferTimeout.end(first)
        #expect(transferTimeout.heldBytes == 0)
        #expect(transferTimeout.hold(second, bytes: 50))
        #expect(transferTimeout.hold(second, bytes: 50))
        #expect(transferTimeout.heldBytes == 100)
        transferTimeout.end(second)
        transferTimeout.end(second)
        #expect(transferTimeout.heldBytes == 0)
    }

    @Test("The slowest make room; those that wait for the server do not")
    func slowest() {
        let transferTimeout = Self.makeGuard(memory: 100, grace: .zero)
        let channels = (0..<3).map { _ in EmbeddedChannel() }
        let tickets = channels.map { transferTimeout.begin(.answer, on: $0) }
        for ticket in tickets { #expect(transferTimeout.hold(ticket, bytes: 30)) }
        transferTimeout.rest(tickets[0])
        transferTimeout.moved(tickets[1], bytes: 1_000_000_000)
        let late = transferTimeout.begin(.answer, on: EmbeddedChannel())
        #expect(transferTimeout.hold(late, bytes: 40))
        #expect(transferTimeout.heldBytes == 100)
        // The third is gone, the first and the second are not: nothing more fits.
        transferTimeout.end(tickets[2])
        #expect(transferTimeout.heldBytes == 100)
        transferTimeout.rest(late)
        let last = transferTimeout.begin(.answer, on: EmbeddedChannel())
        #expect(!transferTimeout.hold(last, bytes: 1))
    }
}
