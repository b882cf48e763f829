import Encoding
import HTTP
import JSON
import Limits
import ParseModel
import Rules
import ServerConfiguration

/// Passes the console's requests to the REST routes, with the rights of a console session instead of keys.
package struct ConsoleDispatcher: Sendable {
    private let routes: ParseRoutes
    private let files: FileRoutes?
    private let opener: EnvelopeOpener
    private let queue = RequestQueue()

    /// - Throws: The first invalid address in the configuration.
    package init(_ routes: ParseRoutes, files: FileRoutes?) throws(AddressList.InvalidEntry) {
        self.routes = routes
        self.files = files
        opener = try EnvelopeOpener(routes.configuration)
    }

    /// Responds to a request for a REST route.
    ///
    /// - Parameters:
    ///   - target: The path below the mount, and the query.
    ///   - around: Wraps the routes. Receives the request and a closure that returns the routes' response.
    /// - Throws: The errors of `around` and the routes, or an error if the request is invalid or has no route.
    package func answer(
        _ request: IncomingRequest, _ target: RequestTarget, _ authority: RequestAuthority,
        around: (Envelope, _ answer: () async throws -> Reply) async throws -> Reply
    ) async throws -> Reply {
        var opener = opener
        opener.authority = authority
        if target.components.first?.asciiLowercased == "files" {
            let unread = UnreadRequest(request: request, target: target, opener: opener, queue: queue, files: files)
            guard let method = Method(name: request.method) else {
                throw HTTPError.noRoute(method: request.method, path: target.path)
            }
            let envelope = try unread.envelope(method, unread.headerCredentials())
            return try await around(envelope) {
                guard let reply = try await RouteTable.unread(request.method, target.components)?.unread?(unread) else {
                    throw HTTPError.noRoute(method: request.method, path: target.path)
                }
                return reply
            }
        }
        let body = try await opener.readBody(of: request, target)
        return try await queue.run(bytes: body.count + request.target.utf8.count) {
            let envelope = try opener.open(request, body: body, target: target)
            return try await around(envelope) { try await routes.respond(to: envelope) }
        }
    }

    /// Returns the calls of a batch, or the request itself if it isn't a batch.
    ///
    /// - Throws: `ParseError` if a call is invalid or not allowed in a batch.
    package func calls(of envelope: Envelope) throws -> [Envelope] {
        guard envelope.path.count == 1, envelope.path[0].asciiLowercased == "batch" else { return [envelope] }
        return try routes.elements(envelope.body["requests"]?.arrayValue ?? [], of: envelope)
    }

    /// Reads the body of a request to the console's own routes.
    ///
    /// - Throws: ``HTTPError`` if the body isn't JSON, is compressed or incomplete, or is larger than `limit` bytes.
    package func body(of request: IncomingRequest, upTo limit: Int) async throws -> JSONObject {
        let bytes = try await bytes(of: request, upTo: limit)
        return try await HeavyWork.makeValues(of: bytes.count) { try Self.parse(bytes) }
    }

    /// Handles a request to the console's own routes whose body may be large. As with REST requests, large bodies wait
    /// for a slot and are handled off the event loop.
    ///
    /// - Throws: The errors of `work`, or ``HTTPError`` if the body isn't JSON, is compressed or incomplete, or is
    ///   larger than `limit` bytes.
    package func carryOut<R: Sendable>(
        _ request: IncomingRequest, upTo limit: Int, _ work: (JSONObject) async throws -> R
    ) async throws -> R {
        let bytes = try await bytes(of: request, upTo: limit)
        return try await queue.run(bytes: bytes.count) { try await work(Self.parse(bytes)) }
    }

    private func bytes(of request: IncomingRequest, upTo limit: Int) async throws -> [UInt8] {
        guard !request.body.isComplete else { return [] }
        try EnvelopeOpener.refuseEncodings(request.headers)
        return try await request.body.collect(upTo: limit)
    }

    private static func parse(_ bytes: [UInt8]) throws -> JSONObject {
        bytes.isEmpty ? [:] : try JSONBody.parse(bytes, contentType: "application/json")
    }

    /// An overview of cloud code, or an empty object without cloud code.
    package var cloudCode: JSONObject { routes.cloud?.overview ?? [:] }

    /// Returns the context for calls of the console's own routes, with the server's rights except for some secrets.
    package func context(of request: IncomingRequest, _ now: ParseDate, hiding secrets: Caller.HiddenSecrets)
        -> RequestContext
    {
        var caller = Caller.server
        caller.hiddenSecrets = secrets
        return RequestContext(
            caller: caller, mountURL: opener.mountURLs.url(for: request), now: now,
            address: opener.address(of: request).text)
    }

    /// Returns the client's address, as reported by trusted proxies.
    package func address(of request: IncomingRequest) -> ClientAddress { opener.address(of: request) }

    /// Returns the rights of a key used from an address, or nil unless it is a master or read-only master key that may
    /// be used from there. The administrator's name is nil unless the key is an administrator's.
    package func power(ofKey key: String, from client: ClientAddress) -> (power: Caller.Power, administrator: String?)?
    {
        var credentials = Credentials()
        credentials.applicationID = opener.keys.applicationID
        credentials.masterKey = key
        let power = try? opener.keys.power(of: credentials, address: client.vouched)
        guard let power, power == .master || power == .readOnlyMaster else { return nil }
        let name = opener.keys.administrator(with: key)
        return (power, name == ApplicationKeys.masterKeyName ? nil : name)
    }

    package func reply(to error: any Error, _ request: IncomingRequest) -> Reply { reply(to: error, request.id) }

    package func reply(to error: any Error, _ id: RequestID) -> Reply {
        let reply = routes.errors.reply(to: error, requestID: id)
        guard case .json(let bytes) = reply.body, var object = (try? JSONValue(parsing: bytes))?.objectValue else {
            return reply
        }
        object["requestId"] = .string("\(id)")
        var named = Reply.object(object, status: reply.status)
        named.headers = reply.headers
        return named
    }
}
