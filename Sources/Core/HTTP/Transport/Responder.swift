import Encoding
import Limits
import Logging
import Logs
import NIOCore
import NIOHTTP1
import Synchronization
import Telemetry

/// Reads, answers and logs the requests of all connections of a server.
struct Responder: Sendable {
    let handler: any HTTPHandler
    private let crossOrigin: CrossOrigin
    /// Maximum number of bytes of an unread body that are discarded to keep the connection open.
    private let drainLimit: Int
    private let transferTimeout: TransferTimeout
    private let webSockets: WebSocketSlots
    let additions: HTTPServer.Additions
    private let drain: Drain
    /// Whether connections use TLS.
    let isSecure: Bool
    private let logger: Logger

    init(
        handler: some HTTPHandler, crossOrigin: CrossOrigin, limits: HTTPServer.Limits,
        transferTimeout: TransferTimeout, webSockets: WebSocketSlots, additions: HTTPServer.Additions, drain: Drain,
        isSecure: Bool, logger: Logger
    ) {
        self.handler = handler
        self.crossOrigin = crossOrigin
        drainLimit = 2 * limits.body + 1024 * 1024
        self.transferTimeout = transferTimeout
        self.webSockets = webSockets
        self.additions = additions
        self.drain = drain
        self.isSecure = isSecure
        self.logger = logger
    }

    /// Reads, answers and logs a request.
    ///
    /// - Returns: Whether the connection can carry another request.
    /// - Throws: ``MalformedRequest``, or the error that prevented the response from being sent.
    func respond(to head: HTTPRequestHead, on connection: HTTPConnection) async throws -> Bool {
        let headers = RequestHeaders(head.headers)
        if let malformed = MalformedRequest(headers, version: head.version) { throw malformed }
        if let handler = additions.webSockets,
            let upgrade = WebSocketUpgrade(head, peer: connection.peer, handler: handler)
        {
            return try await serve(upgrade, head, on: connection)
        }
        let start = ContinuousClock.now
        let record = connection.record
        record.begin(method: head.method.rawValue)
        var (status, sent, received) = (0, 0, 0)
        // Status 0 means that the client left or the response could not be sent.
        defer { record.end(status: status, duration: .now - start, received: received, sent: sent) }
        let body = IncomingBody(headers: headers, connection: connection, transferTimeout: transferTimeout)
        if !body.isComplete, headers[.expect]?.asciiLowercased == "100-continue" {
            if handler.mayTake(body, headers: headers) {
                try await sendSmall(ByteBuffer(staticString: "HTTP/1.1 100 Continue\r\n\r\n"), on: connection)
            } else {
                body.awaitsContinue = true
            }
        }
        let request = IncomingRequest(
            id: id(of: headers, from: connection.peer), method: head.method.rawValue, target: head.uri,
            headers: headers,
            authority: headers[.host], peer: connection.peer, body: body, isDraining: drain.hasBegun,
            record: record, span: startSpan(head.method.rawValue, headers, from: connection.peer))
        var reply = await handler.answer(request)
        defer { received = body.receivedLength }
        body.release()
        let ticket = watch(&reply, on: connection)
        defer { if let ticket { transferTimeout.end(ticket) } }
        let code = reply.code
        let tag = await EntityTag.long(of: reply, to: request)
        var response = ResponseHead(reply: reply, request: request, tag: tag, crossOrigin: crossOrigin)
        let endsWithConnection = response.isUnmeasured && head.version == .http1_0
        let keepsConnection =
            !endsWithConnection && head.isKeepAlive && !drain.hasBegun && !head.endsParsing && !body.isBroken
            && !body.awaitsContinue
            && (body.declaredLength ?? 0) <= drainLimit
        response.isSecure = isSecure
        response.announce(keepsConnection: keepsConnection, to: head.version)
        do {
            if case .stream(let stream) = reply.body, let receiveRest = stream.receiveRest, !body.isComplete {
                sent = try await send(
                    response, on: connection, ticket, isChunked: !endsWithConnection, body, receiveRest)
            } else {
                sent = try await send(response, on: connection, ticket, isChunked: !endsWithConnection)
            }
        } catch {
            log(request, status: nil, duration: .now - start)
            throw error
        }
        if connection.caller.hasLeft {
            sent = 0
            log(request, status: nil, duration: .now - start)
        } else {
            status = response.status
            log(request, status: status, code: code, bytes: sent, duration: .now - start)
        }
        guard !body.isBroken, !body.awaitsContinue else { return false }
        if !body.isComplete, await !body.drain(upTo: drainLimit) { return false }
        return keepsConnection
    }

    /// Serves a WebSocket connection until it ends. Returns false, because the connection can't carry another request.
    private func serve(
        _ upgrade: WebSocketUpgrade, _ head: HTTPRequestHead, on connection: HTTPConnection
    ) async throws -> Bool {
        let id = RequestID.next()
        let start = ContinuousClock.now
        let status = try await upgrade.serve(on: connection, webSockets, transferTimeout, drain)
        let line = RequestFields(
            id: id, method: head.method.rawValue, target: head.uri, status: status, duration: .now - start)
        logger.info("request", metadata: ["request": .fields { line.fields }])
        return false
    }

    /// Starts the timeout of a long or streamed response. If memory is full, replaces the response with an error.
    @inline(never)
    private func watch(_ reply: inout Reply, on connection: HTTPConnection) -> TransferTimeout.Ticket? {
        var (kind, held) = (TransferTimeout.Kind.answer, reply.body.bytesInMemory)
        if case .stream(let stream) = reply.body {
            guard stream.length != 0 else { return nil }
            if !stream.isInMemory {
                (kind, held) = (.file, min(stream.length ?? .max, max(Self.streamedPiece, stream.maxHeldBytes)))
            }
        } else if held <= Self.pieceSize {
            return nil
        }
        let ticket = transferTimeout.begin(kind, on: connection.channel)
        if transferTimeout.hold(ticket, bytes: held) {
            // Until the first piece is written, the client waits for the server, so that time doesn't count against it.
            if kind == .file { transferTimeout.moved(ticket, bytes: 0, pauses: true) }
            return ticket
        }
        transferTimeout.end(ticket)
        reply = handler.overloaded
        return nil
    }

    private func send(
        _ response: ResponseHead, on connection: HTTPConnection, _ ticket: TransferTimeout.Ticket?, isChunked: Bool,
        _ body: IncomingBody, _ receiveRest: @escaping @Sendable (ByteBuffer?) async -> Bool
    ) async throws -> Int {
        let hasFailed = OneTime<Void>()
        let hurry = body.watchForAnswer()
        async let sent = {
            do {
                let sent = try await send(response, on: connection, ticket, isChunked: isChunked)
                hurry()
                return sent
            } catch {
                hasFailed.set(())
                connection.parts.wake()
                throw error
            }
        }()
        // The caller checks whether the body is complete.
        _ = try? await body.pass(unless: { hasFailed.value != nil }, to: receiveRest)
        return try await sent
    }

    private func send(
        _ response: ResponseHead, on connection: HTTPConnection, _ ticket: TransferTimeout.Ticket?, isChunked: Bool
    ) async throws -> Int {
        var buffer = ByteBufferAllocator().buffer(capacity: min(response.size, Self.pieceSize))
        response.write(to: &buffer)
        switch response.content {
        case .none: try await sendSmall(buffer, on: connection)
        case .stream(let stream):
            guard let length = stream.length else {
                begin(stream, buffer, on: connection)
                return try await sendUnmeasured(stream, on: connection, ticket, isChunked: isChunked)
            }
            guard length > 0 else {
                try await sendSmall(buffer, on: connection)
                break
            }
            begin(stream, buffer, on: connection)
            try await stream.produce { try await send($0, on: connection, ticket) }
        case .bytes(let bytes):
            if bytes.count <= Self.pieceSize {
                // A small response needs only one allocation and one write.
                buffer.writeBytes(bytes)
                try await sendSmall(buffer, on: connection)
                break
            }
            connection.hold(buffer)
            var start = 0
            while start < bytes.count {
                let end = min(start + Self.pieceSize, bytes.count)
                try await send(ByteBuffer(bytes: bytes[start..<end]), on: connection, ticket)
                start = end
            }
        }
        return response.contentLength
    }

    private func begin(_ stream: Reply.ByteStream, _ head: ByteBuffer, on connection: HTTPConnection) {
        if stream.sendsHeadFirst { _ = connection.write(head) } else { connection.hold(head) }
    }

    /// Sends content of unknown length in chunks (RFC 9112, 7.1), or to HTTP/1.0 clients until the connection ends. If
    /// that fails, the client of a chunked response notices that the last chunk is missing.
    private func sendUnmeasured(
        _ stream: Reply.ByteStream, on connection: HTTPConnection, _ ticket: TransferTimeout.Ticket?, isChunked: Bool
    ) async throws -> Int {
        let length = SentBytes()
        try await stream.produce { piece in
            guard piece.readableBytes > 0 else { return }
            length.count.wrappingAdd(piece.readableBytes, ordering: .relaxed)
            guard isChunked else { return try await send(piece, on: connection, ticket) }
            var chunk = ByteBufferAllocator().buffer(capacity: piece.readableBytes + 20)
            chunk.writeString(String(piece.readableBytes, radix: 16) + "\r\n")
            chunk.writeImmutableBuffer(piece)
            chunk.writeStaticString("\r\n")
            try await send(chunk, on: connection, ticket)
        }
        if isChunked { try await send(ByteBuffer(staticString: "0\r\n\r\n"), on: connection, ticket) }
        return length.count.load(ordering: .relaxed)
    }

    private final class SentBytes: Sendable {
        let count = Atomic(0)
    }

    private func send(_ piece: ByteBuffer, on connection: HTTPConnection, _ ticket: TransferTimeout.Ticket?)
        async throws
    {
        let isStreamed = ticket?.kind == .file
        if let ticket, isStreamed { transferTimeout.resume(ticket) }
        if let ticket, isStreamed, piece.readableBytes > Self.streamedPiece {
            guard transferTimeout.hold(ticket, atLeast: piece.readableBytes) else { throw HTTPError.overloaded }
        }
        // The next piece of a stream is created after this one has been sent.
        if !connection.write(piece) || isStreamed { try await connection.flush() }
        if let ticket { transferTimeout.moved(ticket, bytes: piece.readableBytes, pauses: isStreamed) }
    }

    /// Sends a response in one write. If the connection can't take it all at once, the transfer timeout and the memory
    /// limit for unread responses apply.
    private func sendSmall(_ buffer: ByteBuffer, on connection: HTTPConnection) async throws {
        if connection.write(buffer) { return }
        let ticket = transferTimeout.begin(.answer, on: connection.channel)
        defer { transferTimeout.end(ticket) }
        guard transferTimeout.hold(ticket, bytes: buffer.readableBytes) else { throw HTTPError.overloaded }
        try await connection.flush()
    }

    private static let pieceSize = 128 * 1024
    private static let streamedPiece = 64 * 1024

    /// - Parameter status: The response status, or nil if the client left or the response could not be sent.
    @inline(never)
    private func log(
        _ request: IncomingRequest, status: Int?, code: Int? = nil, bytes: Int? = nil, duration: Duration
    ) {
        var fields = RequestFields(
            id: request.id, method: request.method, target: request.target, status: status, duration: duration)
        fields.route = handler.route(ofRow: request.record.rowNumber)
        fields.code = code
        fields.bytes = bytes
        fields.caller = request.record.removeCaller()
        if let span = request.span {
            end(span, fields)
            if span.isExported { fields.traceID = span.traceID }
        }
        let level = fields.level(isQuiet: request.record.isQuiet, slow: additions.slowRequest)
        logger.log(level: level, "request", metadata: ["request": .fields { [fields] in fields.fields }])
    }

    /// Only a trusted proxy's id is used.
    private func id(of headers: RequestHeaders, from peer: String) -> RequestID {
        guard let given = headers[.requestID], handler.believes(peer: peer) else { return .next() }
        return RequestID(given: given) ?? .next()
    }
}
