import HTTP
import Limits
import NIOEmbedded
import REST
import Synchronization
import TestSupport
import Testing

@Suite("Memory limits and timeouts of transfers")
struct TransferTimeoutTests {
    private static func makeGuard(memory: Int, grace: Duration) -> TransferTimeout {
        var limits = HTTPServer.Limits()
        limits.transferMemory = memory
        limits.grace = grace
        return TransferTimeout(limits: limits)
    }

    @Test("Rejects transfers when memory is full, but always admits a single one")
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

    @Test("Closes the slowest transfer to make room, but never a completed one")
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
        // The third one ended, the first two haven't, so nothing more fits.
        transferTimeout.end(tickets[2])
        #expect(transferTimeout.heldBytes == 100)
        transferTimeout.rest(late)
        let last = transferTimeout.begin(.answer, on: EmbeddedChannel())
        #expect(!transferTimeout.hold(last, bytes: 1))
    }

    /// Bodies that wait for memory, and those that got it, in order.
    private final class Waiting: Sendable {
        let transferTimeout: TransferTimeout
        private let results = Mutex<[(name: Int, hasRoom: Bool)]>([])

        init(_ transferTimeout: TransferTimeout) { self.transferTimeout = transferTimeout }

        var names: [Int] { results.withLock { $0.filter(\.hasRoom).map(\.name) } }
        var refused: [Int] { results.withLock { $0.filter { !$0.hasRoom }.map(\.name) } }

        func reserve(
            _ name: Int, _ ticket: TransferTimeout.Ticket, _ bytes: Int, of network: String? = nil,
            in lane: TransferState.Lane = .files
        ) -> Task<Void, Never> {
            Task {
                let sender = Sender(address: network ?? "192.0.2.\(name)")
                let hasRoom = await transferTimeout.reserve(ticket, bytes: bytes, of: sender, in: lane)
                results.withLock { $0.append((name, hasRoom)) }
            }
        }
    }

    @Test("Grants reserved memory in order, up to three quarters of it, and rejects no body")
    func turns() async throws {
        let transferTimeout = Self.makeGuard(memory: 400, grace: .seconds(60))
        let waiting = Waiting(transferTimeout)
        let tickets = (0..<5).map { _ in transferTimeout.begin(.body, on: EmbeddedChannel()) }
        for (name, ticket) in tickets.enumerated() {
            _ = waiting.reserve(name, ticket, 150)
            #expect(
                try await eventually {
                    name < 2 ? waiting.names.count == name + 1 : transferTimeout.waiting == name - 1
                })
        }
        #expect(waiting.names == [0, 1])
        #expect(transferTimeout.heldBytes == 300)
        // The unreserved rest is available.
        let other = transferTimeout.begin(.answer, on: EmbeddedChannel())
        #expect(transferTimeout.hold(other, bytes: 100))
        transferTimeout.end(tickets[0])
        #expect(transferTimeout.waiting == 2)
        #expect(try await eventually { waiting.names == [0, 1, 2] })
        for name in 1..<5 {
            #expect(try await eventually { waiting.names.contains(name) })
            transferTimeout.end(tickets[name])
            #expect(try await eventually { waiting.names.count == min(name + 3, 5) })
        }
        #expect(waiting.names == [0, 1, 2, 3, 4])
        transferTimeout.end(other)
        #expect(transferTimeout.heldBytes == 0)
    }

    @Test("Limits a network's share of memory, and serves other networks before its queued bodies")
    func networks() async throws {
        let transferTimeout = Self.makeGuard(memory: 400, grace: .seconds(60))
        let waiting = Waiting(transferTimeout)
        let tickets = (0..<10).map { _ in transferTimeout.begin(.body, on: EmbeddedChannel()) }
        for (name, ticket) in tickets.prefix(7).enumerated() {
            _ = waiting.reserve(name, ticket, 50, of: "192.0.2.1")
            #expect(
                try await eventually {
                    name < 4 ? waiting.names.count == name + 1 : transferTimeout.waiting == name - 3
                })
        }
        #expect(transferTimeout.heldBytes == 200)
        await waiting.reserve(7, tickets[7], 50, of: "198.51.100.1").value
        await waiting.reserve(8, tickets[8], 50, of: "203.0.113.1").value
        #expect(transferTimeout.heldBytes == 300)
        // A third network gets the next free memory, ahead of earlier requests of others.
        let third = waiting.reserve(9, tickets[9], 50, of: "198.51.100.2")
        #expect(try await eventually { transferTimeout.waiting == 4 })
        transferTimeout.end(tickets[0])
        await third.value
        #expect(try await eventually { waiting.names == [0, 1, 2, 3, 7, 8, 9] })
        for name in [7, 8, 9, 1, 2] { transferTimeout.end(tickets[name]) }
        #expect(try await eventually { transferTimeout.waiting == 0 })
        #expect(try await eventually { waiting.names.count == 10 })
        #expect(waiting.names.prefix(7) == [0, 1, 2, 3, 7, 8, 9])
        for ticket in tickets { transferTimeout.end(ticket) }
        #expect(transferTimeout.heldBytes == 0)
    }

    @Test("A body that exceeds its network's share displaces only slow bodies of the same network")
    func ownSlowBodies() async throws {
        let transferTimeout = Self.makeGuard(memory: 400, grace: .zero)
        let waiting = Waiting(transferTimeout)
        let tickets = (0..<4).map { _ in transferTimeout.begin(.body, on: EmbeddedChannel()) }
        await waiting.reserve(0, tickets[0], 50, of: "198.51.100.1").value
        await waiting.reserve(1, tickets[1], 150, of: "192.0.2.1").value
        let last = waiting.reserve(2, tickets[2], 150, of: "192.0.2.1")
        #expect(try await eventually { transferTimeout.waiting == 1 })
        let watch = Task { await transferTimeout.run() }
        await last.value
        watch.cancel()
        #expect(transferTimeout.heldBytes == 200)
        transferTimeout.end(tickets[1])
        #expect(transferTimeout.heldBytes == 200)
        transferTimeout.end(tickets[0])
        #expect(transferTimeout.heldBytes == 150)
    }

    @Test("Cancelled and closed bodies leave the queue, and a single body may exceed the limit")
    func leaving() async throws {
        let transferTimeout = Self.makeGuard(memory: 100, grace: .seconds(60))
        let waiting = Waiting(transferTimeout)
        let tickets = (0..<3).map { _ in transferTimeout.begin(.body, on: EmbeddedChannel()) }
        await waiting.reserve(0, tickets[0], 1000).value
        let cancelled = waiting.reserve(1, tickets[1], 10)
        #expect(try await eventually { transferTimeout.waiting == 1 })
        cancelled.cancel()
        await cancelled.value
        #expect(waiting.refused == [1])
        let closed = waiting.reserve(2, tickets[2], 10)
        #expect(try await eventually { transferTimeout.waiting == 1 })
        transferTimeout.end(tickets[2])
        await closed.value
        #expect(waiting.refused == [1, 2])
    }

    @Test("Drops slow bodies to free memory for queued ones, except those that wait for the server")
    func slowBodies() async throws {
        let transferTimeout = Self.makeGuard(memory: 400, grace: .zero)
        let waiting = Waiting(transferTimeout)
        let tickets = (0..<3).map { _ in transferTimeout.begin(.body, on: EmbeddedChannel()) }
        transferTimeout.moved(tickets[0], bytes: 1_000_000_000, pauses: true)
        await waiting.reserve(0, tickets[0], 150).value
        await waiting.reserve(1, tickets[1], 150).value
        let last = waiting.reserve(2, tickets[2], 150)
        #expect(try await eventually { transferTimeout.waiting == 1 })
        let watch = Task { await transferTimeout.run() }
        await last.value
        watch.cancel()
        #expect(waiting.names == [0, 1, 2])
        #expect(transferTimeout.heldBytes == 300)
        transferTimeout.end(tickets[1])
        #expect(transferTimeout.heldBytes == 300)
    }

    @Test("Doesn't count time spent waiting for the server toward a timeout")
    func pauses() async throws {
        var limits = HTTPServer.Limits()
        (limits.idle, limits.stall) = (.milliseconds(200), .milliseconds(200))
        let transferTimeout = TransferTimeout(limits: limits)
        let channels = [EmbeddedChannel(), EmbeddedChannel()]
        let tickets = channels.map { transferTimeout.begin(.body, on: $0) }
        for ticket in tickets {
            transferTimeout.moved(ticket, bytes: 1, pauses: true)
            #expect(transferTimeout.hold(ticket, bytes: 10))
        }
        transferTimeout.resume(tickets[1])
        let watch = Task { await transferTimeout.run() }
        #expect(try await eventually { transferTimeout.heldBytes == 10 })
        transferTimeout.resume(tickets[0])
        #expect(transferTimeout.heldBytes == 10)
        #expect(try await eventually { transferTimeout.heldBytes == 0 })
        watch.cancel()
    }

    @Test("Drops stalled bodies on shutdown, except those that wait for the server")
    func ending() async throws {
        let transferTimeout = Self.makeGuard(memory: 1000, grace: .milliseconds(100))
        func begin(_ channel: EmbeddedChannel) -> TransferTimeout.Ticket {
            let ticket = transferTimeout.begin(.body, on: channel)
            #expect(transferTimeout.hold(ticket, bytes: 10))
            return ticket
        }
        let channels = [EmbeddedChannel(), EmbeddedChannel(), EmbeddedChannel()]
        let tickets = channels[..<2].map(begin)
        transferTimeout.moved(tickets[1], bytes: 1, pauses: true)
        let watch = Task { await transferTimeout.run() }
        transferTimeout.endStalledBodies()
        #expect(try await eventually { transferTimeout.heldBytes == 10 })
        _ = begin(channels[2])
        #expect(try await eventually { transferTimeout.heldBytes == 10 })
        transferTimeout.resume(tickets[1])
        #expect(try await eventually { transferTimeout.heldBytes == 0 })
        watch.cancel()
    }

    @Test("Times out the rest of a body that stalls after its request was answered")
    func hurried() async throws {
        let transferTimeout = Self.makeGuard(memory: 1000, grace: .milliseconds(100))
        let channels = [EmbeddedChannel(), EmbeddedChannel()]
        let tickets = channels.map { transferTimeout.begin(.body, on: $0) }
        for ticket in tickets { #expect(transferTimeout.hold(ticket, bytes: 10)) }
        let watch = Task { await transferTimeout.run() }
        transferTimeout.hurry(tickets[0])
        #expect(try await eventually { transferTimeout.heldBytes == 10 })
        // The other one may stall for longer.
        #expect(transferTimeout.hold(tickets[1], bytes: 10))
        watch.cancel()
    }

    @Test("Closes transfers of a network that holds far more memory to make room for another")
    func heaviest() {
        let transferTimeout = Self.makeGuard(memory: 100, grace: .seconds(60))
        let (heavy, light) = (Sender(address: "192.0.2.1"), Sender(address: "192.0.2.2"))
        for _ in 0..<10 {
            let ticket = transferTimeout.begin(.input, on: EmbeddedChannel(), of: heavy)
            #expect(transferTimeout.hold(ticket, bytes: 10))
        }
        let own = transferTimeout.begin(.input, on: EmbeddedChannel(), of: heavy)
        #expect(!transferTimeout.hold(own, bytes: 10))
        let tickets = (0..<4).map { _ in transferTimeout.begin(.body, on: EmbeddedChannel(), of: light) }
        #expect(tickets.map { transferTimeout.hold($0, bytes: 10) } == [true, true, true, false])
        #expect(transferTimeout.heldBytes == 100)
        transferTimeout.release(tickets[0], bytes: 4)
        #expect(transferTimeout.heldBytes == 96)
        for ticket in tickets { transferTimeout.end(ticket) }
        #expect(transferTimeout.heldBytes == 70)
    }

    @Test("Limits giant bodies to half of the memory, and doesn't queue smaller ones behind them")
    func lanes() async throws {
        let transferTimeout = Self.makeGuard(memory: 400, grace: .seconds(60))
        let waiting = Waiting(transferTimeout)
        let tickets = (0..<5).map { _ in transferTimeout.begin(.body, on: EmbeddedChannel()) }
        for name in 0..<3 {
            _ = waiting.reserve(name, tickets[name], 100, in: .giant)
            let isPlaced = try await eventually { waiting.names.count + transferTimeout.waiting == name + 1 }
            #expect(isPlaced)
        }
        #expect(waiting.names == [0, 1])
        await waiting.reserve(3, tickets[3], 60, in: .large).value
        await waiting.reserve(4, tickets[4], 40, in: .files).value
        #expect(waiting.names == [0, 1, 3, 4])
        #expect(transferTimeout.waiting == 1)
        for ticket in tickets { transferTimeout.end(ticket) }
        #expect(transferTimeout.heldBytes == 0)
    }
}
