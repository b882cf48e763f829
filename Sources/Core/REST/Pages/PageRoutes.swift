import Encoding
import HTTP
import JSON
import NIOCore
import Operations
import Pages
import ParseModel
import Rules
public import ServerConfiguration

/// The pages that links in emails open, by default below `/apps`. They need no keys, because people open them.
///
/// Usually responds with the page if `pages.enableRouter` is set (default from preset 9), otherwise with a redirect.
public final class PageRoutes: Sendable {
    let backend: Backend
    private let limits: CurrentLimits
    let configuration: Configuration
    let site: PageSite
    private let endpoint: [String]

    /// - Parameter routes: The API routes, whose backend and rate limits the pages use.
    /// - Throws: `ConfigurationError` if the pages can't be read.
    public init(beside routes: ParseRoutes) throws(ConfigurationError) {
        backend = routes.backend
        limits = routes.limits
        configuration = backend.configuration
        site = try PageSite(configuration)
        endpoint = configuration.pages.pagesEndpoint.split(separator: "/").map(String.init)
    }

    private static let largestForm = 16 * 1024

    /// Whether the links in emails work, which requires a configured address and, with `pages.enableRouter`, an app
    /// name. Otherwise they get 404.
    var hasLinks: Bool {
        configuration.linkURL != nil && (!configuration.pages.enableRouter || configuration.accountMail.appName != nil)
    }

    var now: ParseDate { backend.clock.now }

    /// Returns the path components below the pages folder, or nil for other paths.
    func path(_ components: [Substring]) -> ArraySlice<Substring>? {
        guard components.count > endpoint.count,
            zip(components, endpoint).allSatisfy({ $0.utf8.elementsEqual($1.utf8) })
        else { return nil }
        return components.dropFirst(endpoint.count)
    }

    /// Responds to a request, or returns nil if it isn't for a page.
    func respond(
        to request: IncomingRequest, _ target: RequestTarget, below path: ArraySlice<Substring>,
        from client: ClientAddress, _ context: RequestContext
    ) async throws -> Reply? {
        guard ["GET", "HEAD", "POST"].contains(request.method) else { return nil }
        let names = try path.map { try EnvelopeOpener.decodeComponent($0) }
        let body = request.method == "POST" ? try await request.body.collect(upTo: Self.largestForm) : []
        let page = PageRequest(request, target: target, path: names, body: body)
        do {
            try await count(page, client)
        } catch let error as RateLimitExceeded {
            return tooMany(error, page)
        }
        return try await PageRouter(routes: self, request: page, context).reply()
    }

    /// Routes that accept tokens or send emails, and are therefore rate-limited.
    private static let counted: Set<Name> = ["verify_email", "resend_verification_email", "request_password_reset"]

    private func count(_ page: PageRequest, _ client: ClientAddress) async throws {
        guard page.path.count == 2, Self.counted.contains(Name(page.path[1])), let limits = limits.limiter
        else { return }
        let path = endpoint + page.path
        let envelope = Envelope(
            from: RequestOrigin(address: client), method: page.method == "POST" ? .post : .get, path: path,
            rawPath: "/" + path.joined(separator: "/"))
        try await limits.count([envelope], nil)
    }

    private func tooMany(_ error: RateLimitExceeded, _ request: PageRequest) -> Reply {
        let parameters = PageParameters([
            (.appName, configuration.accountMail.appName), (.error, error.message),
            (.locale, PageSite.locale(request.locale)),
        ])
        var reply: Reply
        if request.isFromScript {
            reply = json(ParseError(RateLimitExceeded.code, error.message))
        } else if let page = site.page(BuiltInPage.tooManyRequests.fileName + ".html", parameters) {
            reply = html(page)
        } else {
            reply = Self.notFound
        }
        reply.status = 429
        reply.headers.append(("Retry-After", "\(error.retryAfter)"))
        return reply
    }

    func html(_ page: PageSite.Page, _ headers: [(String, String)] = []) -> Reply {
        Reply(
            headers: headers + [("Content-Security-Policy", page.securityPolicy)] + pageGuards,
            body: .text(page.html, contentType: "text/html; charset=utf-8"))
    }

    /// Returns the response for a file other than an HTML page.
    func asset(_ asset: (bytes: [UInt8], type: String)) -> Reply {
        let bytes = asset.bytes
        return Reply(
            headers: [("Content-Type", asset.type), ("X-Content-Type-Options", "nosniff")],
            body: .stream(
                Reply.ByteStream(length: bytes.count, isInMemory: true) { try await $0(ByteBuffer(bytes: bytes)) }))
    }

    /// Redirects with a policy that sends no referrer, because the page's address may contain a token.
    func redirect(_ url: String, status: Int, _ headers: [(String, String)] = []) -> Reply {
        Reply(
            status: status, headers: headers + [("Location", url)] + Self.guards,
            body: .text("Found. Redirecting to \(url)", contentType: "text/plain; charset=utf-8"))
    }

    /// Security headers of pages. If the deployment shows pages in a frame, `X-Frame-Options` is omitted, because it
    /// can't name the allowed site as the content security policy does.
    private var pageGuards: [(String, String)] {
        configuration.customPages.parseFrameURL == nil ? Self.guards : Self.guards.filter { $0.0 != "X-Frame-Options" }
    }

    static let guards = [
        ("Cache-Control", "no-store"), ("Referrer-Policy", "no-referrer"), ("X-Content-Type-Options", "nosniff"),
        ("X-Frame-Options", "DENY"),
    ]

    /// The response to a request that names another application.
    static let unauthorized = Reply.object(["error": "unauthorized"], status: 403)

    static let notFound = Reply(
        status: 404, headers: guards, body: .text("Not found.", contentType: "text/html; charset=utf-8"))

    /// Returns the error response for scripts.
    func json(_ error: ParseError) -> Reply {
        .object(["code": .number(Double(error.code)), "error": .string(error.message)], status: 400)
    }
}

/// A request below the pages folder, with its query and form.
struct PageRequest {
    let method: String
    /// The decoded path below the pages folder.
    let path: [String]
    private let query: JSONObject
    private let form: JSONObject
    /// Whether a script sent the request and expects JSON.
    let isFromScript: Bool
    private let localeField: String?

    /// - Parameter body: Ignored unless its content type is a URL-encoded form.
    init(_ request: IncomingRequest, target: RequestTarget, path: [String], body: [UInt8]) {
        method = request.method
        self.path = path
        query = target.query.map { FormEncoding.strings($0) } ?? [:]
        let type = request.headers[.contentType].flatMap { $0.split(separator: ";").first }.map(String.init) ?? ""
        let isForm = type.asciiLowercased == "application/x-www-form-urlencoded"
        form = isForm ? FormEncoding.strings(String(decoding: body, as: UTF8.self)) : [:]
        isFromScript = request.headers[.requestedWith]?.asciiLowercased == "xmlhttprequest"
        localeField = request.headers[.pageLocale]
    }

    /// Returns a field of the form or else of the query, or nil if it is missing, empty, repeated or contains NUL.
    func field(_ name: Name) -> String? { Self.usable(form[name] ?? query[name]) }

    /// Whether the form contains a field more than once.
    func isRepeated(_ name: Name) -> Bool { form[name]?.arrayValue != nil }

    func queried(_ name: Name) -> String? { Self.usable(query[name]) }

    var locale: String? { queried("locale") ?? field("locale") ?? localeField }

    private static func usable(_ value: JSONValue?) -> String? {
        value?.stringValue.flatMap { $0.isEmpty || $0.utf8.contains(0) ? nil : $0 }
    }
}
