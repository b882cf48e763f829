import Logging
import NIOCore
import NIOHTTP1

/// Answers one request on a connection.
struct Responder: Sendable {
    private let dispatcher: Dispatcher
    private let crossOrigin: CrossOrigin
    private let maximumBodySize: Int
    private let stallGuard: StallGuard
    private let logger: Logger
    private let requestIDs = RequestIDs()

    init(dispatcher: Dispatcher, settings: TransportSettings, stallGuard: StallGuard, logger: Logger) {
        self.dispatcher = dispatcher
        crossOrigin = CrossOrigin(origins: settings.allowedOrigins, extraHeaders: settings.allowedHeaders)
        maximumBodySize = settings.maximumBodySize
        self.stallGuard = stallGuard
        self.logger = logger
    }

    /// The most bytes of an unwanted body that are read to keep the connection.
    private var drainLimit: Int { 2 * maximumBodySize + 1024 * 1024 }

    /// Reads, answers and logs a request.
    ///
    /// - Parameters:
    ///   - head: The request line and the header fields.
    ///   - connection: Where the body comes from, and the answer goes.
    /// - Returns: Whether the connection can carry another request.
    /// - Throws: The error of the connection when the answer cannot be sent.
    func respond(to head: HTTPRequestHead, on connection: HTTPConnection) async throws -> Bool {
        let start = ContinuousClock.now
        let headers = RequestHeaders(head.headers)
        let body = IncomingBody(headers: headers, connection: connection, stallGuard: stallGuard)
        if !body.isComplete, headers[.expect]?.lowercased() == "100-continue" {
            if dispatcher.mayTake(body, headers: headers) {
                try await connection.send(ByteBuffer(staticString: "HTTP/1.1 100 Continue\r\n\r\n"))
            } else {
                body.awaitsContinue = true
            }
        }
        let request = IncomingRequest(
            id: requestIDs.next(), method: head.method.rawValue, target: head.uri, headers: headers,
            authority: headers[.host], peer: connection.peer, body: body)
        let reply = await dispatcher.answer(request)
        var response = ResponseHead(reply: reply, request: request, crossOrigin: crossOrigin)
        let keepsConnection =
            head.isKeepAlive && !body.isBroken && !body.awaitsContinue && (body.declaredLength ?? 0) <= drainLimit
        response.announce(keepsConnection: keepsConnection, to: head.version)
        try await send(response, on: connection)
        log(request, status: response.status, duration: .now - start)
        guard !body.isBroken, !body.awaitsContinue else { return false }
        if !body.isComplete, await !body.drain(upTo: drainLimit) { return false }
        return keepsConnection
    }

    private func send(_ response: ResponseHead, on connection: HTTPConnection) async throws {
        // One piece of memory and one write for all of an answer that is not large.
        var buffer = ByteBufferAllocator().buffer(capacity: response.size)
        response.write(to: &buffer)
        if case .bytes(let bytes) = response.content { buffer.writeBytes(bytes) }
        if case .stream(let stream) = response.content, stream.length > 0 {
            // It leaves with the first piece.
            connection.hold(buffer)
            return try await sendWatched(on: connection) { try await stream.produce($0) }
        }
        if buffer.readableBytes <= Self.pieceSize {
            if connection.write(buffer) { return }
            buffer.clear()
        }
        try await sendWatched(on: connection) { sink in
            repeat {
                let piece = buffer.readSlice(length: min(buffer.readableBytes, Self.pieceSize))
                try await sink(.byteBuffer(piece ?? ByteBuffer()))
            } while buffer.readableBytes > 0
        }
    }

    /// Sends piece by piece as the client takes them, and closes the connection of one that takes none.
    private func sendWatched(
        on connection: HTTPConnection, _ produce: (Reply.ByteStream.Sink) async throws -> Void
    ) async throws {
        let ticket = stallGuard.begin(on: connection.channel)
        defer { stallGuard.end(ticket) }
        try await produce { piece in
            switch piece {
            case .byteBuffer(let bytes): try await connection.send(bytes)
            case .fileRegion(let region): try await connection.send(region)
            }
            stallGuard.moved(ticket, bytes: piece.readableBytes)
        }
    }

    /// The bytes that are written at once.
    private static let pieceSize = 128 * 1024

    /// One line a request.
    private func log(_ request: IncomingRequest, status: Int, duration: Duration) {
        logger.info(
            "request",
            metadata: [
                "request": .fields(
                    RequestFields(
                        id: request.id, method: request.method, target: request.target, status: status,
                        duration: duration))
            ])
    }
}
