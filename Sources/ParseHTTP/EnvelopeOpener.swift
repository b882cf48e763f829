import HTTPTypes
import JSON

/// Makes envelopes of requests.
struct EnvelopeOpener: Sendable {
    let settings: TransportSettings
    let credentialReader: CredentialReader

    init(settings: TransportSettings) {
        self.settings = settings
        credentialReader = CredentialReader(rules: settings.access)
    }

    /// Reads the body, takes the method override and the credentials out of it, and checks the keys.
    ///
    /// - Throws: ``HTTPFault`` when the body cannot be read, the keys are not good enough, or no such method exists;
    ///   `ParseError` when the context is malformed.
    func open(_ request: IncomingRequest, target: RequestTarget) async throws -> Envelope {
        var (body, uploads) = try await readBody(request, target: target)
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
            headers: request.headers, mountURL: mountURL(of: request), uploads: uploads)
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
        return "\(scheme)://\(host)\(settings.mountPath)"
    }

    /// A component of the path without percent-encoding.
    ///
    /// - Throws: ``HTTPFault`` 400 when it is not encoded properly or holds a NUL character.
    static func decodeComponent(_ component: Substring) throws(HTTPFault) -> String {
        guard let decoded = PercentEncoding.decode(component), !decoded.utf8.contains(0) else {
            throw HTTPFault(status: 400, message: "Failed to decode param '\(component)'")
        }
        return decoded
    }

    private func readBody(_ request: IncomingRequest, target: RequestTarget) async throws -> (
        JSONObject, uploads: [String: [UInt8]]
    ) {
        guard !request.body.isComplete else { return ([:], [:]) }
        try Self.refuseEncodings(request.headers)
        let bytes = try await request.body.collect(upTo: settings.maximumBodySize)
        let contentType = request.headers[.contentType]
        if let contentType, MediaType(contentType)?.essence == "multipart/form-data", Self.takesForms(target) {
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
    static func refuseEncodings(_ headers: HTTPFields) throws(HTTPFault) {
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
