import HTTP
import Limits
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOPosix
import REST
import Synchronization
import TestSupport
import Testing

@Suite("Queued request parts of a connection")
struct RequestPartsTests {
    private static func head() -> HTTPServerRequestPart {
        .head(HTTPRequestHead(version: .http1_1, method: .GET, uri: "/"))
    }

    @Test("Counts queued parts as memory, and is full with one head or many body bytes")
    func bytes() async throws {
        let transferTimeout = TransferTimeout(limits: HTTPServer.Limits())
        let input = HeldInput(transferTimeout)
        let parts = RequestParts(input)
        let channel = EmbeddedChannel()
        func add(_ part: HTTPServerRequestPart, isHead: Bool = false) {
            input.add(60_000)
            input.pass(60_000)
            parts.append(part, bytes: input.drainPassed(ofHead: isHead))
            #expect(input.hold(on: channel, of: .server))
        }
        for number in 1...3 {
            #expect(!parts.isFull)
            add(.body(ByteBuffer(repeating: 1, count: 60_000)))
            #expect(transferTimeout.heldBytes == number * 60_000)
        }
        #expect(parts.isFull)
        #expect(!parts.hasRequest)
        for _ in 0..<3 { _ = try await parts.next() }
        #expect(!parts.isFull)
        add(Self.head(), isHead: true)
        #expect(parts.isFull)
        #expect(parts.hasRequest)
        _ = try await parts.next()
        #expect(!parts.isFull)
        #expect(transferTimeout.heldBytes == 0)
    }

    @Test("A connection rests while it waits for a request, but not for a body, and wakes for the next part")
    func rest() async throws {
        let parts = RequestParts(HeldInput(TransferTimeout(limits: HTTPServer.Limits())))
        let waiting = Task { try await parts.next(mayRest: true) }
        let isSentAway = try await eventually {
            parts.rest()
            return parts.isResting
        }
        #expect(isSentAway)
        #expect(try await waiting.value == nil)
        let woken = Task { await parts.waitUntilReady() }
        parts.append(Self.head(), bytes: 1)
        await woken.value
        #expect(!parts.isResting)
        #expect(try await parts.next(mayRest: true) == Self.head())
        let body = Task { try await parts.next() }
        for _ in 0..<10 {
            parts.rest()
            try await Task.sleep(for: .milliseconds(5))
        }
        parts.append(.end(nil), bytes: 1)
        #expect(try await body.value == .end(nil))
        #expect(!parts.isResting)
        parts.finish(.success(()))
        await parts.waitUntilReady()
        #expect(try await parts.next(mayRest: true) == nil)
        #expect(!parts.isResting)
    }

    @Test("Input of an exempt client is counted, but never rejected")
    func excused() {
        var limits = HTTPServer.Limits()
        (limits.transferMemory, limits.grace) = (100_000, .zero)
        let transferTimeout = TransferTimeout(limits: limits)
        let (waiting, other) = (HeldInput(transferTimeout), HeldInput(transferTimeout))
        waiting.exempt(true)
        for _ in 0..<2 {
            waiting.add(60_000)
            #expect(waiting.hold(on: EmbeddedChannel(), of: .server))
        }
        #expect(transferTimeout.heldBytes == 120_000)
        other.add(5_000)
        #expect(!other.hold(on: EmbeddedChannel(), of: .server))
        #expect(transferTimeout.heldBytes == 120_000)
        waiting.exempt(false)
        waiting.removeAll()
        #expect(other.hold(on: EmbeddedChannel(), of: .server))
    }

    @Test("A connection's turn ends after eight requests or one millisecond")
    func turns() {
        let now = ContinuousClock.now
        var turn = AnswerTurn(at: now)
        let isOver = (0..<8).map { _ in turn.isOver(hasRequest: true, at: now) }
        #expect(isOver == [false, false, false, false, false, false, false, true])
        turn = AnswerTurn(at: now)
        let inTime = turn.isOver(hasRequest: true, at: now + .microseconds(999))
        let late = turn.isOver(hasRequest: true, at: now + .milliseconds(1))
        #expect(!inTime)
        #expect(late)
        // A connection that waits for its client starts a new turn.
        turn = AnswerTurn(at: now)
        for _ in 0..<20 {
            let last = turn.isOver(hasRequest: false, at: now + .seconds(1))
            #expect(!last)
        }
    }

    @Test("Runs queued work after the event loop's tasks, round robin by sender")
    func loopQueue() async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let order = Lines()
        let senders = [Sender(address: "192.0.2.1"), Sender(address: "192.0.2.2")]
        try await loop.submit {
            let turns = try #require(LoopQueue.of(loop))
            for number in 0..<3 { turns.later(of: senders[0]) { order.append("a\(number)") } }
            turns.later(of: senders[1]) { order.append("b") }
            // Tasks of the event loop run first, because they don't take turns.
            loop.execute { loop.execute { order.append("loop") } }
        }.get()
        let isDone = try await eventually { order.all.count == 5 }
        #expect(isDone)
        #expect(order.all == ["loop", "a0", "b", "a1", "a2"])
    }
}
