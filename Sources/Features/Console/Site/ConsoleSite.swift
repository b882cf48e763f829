import Encoding
import HTTP
import JSON
import Limits
package import Logging
package import Operations
internal import ParseModel
package import REST
import Rules
package import ServerConfiguration
import Synchronization
package import Telemetry

/// Serves the console: its page, its files and its API.
package final class ConsoleSite: SiteHandler {
    private let configuration: Configuration
    private let path: String
    private let prefix: [UInt8]
    private let reach: ConsoleReach
    private let hosts: ConsoleHosts
    private let files: ConsoleFiles
    private let dispatcher: ConsoleDispatcher
    private let interface: ConsoleInterface
    /// The configured port, replaced by the actual one once the server listens.
    private let port: Atomic<Int>
    private let logger: Logger
    private let hasLoggedRefusal = Atomic(false)

    /// Creates the console.
    ///
    /// - Parameters:
    ///   - backend: The deployment to manage.
    ///   - dispatcher: Runs the routes of the REST API.
    ///   - figures: The metrics over time.
    ///   - readiness: Returns the readiness probe results of the database and other components.
    ///   - backups: The backup maker, or nil if no backup folder is configured or the database is external.
    ///   - pushCheck: The check of the push keys, which returns its findings, or nil if push is not configured.
    ///   - version: The version of the server.
    ///   - logger: Receives denied requests and audit problems.
    /// - Throws: The first invalid address in the option `console.addresses`.
    package init(
        _ backend: Backend, _ dispatcher: ConsoleDispatcher, figures: FigureHistory,
        readiness: @escaping @Sendable () async -> JSONObject, backups: BackupMaker?,
        pushCheck: (@Sendable () async throws -> JSONValue)?, version: String, logger: Logger
    ) throws(AddressList.InvalidEntry) {
        configuration = backend.configuration
        path = configuration.console.path
        prefix = Array(path.utf8)
        reach = try ConsoleReach(configuration)
        hosts = ConsoleHosts(configuration)
        files = ConsoleFiles(path: path, folder: configuration.consoleFolder)
        self.dispatcher = dispatcher
        interface = ConsoleInterface(
            backend, dispatcher, figures: figures, readiness: readiness, backups: backups,
            pushCheck: pushCheck, version: version, logger: logger)
        port = Atomic(configuration.port)
        self.logger = logger
    }

    /// Sets the port on which the server listens.
    package func serve(at port: Int) { self.port.store(port, ordering: .relaxed) }

    /// Connects the console to live queries. See ``LiveSource/Events`` for the parameters of `events`.
    package func show(
        live: @escaping @Sendable () async -> JSONObject,
        events: @escaping @Sendable (JSONObject, String, String, String, Duration) async throws -> JSONObject
    ) {
        interface.live.set(live, events)
    }

    /// Returns the URL of the console on this machine.
    ///
    /// - Parameter hasTicket: Whether the URL contains a ticket that signs in while the process runs. The ticket is in
    ///   the fragment, which browsers don't send to servers.
    package func address(hasTicket: Bool) -> String {
        let fragment = hasTicket ? "#ticket=\(interface.signIn.ticket())" : ""
        return "\(configuration.scheme)://localhost:\(port.load(ordering: .relaxed))\(path)/\(fragment)"
    }

    package func concerns(_ target: String) -> Bool {
        let bytes = target.utf8
        return bytes.starts(with: prefix) || bytes.count == 1
    }

    package func answer(_ request: IncomingRequest) async -> Reply? {
        let fields = ConsoleFields(request.headers)
        let client = dispatcher.address(of: request)
        let way = ConsoleReach.Way(
            peer: request.peer, address: client.vouched, isForwarded: fields.isForwarded,
            forwardedProtocol: request.headers[.forwardedProtocol])
        let target = request.target.prefix { $0 != "?" && $0 != "#" }
        if let reason = reach.refusal(of: way) { return refusal(reason, request, target, fields, way) }
        if target == "/" {
            // If the app has its own routes, `/` is the app's page. Other origins get the same response as without a
            // console, so that they can't detect it.
            guard !configuration.cloudMain.servesRoutes, fields.acceptsPages, request.isConditional,
                request.headers[.origin] == nil, ["none", "same-origin"].contains(fields.fetchSite ?? "none")
            else { return nil }
            var reply = Reply(status: 302, headers: [("Location", path + "/")], body: .empty)
            reply.isForOwnOrigin = true
            reply.headers += ConsoleHeaders.common
            return reply
        }
        let rest = target.dropFirst(path.count)
        guard target.hasPrefix(path), rest.isEmpty || rest.hasPrefix("/") else { return nil }
        // At the end, to replace the metrics row that a REST API call has set for its route.
        defer { request.record.set(row: RequestMeters.operators) }
        var reply = await answer(request, rest, fields, way, client)
        reply.isForOwnOrigin = true
        reply.headers += ConsoleHeaders.common
        return reply
    }

    /// Returns an explanation for a browser that may not reach the console, or nil to respond as without a console.
    private func refusal(
        _ reason: ConsoleReach.Refusal, _ request: IncomingRequest, _ target: Substring, _ fields: ConsoleFields,
        _ way: ConsoleReach.Way
    ) -> Reply? {
        let rest = target.dropFirst(path.count)
        guard target.hasPrefix(path), rest.isEmpty || rest.hasPrefix("/"), fields.acceptsPages, request.isConditional
        else { return nil }
        if !hasLoggedRefusal.exchange(true, ordering: .relaxed) {
            logger.notice(
                "console request denied by the option console",
                metadata: ["address": "\(way.address)", "reason": "\(reason.rawValue)"])
        }
        guard reach.isExplained || reason == .plainHTTP else { return nil }
        // An address may end with a zone, which can be any text.
        let address = IPAddress(way.address) == nil ? "192.0.2.7" : way.address.prefix { $0 != "%" }
        let explanation = Self.explanation(reason, to: address)
        var reply = Reply(status: 404, body: .text(explanation, contentType: "text/html; charset=utf-8"))
        reply.isForOwnOrigin = true
        reply.headers =
            [("Cache-Control", "no-store"), ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")]
            + ConsoleHeaders.common
        return reply
    }

    private static func explanation(_ reason: ConsoleReach.Refusal, to address: Substring) -> String {
        let title = "The console is open \(reason == .plainHTTP ? "over HTTPS" : "to this machine") only"
        let advice =
            reason == .plainHTTP
            ? """
            <p>The option console allows your address, but the connection isn't encrypted.</p>
            <p>Open the console with https://. On a network you trust, you can instead add "allowPlainHTTP": true to the option
            console.</p>
            """
            : """
            <p>Your browser is on another machine, or a proxy passed its request on.</p>
            <p>Open the console on the server's own machine. To open it to your address too, set this in roost.json, use
            TLS, and restart the server:</p>
            <pre>"console": {"enabled": true, "addresses": ["127.0.0.1", "::1", "\(address)"],
              "hosts": ["console.example.com"]}</pre>
            <p>On a network you trust, "allowPlainHTTP": true allows it without TLS. Behind a proxy, set trustProxy.</p>
            """
        return """
            <!doctype html>
            <html lang="en"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
            <title>\(title)</title>
            <h1>\(title)</h1>
            \(advice)
            </html>

            """
    }

    private func answer(
        _ request: IncomingRequest, _ rest: Substring, _ fields: ConsoleFields, _ way: ConsoleReach.Way,
        _ client: ClientAddress
    ) async -> Reply {
        let isSecure = reach.isSecure(way)
        let forwarded = way.isForwarded ? request.headers[.forwardedHost]?.prefix { $0 != "," }.trimmingSpaces() : nil
        let authority =
            configuration.trustProxy.trusts(peer: request.peer)
            ? forwarded.map { String($0) } ?? request.authority
            : request.authority
        let port = port.load(ordering: .relaxed)
        guard let authority, hosts.accepts(authority, port: port, isSecure: isSecure) else {
            let name = JSONValue.string((authority ?? "").truncated(to: 255, "...")).serialized()
            let host = String(decoding: name, as: UTF8.self)
            return Self.text("The host \(host) is not allowed. Add it to the option console.hosts.\n", status: 421)
        }
        let visit = ConsoleVisit(
            request: request, fields: fields, client: client,
            isLocal: !way.isForwarded && IPAddress(way.peer)?.isLoopback == true,
            origin: (isSecure ? "https://" : "http://") + authority, port: port, isSecure: isSecure, path: path,
            cookieName: ConsoleSecrets.cookieName(port: port, isSecure: isSecure))
        if rest.hasPrefix("/api/") { return await interface.answer(visit, rest.dropFirst("/api/".count)) }
        guard request.isConditional else {
            var reply = Self.text("Method not allowed.\n", status: 405)
            reply.headers.append(("Allow", "GET, HEAD"))
            return reply
        }
        if rest.isEmpty { return Reply(status: 302, headers: [("Location", path + "/")], body: .empty) }
        if rest.hasPrefix("/a/") {
            request.record.lowerLogLevel()
            let start = files.address.dropFirst(path.count) + "/"
            guard rest.hasPrefix(start),
                let reply = files.reply(rest.dropFirst(start.count), acceptsGzip: fields.acceptsGzip)
            else { return Self.text("File not found.\n", status: 404) }
            return reply
        }
        return shell(visit)
    }

    private func shell(_ visit: ConsoleVisit) -> Reply {
        let index = files.index
        // The entity tag depends on the origin because the security policy contains it.
        let tag = EntityTag.weak(Array((index + visit.origin).utf8))
        var reply = Reply(body: .text(index, contentType: "text/html; charset=utf-8"))
        reply.headers =
            [("Cache-Control", "no-cache"), ("ETag", tag)] + ConsoleHeaders.shell(origin: visit.origin, path: path)
        return reply
    }

    private static func text(_ text: String, status: Int) -> Reply {
        Reply(status: status, body: .text(text, contentType: "text/plain; charset=utf-8"))
    }
}

/// A request that may reach the console.
struct ConsoleVisit {
    let request: IncomingRequest
    let fields: ConsoleFields
    let client: ClientAddress
    /// Whether the client is on this machine, where compression isn't worthwhile.
    let isLocal: Bool
    let origin: String
    /// The port on which the server listens.
    let port: Int
    let isSecure: Bool
    let path: String
    let cookieName: String

    /// The client's address as reported by trusted proxies.
    var address: String { client.text }

    /// The identity for fair scheduling: the session token, or the address if there is none.
    var sender: Sender { Sender(address: fields.token ?? address) }

    /// Whether the request has the console's own origin. A missing `Sec-Fetch-Site` or `Origin` field counts as own.
    var isOfOwnPage: Bool {
        (fields.fetchSite ?? "same-origin") == "same-origin" && (request.headers[.origin] ?? origin) == origin
    }
}

/// Security header fields for the console.
enum ConsoleHeaders {
    /// The header fields of every response.
    static let common: [(String, String)] = [
        ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"), ("X-Frame-Options", "DENY"),
        ("Cross-Origin-Opener-Policy", "same-origin"), ("Cross-Origin-Resource-Policy", "same-origin"),
    ]

    private static let permissions = [
        "accelerometer", "autoplay", "camera", "display-capture", "encrypted-media", "fullscreen", "geolocation",
        "gyroscope", "hid", "idle-detection", "magnetometer", "microphone", "midi", "payment", "picture-in-picture",
        "publickey-credentials-get", "screen-wake-lock", "serial", "usb", "xr-spatial-tracking",
    ].map { "\($0)=()" }.joined(separator: ", ")

    /// Returns the additional header fields of the page.
    ///
    /// - Parameters:
    ///   - origin: The origin under which the page is opened.
    ///   - path: The path of the console.
    static func shell(origin: String, path: String) -> [(String, String)] {
        // Not 'self', because uploaded files have the same origin.
        let assets = "\(origin)\(path)/a/"
        let policy =
            "default-src 'none'; script-src \(assets); style-src \(assets); img-src \(assets) blob:; media-src blob:; "
            + "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
            + "require-trusted-types-for 'script'; trusted-types 'none'"
        return [("Content-Security-Policy", policy), ("Permissions-Policy", permissions)]
    }
}
