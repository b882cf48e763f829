import JSON

/// Makes envelopes of requests.
struct EnvelopeOpener: Sendable {
    let settings: TransportSettings
    let credentialReader: CredentialReader

    init(settings: TransportSettings) {
        self.settings = settings
        credentialReader = CredentialReader(rules: settings.access)
    }

    /// Takes the method override and the credentials out of the body, and checks the keys.
    ///
    /// - Throws: ``HTTPFault`` when the body makes no sense, the keys are not good enough, or no such method exists;
    ///   `ParseError` when the context is malformed.
    func open(_ request: IncomingRequest, body bytes: [UInt8], target: RequestTarget) throws -> Envelope {
        var (body, uploads) = try Self.parse(bytes, of: request, target: target)
        let methodName = MethodOverride.apply(to: request.method, body: &body)
        var credentials = try credentialReader.read(headers: request.headers)
        try credentialReader.complete(&credentials, from: &body)
        let address = address(of: request)
        let access = try Access.decide(credentials, address: address, rules: settings.access)
        guard let method = Method(name: methodName) else {
            throw HTTPFault.noRoute(method: methodName, path: target.path)
        }
        var envelope = Envelope(
            id: request.id, method: method, path: try target.components.map(Self.decodeComponent),
            rawPath: String(target.path), body: body, credentials: credentials, access: access, address: address,
            mountURL: mountURL(of: request), uploads: uploads)
        if let query = target.query, !query.isEmpty {
            envelope.query = FormEncoding.values(query)
            envelope.queryString = String(query)
            guard !JSONBody.containsNull(envelope.query) else { throw JSONBody.nullCharacter }
        }
        return envelope
    }

    /// The client's address, as far as proxies are believed.
    func address(of request: IncomingRequest) -> String {
        ClientAddress.resolve(
            peer: request.peer, forwardedFor: request.headers[.forwardedFor], trust: settings.proxyTrust)
    }

    /// The address of the mount path as the client sees it.
    func mountURL(of request: IncomingRequest) -> String {
        if let publicURL = settings.publicServerURL { return publicURL.withoutTrailingSlashes }
        let peerIsProxy = settings.proxyTrust.trusts(peer: request.peer)
        let forwardedHost = peerIsProxy ? request.headers[.forwardedHost].map(Self.first) : nil
        let scheme = peerIsProxy && request.headers[.forwardedProtocol].map(Self.first) == "https" ? "https" : "http"
        guard let host = forwardedHost ?? request.authority, Self.isHost(host) else {
            return settings.serverURL.withoutTrailingSlashes
        }
        return scheme + "://" + host + settings.mountPath
    }

    /// A component of the path without percent-encoding.
    ///
    /// - Throws: ``HTTPFault`` 400 when it is not encoded properly or holds a NUL character.
    static func decodeComponent(_ component: Substring) throws(HTTPFault) -> String {
        guard let decoded = PercentEncoding.decode(component), !decoded.utf8.contains(where: { $0 == 0 }) else {
            throw HTTPFault(status: 400, message: "Failed to decode param '\(component)'")
        }
        return decoded
    }

    /// Reads the body; empty when the request has none.
    ///
    /// - Throws: ``HTTPFault`` when it is too large, compressed, or does not arrive.
    func readBody(of request: IncomingRequest) async throws -> [UInt8] {
        guard !request.body.isComplete else { return [] }
        try Self.refuseEncodings(request.headers)
        return try await request.body.collect(upTo: settings.maximumBodySize)
    }

    private static func parse(_ bytes: [UInt8], of request: IncomingRequest, target: RequestTarget) throws -> (
        JSONObject, uploads: [String: [UInt8]]
    ) {
        if bytes.isEmpty { return ([:], [:]) }
        let contentType = request.headers[.contentType]
        if let contentType, MediaType(contentType)?.essence == "multipart/form-data", takesForms(target) {
            let form = try MultipartForm(bytes, contentType: contentType)
            return (form.fields, form.files)
        }
        return (try JSONBody.parse(bytes, contentType: contentType), [:])
    }

    /// Whether the route that a path leads to takes files out of a form; everywhere else a body is JSON.
    private static func takesForms(_ target: RequestTarget) -> Bool {
        ["import_data", "import_relation_data"].contains(target.components.first?.lowercased())
    }

    /// Refuses compressed bodies: nothing here unpacks them.
    static func refuseEncodings(_ headers: RequestHeaders) throws(HTTPFault) {
        guard let encoding = headers[.contentEncoding]?.lowercased(), encoding != "identity" else { return }
        throw HTTPFault(status: 415, message: "unsupported content encoding \"\(encoding)\"")
    }

    private static func first(_ list: String) -> String {
        String(list.prefix { $0 != "," }.trimmingSpaces())
    }

    private static func isHost(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                case UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: ":"), UInt8(ascii: "["),
                    UInt8(ascii: "]"):
                    true
                default: false
                }
            }
    }
}

extension String {
    var withoutTrailingSlashes: String {
        var result = self
        while result.hasSuffix("/") { result.removeLast() }
        return result
    }
}
