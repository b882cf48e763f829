import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore

/// Answers one request on a connection: everything between Hummingbird's request and its response writer.
struct Responder: Sendable {
    private let dispatcher: Dispatcher
    private let crossOrigin: CrossOrigin
    private let maximumBodySize: Int
    private let stallGuard: StallGuard
    private let logger: Logger
    private let requestIDs = RequestIDs()

    /// Ends a connection that cannot carry another request.
    private struct ConnectionMustClose: Error {}

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
    /// - Throws: An error that closes the connection, when it cannot be used any more.
    @concurrent
    func respond(to request: Request, writer: consuming ResponseWriter, channel: any Channel) async throws {
        let start = ContinuousClock.now
        let body = IncomingBody(request, channel: channel, stallGuard: stallGuard)
        if request.headers[.expect]?.lowercased() == "100-continue", !body.isComplete {
            if dispatcher.mayTake(body, headers: request.headers) {
                try await writer.writeInformationalHead(HTTPResponse(status: .continue))
            } else {
                body.awaitsContinue = true
            }
        }
        let id = requestIDs.next()
        let incoming = IncomingRequest(
            id: id, method: request.method.rawValue, target: request.head.path ?? "/", headers: request.headers,
            authority: request.head.authority, peer: channel.remoteAddress?.ipAddress ?? "", body: body)
        let reply = await dispatcher.answer(incoming)
        var response = ResponseHead(reply: reply, request: incoming, crossOrigin: crossOrigin)
        let keepsConnection = !body.isBroken && !body.awaitsContinue && (body.declaredLength ?? 0) <= drainLimit
        if !keepsConnection { response.fields[.connection] = "close" }
        try await write(response, writer: writer, channel: channel)
        log(incoming, status: response.status, duration: .now - start)
        if body.isBroken || body.awaitsContinue { throw ConnectionMustClose() }
        if !body.isComplete {
            guard await body.drain(upTo: drainLimit), keepsConnection else { throw ConnectionMustClose() }
        }
    }

    @concurrent
    private func write(_ response: ResponseHead, writer: consuming ResponseWriter, channel: any Channel) async throws {
        let head = HTTPResponse(status: .init(code: response.status), headerFields: response.fields)
        switch response.content {
        case .none:
            try await writer.writeResponse(head)
        case .bytes(let bytes):
            try await writer.write(response: head, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
        case .stream(let stream):
            let ticket = stallGuard.begin(on: channel)
            defer { stallGuard.end(ticket) }
            var bodyWriter = try await writer.writeHead(head)
            try await stream.produce { buffer in
                try await bodyWriter.write(buffer)
                stallGuard.moved(ticket, bytes: buffer.readableBytes)
            }
            try await bodyWriter.finish(nil)
        }
    }

    /// One line a request. The path is without the query string, which may hold secrets.
    private func log(_ request: IncomingRequest, status: Int, duration: Duration) {
        logger.info(
            "request",
            metadata: [
                "id": "\(request.id)", "method": "\(request.method)", "path": "\(request.target.prefix { $0 != "?" })",
                "status": "\(status)", "ms": "\(Self.milliseconds(duration))",
            ])
    }

    private static func milliseconds(_ duration: Duration) -> String {
        let microseconds = duration.components.seconds * 1_000_000 + duration.components.attoseconds / 1_000_000_000_000
        return "\(microseconds / 1000).\(String(1000 + microseconds % 1000).dropFirst())"
    }
}
