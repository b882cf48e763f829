import Encoding
import HTTP
import JSON
import Logging
import ParseModel
import ParseStorage
import Rules
import Tasks

/// Finds out what a request wants, and who answers it.
package struct Dispatcher: HTTPHandler {
    private let settings: InterfaceSettings
    private let handler: any RequestHandler
    private let files: FileRoutes?
    private let pages: PageRoutes?
    private let state: ServerState
    private let errors: ErrorReply
    private let opener: EnvelopeOpener
    private let turns = RequestTurns()

    /// Makes a dispatcher.
    ///
    /// - Parameters:
    ///   - settings: What is known of the configuration.
    ///   - handler: Answers the requests of the interface.
    ///   - files: Answers the requests below `/files`; nil for none.
    ///   - pages: Answers the requests for pages; nil for none.
    ///   - state: Whether the server takes requests.
    ///   - logger: Is told what callers are not.
    package init(
        settings: InterfaceSettings, handler: some RequestHandler, files: FileRoutes?, pages: PageRoutes? = nil,
        state: ServerState, logger: Logger
    ) {
        self.settings = settings
        self.handler = handler
        self.files = files
        self.pages = pages
        self.state = state
        errors = ErrorReply(sanitizes: settings.sanitizesErrors, logger: logger)
        opener = EnvelopeOpener(settings: settings)
    }

    /// Whether a client that asks before it sends a body may send it.
    package func mayTake(_ body: IncomingBody, headers: RequestHeaders) -> Bool {
        guard let length = body.declaredLength, headers[.parseFileMaximumUploadSize] == nil else { return true }
        return length <= settings.maximumBodySize
    }

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
        guard let target = RequestTarget(request.target, mount: settings.mountPath) else {
            throw HTTPError.noRoute(method: request.method, path: request.target.prefix { $0 != "?" })
        }
        if settings.proxyTrust.isSomebody {
            CallerPresence.current?.sender = Sender(address: opener.address(of: request))
        }
        if request.method == "OPTIONS" {
            return Reply(body: .text("OK", contentType: "text/plain; charset=utf-8"))
        }
        let components = target.components
        switch components.first?.asciiLowercased {
        case "health" where components.count == 1:
            return health
        case "files":
            let fileRequest = FileRequest(
                request: request, target: target, opener: opener, state: state, turns: turns)
            if let reply = try await files?.respond(to: fileRequest) { return reply }
        default:
            break
        }
        if let pages, let path = pages.path(components) {
            try state.check()
            let context = RequestContext(
                caller: Caller(power: .client), mountURL: opener.mountURL(of: request), now: pages.now,
                address: opener.address(of: request),
                languages: request.headers[.acceptLanguage].map { String($0) })
            if let reply = try await pages.respond(to: request, target, below: path, context) { return reply }
        }
        let body = try await opener.readBody(of: request, target)
        return try await turns.take(bytes: body.count + request.target.utf8.count) {
            try opener.checkCanName(body, in: request)
            let envelope = try opener.open(request, body: body, target: target)
            try state.check()
            return try await handler.respond(to: envelope)
        }
    }

    private var health: Reply {
        let phase = state.phase
        let status = JSONValue.string(phase.rawValue)
        switch phase {
        case .ok: return .object(["status": status])
        case .starting:
            var reply = Reply.object(["status": status], status: 503)
            reply.headers = [("Retry-After", "1")]
            return reply
        case .initialized, .error: return .object(["status": status], status: 503)
        }
    }
}

extension ServerState {
    /// Throws when the server takes no requests.
    func check() throws(HTTPError) {
        let phase = phase
        guard phase == .ok else {
            throw HTTPError(status: 503, message: "Invalid server state: \(phase.rawValue)")
        }
    }
}
