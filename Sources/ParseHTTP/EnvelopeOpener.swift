import JSON

/// Makes envelopes of requests.
struct EnvelopeOpener: Sendable {
    let settings: TransportSettings
    let credentialReader: CredentialReader
    private let mountURLs: MountURLs

    init(settings: TransportSettings) {
        self.settings = settings
        credentialReader = CredentialReader(rules: settings.access)
        mountURLs = MountURLs(settings: settings)
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
        let sender = try sender(of: request, consume credentials)
        guard let method = Method(name: methodName) else {
            throw HTTPFault.noRoute(method: methodName, path: target.path)
        }
        var envelope = Envelope(
            from: sender, method: method, path: try target.components.map(Self.decodeComponent),
            rawPath: String(target.path), body: body, uploads: uploads)
        if let query = target.query, !query.isEmpty {
            envelope.query = FormEncoding.values(query)
            envelope.queryString = String(query)
            guard !JSONBody.containsNull(envelope.query) else { throw JSONBody.nullCharacter }
        }
        return envelope
    }

    /// Who sent a request, by the credentials that were found in it; its address as far as proxies are believed.
    ///
    /// - Throws: ``HTTPFault`` when the keys are not good enough.
    func sender(of request: IncomingRequest, _ credentials: consuming Credentials) throws(HTTPFault) -> Sender {
        let address = ClientAddress.resolve(
            peer: request.peer, forwardedFor: request.headers[.forwardedFor], trust: settings.proxyTrust)
        let access = try Access.decide(credentials, address: address, rules: settings.access)
        return Sender(
            requestID: request.id, credentials: credentials, access: access, address: address,
            mountURL: mountURLs.url(for: request))
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
        if takesForms(target), let contentType, MediaType(contentType)?.essence == "multipart/form-data" {
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
}
