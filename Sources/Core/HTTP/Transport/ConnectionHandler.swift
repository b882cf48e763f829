import Limits
import Logging
import NIOCore
import NIOHTTP1
import NIOSSL
import NIOTLS
import Telemetry

/// Serves connections. SwiftNIO's HTTP/1.1 parser reads the requests, and a task on the connection's event loop answers
/// them one after the other.
struct ConnectionHandler: Sendable {
    let responder: Responder
    let connections: OpenConnections
    let transferTimeout: TransferTimeout
    let limits: HTTPServer.Limits
    /// The TLS certificate, or nil for plain HTTP.
    let certificate: ServerCertificate?
    let logger: Logger
    private let flushCoalescers: [ObjectIdentifier: FlushCoalescer]
    let meters: RequestMeters?
    private let shards: [ObjectIdentifier: RequestMeters.Shard]

    init(
        responder: Responder, connections: OpenConnections, transferTimeout: TransferTimeout,
        limits: HTTPServer.Limits, certificate: ServerCertificate?, eventLoops: any EventLoopGroup,
        meters: RequestMeters?, logger: Logger
    ) {
        self.meters = meters
        self.responder = responder
        self.logger = logger
        self.connections = connections
        self.transferTimeout = transferTimeout
        self.limits = limits
        self.certificate = certificate
        flushCoalescers = Dictionary(
            uniqueKeysWithValues: eventLoops.makeIterator().map { (ObjectIdentifier($0), FlushCoalescer(of: $0)) })
        var shards: [ObjectIdentifier: RequestMeters.Shard] = [:]
        for (index, eventLoop) in eventLoops.makeIterator().enumerated() {
            shards[ObjectIdentifier(eventLoop)] = meters?[index]
        }
        self.shards = shards
    }

    /// Sets up the handlers of an accepted connection. Must be called on its event loop.
    func setUp(_ channel: any Channel) throws -> HTTPConnection {
        let flushCoalescer =
            flushCoalescers[ObjectIdentifier(channel.eventLoop)] ?? FlushCoalescer(of: channel.eventLoop)
        let connection = HTTPConnection(
            channel, flushCoalescer: flushCoalescer, transferTimeout: transferTimeout,
            record: RequestRecord(shards[ObjectIdentifier(channel.eventLoop)]))
        var fields = NIOHTTPDecoderLimitConfiguration()
        fields.maxHeaderFieldSize = limits.headers / 2
        fields.maxHeaderListSize = limits.headers
        fields.maxHeaderFieldCount = Self.maxHeaderFields
        let pipeline = channel.pipeline.syncOperations
        if let certificate {
            try pipeline.addHandler(NIOSSLServerHandler(context: certificate.context))
            try pipeline.addHandler(HandshakeTimeout(limits.handshake))
        }
        let reader = ConnectionReader(connection, connections: connections)
        try pipeline.addHandler(
            ReadPacer(
                connection.parts.input, of: { connection.caller.sender }, later: { connection.later($0) },
                isLate: { connection.isLate() }, expected: { reader.expected }))
        // Weak, because the channel keeps its buffer allocator after the connection has ended.
        let receivesLargeBody = NIOLoopBound(
            { [weak reader] in reader?.expected.isLargeBody ?? false }, eventLoop: channel.eventLoop)
        try channel.syncOptions?.setOption(.recvAllocator, value: ReceiveBuffers { receivesLargeBody.value() })
        // After a request that offers an upgrade, the parser reads no more and would buffer everything that follows.
        try pipeline.addHandler(
            ByteToMessageHandler(
                HTTPRequestDecoder(limitConfiguration: fields), maximumBufferSize: Self.maxUnread * limits.headers))
        try pipeline.addHandler(reader)
        return connection
    }

    /// The maximum number of header fields. Limited, because the parser keeps memory for the connection's largest head.
    private static let maxHeaderFields = 256

    /// The limit on unparsed input, as a multiple of the largest request head.
    private static let maxUnread = 4

    /// Answers the requests of a connection until it ends.
    func handle(_ connection: HTTPConnection) async {
        await withTaskExecutorPreference(EventLoopTaskExecutor(connection.channel.eventLoop)) {
            await CallerPresence.$current.withValue(connection.caller) {
                do {
                    var isResting = true
                    while isResting {
                        await connection.parts.waitUntilReady()
                        // A task keeps its allocated memory until it ends, so it ends when the connection becomes idle.
                        async let rests = answerRequests(on: connection)
                        isResting = try await rests
                    }
                } catch {
                    // For example, the client left, memory is full or a WebSocket handler failed. No error is sent.
                    logger.trace("connection ended", metadata: ["error": "\(error)"])
                }
                connection.close()
            }
        }
    }

    /// Returns true if the connection is idle and can continue, or false if it has ended.
    private func answerRequests(on connection: HTTPConnection) async throws -> Bool {
        var turn = AnswerTurn(at: .now)
        do {
            while let part = try await connection.nextPart(mayRest: true) {
                // The end of a request also arrives here, unless its body was read completely.
                guard case .head(let head) = part else { continue }
                let memory = try transferTimeout.hold(head, on: connection)
                defer { if let memory { transferTimeout.end(memory) } }
                let isUsable = try await responder.respond(to: head, on: connection)
                if connection.activity.withLock({ $0.finishRequest(at: .now) }) || !isUsable { break }
                if turn.isOver(hasRequest: connection.parts.hasRequest, at: .now) {
                    await connection.waitForTurn()
                    turn = AnswerTurn(at: .now)
                }
            }
        } catch let error as HTTPParserError {
            refuse(MalformedRequest(error), on: connection)
        } catch let error as MalformedRequest {
            refuse(error, on: connection)
        }
        if connection.parts.isResting { return true }
        // The connection now counts as idle, so that it is closed if the last responses can't be sent.
        connection.activity.withLock { $0.end(at: .now) }
        if connection.speaksHTTP { try await connection.flush() }
        return false
    }

    private func refuse(_ request: MalformedRequest, on connection: HTTPConnection) {
        meters?.refused.add(.malformed)
        logger.debug(
            "request rejected", metadata: ["reason": "\(request.reason)", "ip": "\(connection.peer)", "status": "400"])
        _ = connection.write(request.answer)
    }
}

/// Passes parsed requests to the connection, registers the connection as open, and reports when the client leaves.
/// After an upgrade, it passes input to the later handlers.
final class ConnectionReader: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = ByteBuffer

    private let connection: HTTPConnection
    private let connections: OpenConnections
    private var open: (head: HTTPRequestHead, received: Int)?

    init(_ connection: HTTPConnection, connections: OpenConnections) {
        self.connection = connection
        self.connections = connections
    }

    /// The kind of input that the parser expects next.
    var expected: ReadPacer.Expected {
        guard connection.speaksHTTP else { return .frames }
        guard let open else { return .head }
        guard !open.head.headers.contains(name: "Transfer-Encoding"),
            let length = open.head.headers.first(name: "Content-Length").flatMap({ Int($0) }), length > open.received
        else { return .chunks }
        return .body(length - open.received)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        connections.insert(connection)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        connections.remove(connection)
        connection.caller.leave()
        connection.parts.finish(.success(()))
    }

    func read(context: ChannelHandlerContext) {
        if !connection.speaksHTTP || connection.mayRead() { context.read() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard connection.speaksHTTP else { return context.fireChannelRead(data) }
        var part = unwrapInboundIn(data)
        var isHead = false
        switch part {
        case .head(let head):
            (open, isHead) = ((head, 0), true)
            connection.activity.withLock { $0.beginRequest() }
        case .body(let piece): open?.received += piece.readableBytes
        case .end:
            open = nil
            // Trailers are ignored.
            part = .end(nil)
        }
        connection.parts.append(part, bytes: connection.parts.input.drainPassed(ofHead: isHead))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        connection.parts.finish(.failure(error))
        if !connection.speaksHTTP { context.fireErrorCaught(error) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case ReadPacer.Event.inputEnds: connection.caller.leave()
        case ChannelEvent.inputClosed:
            // A client that closes its sending side counts as disconnected, which stops slow reads and ends waits for
            // slots and memory. If there is a response anyway, it is sent.
            connection.caller.leave()
            connection.parts.finish(.success(()))
        default: break
        }
        context.fireUserInboundEventTriggered(event)
    }
}

/// Closes a connection whose client doesn't complete the TLS handshake in time. Removes itself after the handshake.
final class HandshakeTimeout: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let limit: TimeAmount
    private var timer: Scheduled<Void>?

    init(_ limit: Duration) {
        self.limit = TimeAmount(limit)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        timer = context.eventLoop.scheduleTask(in: limit) { channel.abort() }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        context.fireUserInboundEventTriggered(event)
        guard case TLSUserEvent.handshakeCompleted? = event as? TLSUserEvent else { return }
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }
}

/// Flushes the responses written during one turn of an event loop together at its end.
///
/// The first response wakes a client. On a machine with few CPUs, the client preempts the server, reads that one
/// response and waits again, and so on for each response. If the others follow closely, the client reads several at
/// once.
package final class FlushCoalescer: Sendable {
    private let eventLoop: any EventLoop
    private let channels: NIOLoopBoundBox<[any Channel]>

    package init(of eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
        channels = .makeBoxSendingValue([], eventLoop: eventLoop)
    }

    /// Flushes a channel at the end of the loop's turn, or immediately if called from another thread.
    func flush(_ channel: any Channel) {
        guard eventLoop.inEventLoop else { return channel.flush() }
        channels.value.append(channel)
        // Tasks of this turn that are already queued run first.
        if channels.value.count == 1 { eventLoop.execute { self.flushAll() } }
    }

    private func flushAll() {
        var index = 0
        while index < channels.value.count {
            channels.value[index].flush()
            index += 1
        }
        channels.value.removeAll(keepingCapacity: true)
    }
}

/// Runs the tasks of a connection on its own event loop, so that a database result reaches the socket without another
/// thread switch.
package final class EventLoopTaskExecutor: TaskExecutor {
    private let eventLoop: any EventLoop

    package init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        eventLoop.execute { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}
