import Encoding
import HTTP
import JSON
import Logging
import ParseModel
import ParseStorage
import Rules
package import ServerConfiguration
import Tasks
internal import Telemetry

/// Finds out what a request wants, and who answers it.
package struct Dispatcher: HTTPHandler {
    private let mount: String
    private let handler: any RequestHandler
    private let files: FileRoutes?
    private let pages: PageRoutes?
    private let monitoring: MonitoringRoutes?
    private let console: (any ConsoleHandler)?
    private let app: AppProxy?
    private let audit: KeyAudit?
    private let errors: ErrorReply
    private let opener: EnvelopeOpener
    private let queue = RequestQueue()

    /// - Parameters:
    ///   - configuration: Keys, addresses and limits.
    ///   - handler: Answers the requests of the interface.
    ///   - files: Answers the requests below `/files`; nil for none.
    ///   - pages: Answers the requests for pages; nil for none.
    ///   - monitoring: Answers who watches the server; nil for the word of `/health` alone.
    ///   - console: Answers the requests of the console; nil for none.
    ///   - app: Answers the requests outside of the mount path; nil for none.
    ///   - audit: Keeps what keys of the server change; nil for nothing.
    ///   - logger: Gets what callers do not get of an error.
    /// - Throws: The first address of the configuration that is none.
    package init(
        _ configuration: Configuration, handler: some RequestHandler, files: FileRoutes?, pages: PageRoutes? = nil,
        monitoring: MonitoringRoutes? = nil, console: (any ConsoleHandler)? = nil, app: AppProxy? = nil,
        audit: KeyAudit? = nil, logger: Logger
    ) throws(AddressList.InvalidEntry) {
        mount = configuration.mount
        self.handler = handler
        self.files = files
        self.pages = pages
        self.monitoring = monitoring
        self.console = console
        self.app = app
        self.audit = audit
        errors = ErrorReply(sanitizes: configuration.enableSanitizedErrorResponse, logger: logger)
        opener = try EnvelopeOpener(configuration)
    }

    /// Where the client of a WebSocket connection is, as far as the proxies before the server are believed.
    package func address(of request: WebSocketRequest) -> ClientAddress {
        ClientAddress(peer: request.peer, forwardedFor: request.forwardedFor, trust: opener.trustProxy)
    }

    /// The address under which the client of a WebSocket connection sees the mount path.
    package func mountURL(of request: WebSocketRequest) -> String { opener.mountURL(of: request) }

    /// Whether a client that asks before it sends a body may send it.
    package func mayTake(_ body: IncomingBody, headers: RequestHeaders) -> Bool {
        guard let length = body.declaredLength, headers[.parseFileMaximumUploadSize] == nil else { return true }
        return length <= opener.maximumBodySize
    }

    /// Whether the other end of a connection is a proxy that is believed about a request's id.
    package func believes(peer: String) -> Bool { opener.trustProxy.trusts(peer: peer) }

    /// The template of the paths that are counted in a row of the metrics.
    package func route(ofRow number: Int) -> String? { MeasuredRoutes.route(ofRow: number) }

    /// The answer for which there is no memory.
    package var overloaded: Reply { errors.reply(to: HTTPError.overloaded, requestID: RequestID(0)) }

    /// Answers a request; errors become answers, too.
    package func answer(_ request: IncomingRequest) async -> Reply {
        do {
            return try await route(request)
        } catch {
            return errors.reply(to: error, requestID: request.id)
        }
    }

    private func route(_ request: IncomingRequest) async throws -> Reply {
        if console?.concerns(request.target) == true, let reply = await console?.answer(request) { return reply }
        guard let target = RequestTarget(request.target, mount: mount) else {
            if let app { return try await answer(request, by: app) }
            throw HTTPError.noRoute(method: request.method, path: request.target.prefix { $0 != "?" })
        }
        if opener.trustProxy != .noProxy {
            CallerPresence.current?.sender = Sender(address: opener.address(of: request).text)
        }
        if request.method == "OPTIONS" {
            request.record.keepQuiet()
            return Reply(body: .text("OK", contentType: "text/plain; charset=utf-8"))
        }
        if let route = RouteTable.unread(request.method, target.components) {
            if let reply = try await answerUnread(request, target, route) { return reply }
        }
        if let pages, let path = pages.path(target.components) {
            if let reply = try await answerPage(request, target, pages, below: path) { return reply }
        }
        let body = try await opener.readBody(of: request, target)
        return try await queue.take(bytes: body.count + request.target.utf8.count) {
            try opener.checkCanName(body, in: request)
            let envelope = try opener.open(request, body: body, target: target)
            guard let audit else { return try await handler.respond(to: envelope) }
            return try await audit.keep(envelope) { try await handler.respond(to: envelope) }
        }
    }

    // These aren't inlined: the memory of an async function lasts as long as the request.

    @inline(never)
    private func answer(_ request: IncomingRequest, by app: AppProxy) async throws -> Reply {
        let client = opener.address(of: request).text
        if opener.trustProxy != .noProxy { CallerPresence.current?.sender = Sender(address: client) }
        let view = opener.clientView(of: request)
        return try await app.answer(request, client: client, scheme: view.scheme, host: view.host)
    }

    @inline(never)
    private func answerUnread(_ request: IncomingRequest, _ target: RequestTarget, _ route: Route) async throws
        -> Reply?
    {
        // A route of every method has one row, that of GET.
        if Method(name: request.method) == route.method { request.record.note(row: route.row) }
        let unread = UnreadRequest(
            request: request, target: target, opener: opener, queue: queue, files: files, monitoring: monitoring)
        if let reply = try await route.unread?(unread) { return reply }
        request.record.note(row: RequestMeters.row(ofMethod: request.method))
        return nil
    }

    @inline(never)
    private func answerPage(
        _ request: IncomingRequest, _ target: RequestTarget, _ pages: PageRoutes, below path: ArraySlice<Substring>
    ) async throws -> Reply? {
        let client = opener.address(of: request)
        let context = RequestContext(
            caller: Caller(power: .client), mountURL: opener.mountURL(of: request), now: pages.now,
            address: client.text,
            languages: request.headers[.acceptLanguage].map { String($0) })
        request.record.note(row: MeasuredRoutes.page)
        return try await pages.respond(to: request, target, below: path, from: client, context)
    }
}

/// Answers the requests of the console, which lies beside the interface.
package protocol ConsoleHandler: Sendable {
    /// Whether a request may be one of the console's. Every request of the server is asked for this.
    func concerns(_ target: String) -> Bool

    /// Answers a request; nil for one that is answered as if there were no console.
    func answer(_ request: IncomingRequest) async -> Reply?
}

/// Answers requests. The transport turns bytes into an ``Envelope``, and the ``Reply`` into bytes.
public protocol RequestHandler: Sendable {
    /// Answers one request.
    ///
    /// - Parameter envelope: The request; its keys have been checked.
    /// - Returns: The answer.
    /// - Throws: `ParseError` or ``HTTPError``, which become the error answers of the REST interface; anything else
    ///   becomes an internal error, whose details only the log shows.
    func respond(to envelope: Envelope) async throws -> Reply
}
