import HTTP
import NIOCore
import NIOEmbedded
import Testing

@Suite("Pacing of received bytes")
struct ReadPacerTests {
    /// Reads only when the test allows it, and records the data.
    private final class Reader: ChannelDuplexHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundIn = ByteBuffer

        private(set) var received: [String] = []
        private(set) var hasEnd = false
        /// The time needed per chunk.
        var time = Duration.zero
        private(set) var knowsOfEnd = false
        /// The number of body bytes to expect, and what follows them.
        var bodyToCome = 0
        var expected = ReadPacer.Expected.head
        private var allowance = 0

        /// Allows a number of further chunks.
        func take(_ count: Int, of channel: EmbeddedChannel) {
            allowance += count
            channel.read()
        }

        func read(context: ChannelHandlerContext) {
            guard allowance > 0 else { return }
            allowance -= 1
            context.read()
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            received.append(String(buffer: unwrapInboundIn(data)))
            let end = ContinuousClock.now + time
            while ContinuousClock.now < end {}
            bodyToCome = max(0, bodyToCome - (received.last?.utf8.count ?? 0))
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if case .inputClosed? = event as? ChannelEvent { hasEnd = true }
            if case .inputEnds? = event as? ReadPacer.Event { knowsOfEnd = true }
        }
    }

    private static let slice = ReadPacer.sliceSize

    private let channel = EmbeddedChannel()
    private let reader = Reader()
    private let transferTimeout: TransferTimeout
    private let input: HeldInput
    private let turns = Turns()

    /// Runs turns immediately, or when the test says so.
    private final class Turns {
        var isHeld = false
        var isLate = false
        private(set) var waiting: [() -> Void] = []

        func add(_ work: @escaping () -> Void) { if isHeld { waiting.append(work) } else { work() } }

        func run() {
            let works = waiting
            waiting = []
            for work in works { work() }
        }
    }

    init() throws {
        var limits = HTTPServer.Limits()
        limits.transferMemory = 1024 * 1024
        limits.grace = .zero
        transferTimeout = TransferTimeout(limits: limits)
        input = HeldInput(transferTimeout)
        let pacer = ReadPacer(
            input, of: { .server }, later: { [turns] in turns.add($0) }, isLate: { [turns] in turns.isLate },
            expected: { [reader] in reader.bodyToCome > 0 ? .body(reader.bodyToCome) : reader.expected })
        let handlers: [any ChannelHandler] = [pacer, reader]
        try channel.pipeline.syncOperations.addHandlers(handlers)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    /// A text of the given size without repeated slices.
    private static func text(_ size: Int) -> String {
        String((0..<size / 10 + 1).map { "\(1_000_000_000 + $0)" }.joined().prefix(size))
    }

    private func send(_ text: String) throws { try channel.writeInbound(ByteBuffer(string: text)) }

    @Test("Passes on small input unchanged, once per read")
    func small() throws {
        reader.take(1, of: channel)
        try send("a")
        #expect(reader.received == ["a"])
        try send("b")
        #expect(reader.received == ["a"])
        reader.take(1, of: channel)
        #expect(reader.received == ["a", "b"])
    }

    @Test("Passes on large input in order, one slice per read")
    func slices() throws {
        let first = Self.text(3 * Self.slice + 5)
        let second = Self.text(Self.slice)
        reader.take(1, of: channel)
        try send(first)
        try send(second)
        #expect(reader.received.map(\.utf8.count) == [Self.slice])
        reader.take(2, of: channel)
        #expect(reader.received.map(\.utf8.count) == [Self.slice, Self.slice, Self.slice])
        reader.take(10, of: channel)
        #expect(reader.received.map(\.utf8.count) == [Self.slice, Self.slice, Self.slice, 5, Self.slice])
        #expect(reader.received.joined() == first + second)
    }

    @Test("Passes on a body unsplit, and what follows it in slices")
    func body() throws {
        reader.bodyToCome = 7 * Self.slice + 1
        let text = Self.text(10 * Self.slice)
        try send(String(text.prefix(5 * Self.slice)))
        try send(String(text.dropFirst(5 * Self.slice)))
        reader.take(10, of: channel)
        #expect(
            reader.received.map(\.utf8.count) == [
                5 * Self.slice, 2 * Self.slice + 1, Self.slice, Self.slice, Self.slice - 1,
            ])
        #expect(reader.received.joined() == text)
    }

    @Test("Announces the end of input immediately, and signals it again after the last byte")
    func end() throws {
        try send(Self.text(2 * Self.slice))
        channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        #expect(reader.knowsOfEnd)
        reader.take(1, of: channel)
        #expect(!reader.hasEnd)
        reader.take(2, of: channel)
        #expect(reader.received.count == 2)
        #expect(reader.hasEnd)
    }

    private static let head = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"

    @Test("A slice contains a single request head, or a whole body")
    func heads() throws {
        try send(String(repeating: Self.head, count: 20))
        reader.take(3, of: channel)
        #expect(reader.received == Array(repeating: Self.head, count: 3))
        reader.take(17, of: channel)
        #expect(reader.received.count == 20)
        // A body is not split, even if it contains what looks like heads.
        let body = String(repeating: "\r\n\r\n", count: 100)
        reader.bodyToCome = body.utf8.count
        try send(body + String(repeating: Self.head, count: 2))
        reader.take(2, of: channel)
        #expect(reader.received.suffix(2) == [body, Self.head])
        // Input that fits is split, too.
        reader.take(2, of: channel)
        try send(String(repeating: Self.head, count: 2))
        #expect(reader.received.suffix(3) == [Self.head, Self.head, Self.head])
    }

    @Test("Limits the request heads after chunks in a slice, but doesn't limit frames")
    func otherInput() throws {
        let text = String(repeating: "1\r\n \r\n", count: 100) + String(repeating: "0\r\n\r\n", count: 20)
        reader.expected = .chunks
        try send(text)
        reader.take(1, of: channel)
        #expect(reader.received.map(\.utf8.count) == [100 * 6 + ReadPacer.maxBlocks * 5])
        reader.expected = .frames
        reader.take(1, of: channel)
        #expect(reader.received.joined() == text)
    }

    @Test("Counts overhead for each line of an incomplete head, but not for lines of chunks")
    func lines() throws {
        let lines = String(repeating: "x:\r\n", count: 100)
        reader.take(1, of: channel)
        try send(lines)
        #expect(transferTimeout.heldBytes == 400 + 100 * HeldInput.line)
        #expect(input.drainPassed(ofHead: true) == 400 + 100 * HeldInput.line)
        input.remove(400 + 100 * HeldInput.line)
        #expect(transferTimeout.heldBytes == 0)
        reader.take(1, of: channel)
        try send(lines)
        #expect(input.drainPassed() == 400)
        input.remove(400)
        #expect(transferTimeout.heldBytes == 0)
    }

    @Test("Delays received bytes by a turn if the event loop is late")
    func late() throws {
        (turns.isHeld, turns.isLate) = (true, true)
        reader.take(2, of: channel)
        try send("a")
        try send("b")
        #expect(reader.received.isEmpty)
        #expect(turns.waiting.count == 1)
        turns.run()
        #expect(reader.received == ["a", "b"])
    }

    @Test("Yields to other connections before the next slice if processing was slow")
    func turn() throws {
        turns.isHeld = true
        try send(Self.text(10 * Self.slice))
        reader.time = .milliseconds(1)
        reader.take(10, of: channel)
        #expect(reader.received.count == 1)
        #expect(turns.waiting.count == 1)
        reader.time = .zero
        turns.isHeld = false
        turns.run()
        #expect(reader.received.count == 10)
        #expect(turns.waiting.isEmpty)
    }

    @Test("Counts waiting input as transfer memory beyond a small allowance, until it is consumed")
    func counted() throws {
        try send(Self.text(HeldInput.uncounted))
        #expect(transferTimeout.heldBytes == 0)
        try send(Self.text(100_000))
        #expect(transferTimeout.heldBytes == HeldInput.uncounted + 100_000)
        reader.take(100, of: channel)
        #expect(reader.received.map(\.utf8.count).reduce(0, +) == HeldInput.uncounted + 100_000)
        #expect(input.drainPassed() == HeldInput.uncounted + 100_000)
        // The receiver subtracts the bytes that it takes.
        input.remove(50_000)
        #expect(transferTimeout.heldBytes == HeldInput.uncounted + 50_000)
        input.remove(50_000)
        #expect(transferTimeout.heldBytes == 0)
        #expect(channel.isActive)
    }

    @Test("Closes a connection whose input exceeds the transfer memory")
    func noMemory() throws {
        let other = transferTimeout.begin(.answer, on: EmbeddedChannel())
        #expect(transferTimeout.hold(other, bytes: 1024 * 1024))
        transferTimeout.rest(other)
        try send(Self.text(HeldInput.uncounted + 1))
        // Bytes received before the connection is closed are discarded, because earlier ones are missing.
        reader.take(1, of: channel)
        try send("a")
        #expect(reader.received.isEmpty)
        channel.embeddedEventLoop.run()
        #expect(!channel.isActive)
        #expect(transferTimeout.heldBytes == 1024 * 1024)
        reader.take(100, of: channel)
        #expect(reader.received.isEmpty)
    }

    @Test("Releases the memory of a closed connection")
    func closing() throws {
        try send(Self.text(HeldInput.uncounted + 1))
        #expect(transferTimeout.heldBytes > 0)
        channel.close(promise: nil)
        channel.embeddedEventLoop.run()
        #expect(transferTimeout.heldBytes == 0)
    }
}
