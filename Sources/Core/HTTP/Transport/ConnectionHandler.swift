import Logging
import NIOCore
import NIOHTTP1
import NIOSSL
import NIOTLS
import Tasks
import Telemetry

/// Serves connections: SwiftNIO's parser of HTTP/1.1 in front, and behind it a task on the connection's event loop that
/// answers one request after the other, and writes the answers to the socket.
struct ConnectionHandler: Sendable {
    let responder: Responder
    let connections: OpenConnections
    let transferTimeout: TransferTimeout
    let limits: HTTPServer.Limits
    /// By what connections speak TLS; nil for plain HTTP.
    let certificate: ServerCertificate?
    let logger: Logger
    private let flushCoalescers: [ObjectIdentifier: FlushCoalescer]
    private let meters: RequestMeters?
    private let shards: [ObjectIdentifier: RequestMeters.Shard]

    /// - Parameters:
    ///   - eventLoops: Those on which connections come.
    ///   - meters: What is measured of requests; nil for nothing.
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

    /// Puts the parser in front of a connection that was just accepted. To be called on its event loop.
    func setUp(_ channel: any Channel) throws -> HTTPConnection {
        let flushCoalescer =
            flushCoalescers[ObjectIdentifier(channel.eventLoop)] ?? FlushCoalescer(of: channel.eventLoop)
        let connection = HTTPConnection(
            channel, flushCoalescer: flushCoalescer, transferTimeout: transferTimeout,
            record: RequestRecord(shards[ObjectIdentifier(channel.eventLoop)]))
        var fields = NIOHTTPDecoderLimitConfiguration()
        fields.maxHeaderFieldSize = limits.headers / 2
        fields.maxHeaderListSize = limits.headers
        fields.maxHeaderFieldCount = Self.mostHeaderFields
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
        // The channel keeps its buffers after the end of the connection.
        let receivesLargeBody = NIOLoopBound(
            { [weak reader] in reader?.expected.isLargeBody ?? false }, eventLoop: channel.eventLoop)
        try channel.syncOptions?.setOption(.recvAllocator, value: ReceiveBuffers { receivesLargeBody.value() })
        // Behind a request that offers an upgrade the parser reads nothing more, and would keep all that comes.
        try pipeline.addHandler(
            ByteToMessageHandler(
                HTTPRequestDecoder(limitConfiguration: fields), maximumBufferSize: Self.mostUnread * limits.headers))
        try pipeline.addHandler(reader)
        return connection
    }

    /// Bounded because the parser keeps room for the connection's largest head.
    private static let mostHeaderFields = 256

    /// Limit of unparsed input, in request heads.
    private static let mostUnread = 4

    /// Answers the requests of a connection until there are no more.
    func handle(_ connection: HTTPConnection) async {
        await withTaskExecutorPreference(EventLoopTaskExecutor(connection.channel.eventLoop)) {
            await CallerPresence.$current.withValue(connection.caller) {
                do {
                    var isResting = true
                    while isResting {
                        await connection.parts.waitUntilReady()
                        // A task keeps the memory of its calls until it ends.
                        async let rests = answerRequests(on: connection)
                        isResting = try await rests
                    }
                } catch {
                    // The client is gone: no answer can reach it.
                    logger.trace("connection ended", metadata: ["error": "\(error)"])
                }
                connection.close()
            }
        }
    }

    /// Answers requests until the connection rests or ends. Returns whether it rests.
    private func answerRequests(on connection: HTTPConnection) async throws -> Bool {
        var turn = AnswerTurn(at: .now)
        do {
            while let part = try await connection.nextPart(mayRest: true) {
                // Ends of requests come by here when the handler did not ask for their bodies.
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
        // From here on it counts as idle, and is closed when the last answers do not leave.
        connection.activity.withLock { $0.end(at: .now) }
        if connection.speaksHTTP { try await connection.flush() }
        return false
    }

    private func refuse(_ request: MalformedRequest, on connection: HTTPConnection) {
        meters?.refused.add(.malformed)
        logger.debug(
            "request refused", metadata: ["reason": "\(request.reason)", "ip": "\(connection.peer)", "status": "400"])
        _ = connection.write(request.answer)
    }
}

/// Passes on what the parser makes of a connection, keeps the connection in the list of open ones, and reports to it
/// what its client does. What comes after HTTP goes to the handlers behind it.
final class ConnectionReader: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = ByteBuffer

    private let connection: HTTPConnection
    private let connections: OpenConnections
    /// The head of an incomplete request, and the body bytes received.
    private var open: (head: HTTPRequestHead, received: Int)?

    init(_ connection: HTTPConnection, connections: OpenConnections) {
        self.connection = connection
        self.connections = connections
    }

    /// The kind of input that comes next.
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
        connection.parts.append(part, bytes: connection.parts.input.takePassed(ofHead: isHead))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        connection.parts.finish(.failure(error))
        if !connection.speaksHTTP { context.fireErrorCaught(error) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case ReadPacer.Event.inputEnds: connection.caller.leave()
        case ChannelEvent.inputClosed:
            // A client that closes its half counts as gone. That stops only slow statements that read; an answer that
            // comes all the same is sent.
            connection.caller.leave()
            connection.parts.finish(.success(()))
        default: break
        }
        context.fireUserInboundEventTriggered(event)
    }
}

/// Ends a connection whose client does not finish the handshake of TLS in time; goes away when it has.
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

/// The end of an event loop's turn, when the answers that were written during it are sent, one right after the other.
///
/// The first answer that is sent wakes a client. On a machine of few processors it pushes the server aside at once,
/// finds that one answer, and waits again; and so it goes for each. When the others follow closely, it finds several.
package final class FlushCoalescer: Sendable {
    private let eventLoop: any EventLoop
    private let channels: NIOLoopBoundBox<[any Channel]>

    package init(of eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
        channels = .makeBoxSendingValue([], eventLoop: eventLoop)
    }

    /// Sends what was written to a channel of the event loop, when its iteration ends; at once from
    /// elsewhere.
    func flush(_ channel: any Channel) {
        guard eventLoop.inEventLoop else { return channel.flush() }
        channels.value.append(channel)
        // Tasks of this turn that are waiting already come first.
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

/// Runs the tasks of a connection on the connection's own event loop, so that an answer from the database goes to the
/// socket without another change of threads.
package final class EventLoopTaskExecutor: TaskExecutor {
    private let eventLoop: any EventLoop

    package init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        eventLoop.execute { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}
