import HTTP
import Limits
import Logging
import Rules
package import ServerConfiguration
internal import Telemetry

/// Routes requests to the API, the files, the pages, monitoring, a site within the server (the console), or the app.
package struct Dispatcher: HTTPHandler {
    private let mount: String
    private let handler: any RequestHandler
    private let files: FileRoutes?
    private let pages: PageRoutes?
    private let monitoring: MonitoringRoutes?
    private let site: (any SiteHandler)?
    private let app: AppProxy?
    private let audit: KeyAudit?
    private let errors: ErrorReply
    private let opener: EnvelopeOpener
    private let queue = RequestQueue()

    /// - Parameters:
    ///   - handler: Handles API requests.
    ///   - files: Handles requests below `/files`, or nil without a file store.
    ///   - pages: Handles requests for pages, or nil without pages.
    ///   - monitoring: Handles metrics and probes, or nil to serve only `/health`.
    ///   - site: Handles the requests of a site with its own paths, or nil without one.
    ///   - app: Handles requests outside the mount path, or nil without an app.
    ///   - audit: Audits changes made with server keys, or nil if audits are off.
    ///   - logger: Records error details that callers don't see.
    /// - Throws: The first invalid address in the configuration.
    package init(
        _ configuration: Configuration, handler: some RequestHandler, files: FileRoutes?, pages: PageRoutes? = nil,
        monitoring: MonitoringRoutes? = nil, site: (any SiteHandler)? = nil, app: AppProxy? = nil,
        audit: KeyAudit? = nil, logger: Logger
    ) throws(AddressList.InvalidEntry) {
        mount = configuration.mount
        self.handler = handler
        self.files = files
        self.pages = pages
        self.monitoring = monitoring
        self.site = site
        self.app = app
        self.audit = audit
        errors = ErrorReply(sanitizes: configuration.enableSanitizedErrorResponse, logger: logger)
        opener = try EnvelopeOpener(configuration)
    }

    /// Returns the address of a WebSocket client, as reported by trusted proxies.
    package func address(of request: WebSocketRequest) -> ClientAddress {
        ClientAddress(peer: request.peer, forwardedFor: request.forwardedFor, trust: opener.trustProxy)
    }

    /// Returns the URL of the mount path as a WebSocket client sees it.
    package func mountURL(of request: WebSocketRequest) -> String { opener.mountURLs.url(for: request) }

    /// Whether a client that sent `Expect: 100-continue` may send its body.
    package func mayTake(_ body: IncomingBody, headers: RequestHeaders) -> Bool {
        guard let length = body.declaredLength, headers[.parseFileMaximumUploadSize] == nil else { return true }
        return length <= opener.maximumBodySize
    }

    /// Whether the peer is a trusted proxy, whose request ids and trace contexts may be used.
    package func believes(peer: String) -> Bool { opener.trustProxy.trusts(peer: peer) }

    /// Returns the path template of a metrics row, or nil for unrouted paths.
    package func route(ofRow number: Int) -> String? { MeasuredRoutes.route(ofRow: number) }

    /// The response that replaces one for which the server lacks the memory.
    package var overloaded: Reply { errors.reply(to: HTTPError.overloaded, requestID: RequestID(0)) }

    /// Responds to a request. Errors become error responses.
    package func answer(_ request: IncomingRequest) async -> Reply {
        do {
            return try await route(request)
        } catch {
            return errors.reply(to: error, requestID: request.id)
        }
    }

    private func route(_ request: IncomingRequest) async throws -> Reply {
        if site?.concerns(request.target) == true, let reply = await site?.answer(request) { return reply }
        guard let target = RequestTarget(request.target, mount: mount) else {
            if let app { return try await answer(request, by: app) }
            throw HTTPError.noRoute(method: request.method, path: request.target.prefix { $0 != "?" })
        }
        if opener.trustProxy != .noProxy {
            CallerPresence.current?.sender = Sender(address: opener.address(of: request).text)
        }
        if request.method == "OPTIONS" {
            request.record.lowerLogLevel()
            return Reply(body: .text("OK", contentType: "text/plain; charset=utf-8"))
        }
        if let route = RouteTable.unread(request.method, target.components) {
            if let reply = try await answerUnread(request, target, route) { return reply }
        }
        if let pages, let path = pages.path(target.components) {
            if let reply = try await answerPage(request, target, pages, below: path) { return reply }
        }
        let body = try await opener.readBody(of: request, target)
        return try await queue.run(bytes: body.count + request.target.utf8.count) {
            try opener.checkCanName(body, in: request)
            let envelope = try opener.open(request, body: body, target: target)
            guard let audit else { return try await handler.respond(to: envelope) }
            return try await audit.record(envelope) { try await handler.respond(to: envelope) }
        }
    }

    // The following functions aren't inlined, because an async function's frame stays in memory as long as the request.

    @inline(never)
    private func answer(_ request: IncomingRequest, by app: AppProxy) async throws -> Reply {
        let client = opener.address(of: request).text
        if opener.trustProxy != .noProxy { CallerPresence.current?.sender = Sender(address: client) }
        let view = opener.mountURLs.clientView(of: request)
        return try await app.answer(request, client: client, scheme: view.scheme, host: view.host)
    }

    @inline(never)
    private func answerUnread(_ request: IncomingRequest, _ target: RequestTarget, _ route: Route) async throws
        -> Reply?
    {
        // A route for every method has one metrics row, that of GET.
        if Method(name: request.method) == route.method { request.record.set(row: route.row) }
        let unread = UnreadRequest(
            request: request, target: target, opener: opener, queue: queue, files: files, monitoring: monitoring)
        if let reply = try await route.unread?(unread) { return reply }
        request.record.set(row: RequestMeters.row(ofMethod: request.method))
        return nil
    }

    @inline(never)
    private func answerPage(
        _ request: IncomingRequest, _ target: RequestTarget, _ pages: PageRoutes, below path: ArraySlice<Substring>
    ) async throws -> Reply? {
        let client = opener.address(of: request)
        let context = RequestContext(
            caller: Caller(power: .client), mountURL: opener.mountURLs.url(for: request), now: pages.now,
            address: client.text,
            languages: request.headers[.acceptLanguage].map { String($0) })
        request.record.set(row: MeasuredRoutes.page)
        return try await pages.respond(to: request, target, below: path, from: client, context)
    }
}

/// Handles the requests of a site within the server, before all routes.
package protocol SiteHandler: Sendable {
    /// Whether a request may be for the site. Called for every request of the server, so it must be cheap.
    func concerns(_ target: String) -> Bool

    /// Responds to a request, or returns nil to leave it to the other routes.
    func answer(_ request: IncomingRequest) async -> Reply?
}

/// Handles requests that ``Dispatcher`` has read into an ``Envelope``.
public protocol RequestHandler: Sendable {
    /// Returns the response to a request.
    ///
    /// - Parameter envelope: The request, whose keys have been checked.
    /// - Throws: An error that ``ErrorReply`` converts to a response. Errors of unknown types become an internal error,
    ///   with details only in the log.
    func respond(to envelope: Envelope) async throws -> Reply
}
