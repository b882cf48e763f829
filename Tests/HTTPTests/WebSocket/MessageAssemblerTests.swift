import HTTP
import Limits
import NIOCore
import NIOEmbedded
import NIOWebSocket
import Testing

@Suite("Attacks with WebSocket frames")
struct MessageAssemblerTests {
    /// Reads a limited number of messages.
    private final class Taker: ChannelDuplexHandler {
        typealias InboundIn = WebSocketFrame
        typealias OutboundIn = WebSocketFrame

        private(set) var texts: [String] = []
        /// The maximum number of messages.
        var wanted = Int.max

        func read(context: ChannelHandlerContext) { if texts.count < wanted { context.read() } }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            texts.append(String(buffer: unwrapInboundIn(data).unmaskedData))
        }
    }

    /// Records outgoing frames.
    private final class Sent: ChannelOutboundHandler {
        typealias OutboundIn = WebSocketFrame

        private(set) var frames: [WebSocketFrame] = []

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            frames.append(unwrapOutboundIn(data))
            promise?.succeed()
        }

        var pongs: [String] { frames.filter { $0.opcode == .pong }.map { String(buffer: $0.data) } }

        /// The codes of close frames.
        var codes: [WebSocketErrorCode?] {
            frames.filter { $0.opcode == .connectionClose }.map { frame in
                var data = frame.data
                return data.readWebSocketErrorCode()
            }
        }
    }

    private final class Turns {
        private(set) var waiting: [() -> Void] = []

        func add(_ work: @escaping () -> Void) { waiting.append(work) }

        func run() {
            let works = waiting
            waiting = []
            for work in works { work() }
        }
    }

    private let channel = EmbeddedChannel()
    private let taker = Taker()
    private let sent = Sent()
    private let turns = Turns()
    private let client: WebSocketClient
    private let transferTimeout: TransferTimeout

    init() throws {
        var limits = HTTPServer.Limits()
        limits.transferMemory = 1024 * 1024
        transferTimeout = TransferTimeout(limits: limits)
        client = WebSocketClient(sender: Sender(address: "192.0.2.1"), isKnown: false)
        try Self.set(up: channel, client, transferTimeout, [sent], [taker], turns)
    }

    private static func set(
        up channel: EmbeddedChannel, _ client: WebSocketClient, _ transferTimeout: TransferTimeout,
        _ before: [any ChannelHandler], _ behind: [any ChannelHandler], _ turns: Turns
    ) throws {
        let assembler = MessageAssembler(client, HeldInput(transferTimeout), transferTimeout) { turns.add($0) }
        try channel.pipeline.syncOperations.addHandlers(before + [assembler] + behind)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        channel.read()
    }

    private static func frame(_ opcode: UInt8, _ text: String = "", isLast: Bool = true, length: Int? = nil) -> [UInt8]
    {
        let length = length ?? text.utf8.count
        let size: [UInt8] =
            length < 126
            ? [0x80 | UInt8(length)]
            : [0xFF] + (0..<8).map { UInt8(truncatingIfNeeded: UInt64(length) >> (56 - 8 * $0)) }
        return [(isLast ? 0x80 : 0) | opcode] + size + [0, 0, 0, 0] + Array(text.utf8)
    }

    private func send(_ bytes: [UInt8]) throws { try channel.writeInbound(ByteBuffer(bytes: bytes)) }

    @Test("Reads a limited number of pings per turn and answers only the latest of them")
    func pings() throws {
        try send((0..<40).flatMap { Self.frame(9, "\($0)") })
        #expect(sent.pongs == ["15"])
        turns.run()
        #expect(sent.pongs == ["15", "31"])
        turns.run()
        #expect(sent.pongs == ["15", "31", "39"])
        #expect(turns.waiting.isEmpty)
        #expect(client.wasHeard())
        #expect(taker.texts.isEmpty)
    }

    @Test("Passes on a limited number of text messages per turn, and no more than requested")
    func texts() throws {
        taker.wanted = 20
        try send((0..<40).flatMap { Self.frame(1, "\($0)") })
        #expect(taker.texts == (0..<16).map { "\($0)" })
        turns.run()
        #expect(taker.texts == (0..<20).map { "\($0)" })
        taker.wanted = 40
        channel.read()
        turns.run()
        #expect(taker.texts == (0..<40).map { "\($0)" })
    }

    @Test("Disconnects a client that exceeds the frame rate with 1008", arguments: [UInt8(9), 10, 1])
    func rate(opcode: UInt8) throws {
        let frames = (0..<64).flatMap { _ in Self.frame(opcode, "x") }
        for _ in 0..<MessageAssembler.maxFrames / 64 {
            try send(frames)
            while !turns.waiting.isEmpty { turns.run() }
        }
        #expect(sent.codes.isEmpty)
        for _ in 0..<16 where sent.codes.isEmpty {
            try? send(frames)
            while !turns.waiting.isEmpty { turns.run() }
        }
        #expect(sent.codes == [.policyViolation])
        #expect(!channel.isActive)
    }

    @Test("Limits messages to 64 KB before authentication and 1 MB after it, by their declared length")
    func sizes() throws {
        try send(Self.frame(1, length: MessageAssembler.largestOfStranger))
        #expect(sent.codes.isEmpty)
        try send(Array(repeating: 0x61, count: MessageAssembler.largestOfStranger))
        #expect(taker.texts.first?.utf8.count == MessageAssembler.largestOfStranger)
        client.becomeKnown()
        try send(Self.frame(1, length: MessageAssembler.largestMessage))
        #expect(sent.codes.isEmpty)
        let (other, frames) = (EmbeddedChannel(), Sent())
        let stranger = WebSocketClient(sender: .server, isKnown: false)
        try Self.set(up: other, stranger, transferTimeout, [frames], [Taker()], Turns())
        try other.writeInbound(ByteBuffer(bytes: Self.frame(1, length: MessageAssembler.largestOfStranger + 1)))
        #expect(frames.codes == [.messageTooLarge])
    }

    @Test("Counts partial messages as transfer memory, and limits each network to a quarter of it")
    func memory() throws {
        client.becomeKnown()
        let quarter = 256 * 1024
        let header = Self.frame(1, length: quarter + 1)
        try send(header + Array(repeating: 0x61, count: quarter - header.count))
        #expect(transferTimeout.heldBytes == quarter)
        let (second, frames) = (EmbeddedChannel(), Sent())
        try Self.set(up: second, client, transferTimeout, [frames], [Taker()], Turns())
        try second.writeInbound(ByteBuffer(bytes: header + Array(repeating: 0x61, count: 10_000)))
        #expect(frames.codes == [WebSocketErrorCode(codeNumber: 1013)])
        // Another network has a separate limit.
        let (third, others) = (EmbeddedChannel(), Sent())
        let other = WebSocketClient(sender: Sender(address: "192.0.2.2"), isKnown: true)
        try Self.set(up: third, other, transferTimeout, [others], [Taker()], Turns())
        try third.writeInbound(ByteBuffer(bytes: header + Array(repeating: 0x61, count: 10_000)))
        #expect(others.codes.isEmpty)
        #expect(transferTimeout.heldBytes == quarter + header.count + 10_000)
        try send(Array(repeating: 0x61, count: header.count + 1))
        #expect(taker.texts.first?.utf8.count == quarter + 1)
        #expect(transferTimeout.heldBytes == header.count + 10_000)
        third.close(promise: nil)
        third.embeddedEventLoop.run()
        #expect(transferTimeout.heldBytes == 0)
    }

    @Test("Disconnects a client that doesn't complete its message in time", arguments: [false, true])
    func time(isWhole: Bool) throws {
        try send(isWhole ? Self.frame(1, "a", isLast: false) : Self.frame(1, length: 10))
        channel.embeddedEventLoop.advanceTime(by: .seconds(19))
        try send(isWhole ? Self.frame(9) : [0x61])
        #expect(sent.codes.isEmpty)
        channel.embeddedEventLoop.advanceTime(by: .seconds(2))
        #expect(sent.codes == [.policyViolation])
    }
}
