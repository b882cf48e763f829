import Encoding
import HTTP
import JSON
import ParseModel
import ServerConfiguration

struct EnvelopeOpener: Sendable {
    let keys: ApplicationKeys
    let trustProxy: Configuration.TrustProxy
    let maximumBodySize: Int
    /// The authority of all requests, or nil for client requests. If set, keys in the request are ignored.
    var authority: RequestAuthority?
    private let credentialReader: CredentialReader
    let mountURLs: MountURLs
    private let applicationScan: ApplicationScan

    /// - Throws: The first invalid address in the configuration.
    init(_ configuration: Configuration) throws(AddressList.InvalidEntry) {
        keys = try ApplicationKeys(configuration)
        trustProxy = configuration.trustProxy
        maximumBodySize = configuration.maxUploadSize
        credentialReader = CredentialReader(keys: keys)
        mountURLs = MountURLs(configuration)
        applicationScan = ApplicationScan(applicationID: keys.applicationID)
    }

    /// Parses the body, extracts the method override and the credentials from it, and checks the keys.
    ///
    /// - Throws: ``HTTPError`` if the body, the keys, the path or the method are invalid, or `ParseError` if the
    ///   context, the session token or a form is malformed.
    @inline(never)  // Inlined, it adds 20 KB to the memory of every request that is being answered.
    func open(_ request: IncomingRequest, body bytes: [UInt8], target: RequestTarget) throws -> Envelope {
        var (body, uploads) = try Self.parse(bytes, of: request, target: target)
        let methodName = authority == nil ? MethodOverride.apply(to: request.method, body: &body) : request.method
        var credentials = try credentials(of: request.headers)
        try complete(&credentials, from: &body)
        let origin = try origin(of: request, consume credentials)
        var envelope = try Self.envelope(from: origin, methodName, target, body, uploads)
        envelope.authority = authority
        envelope.isOverridden = envelope.method != .post && request.method == "POST"
        return envelope
    }

    /// Creates the envelope of a request with a known sender.
    ///
    /// - Throws: ``HTTPError`` if the method, the path or the query string is invalid.
    static func envelope(
        from origin: RequestOrigin, _ methodName: String, _ target: RequestTarget, _ body: JSONObject,
        _ uploads: [Name: FormFile] = [:]
    ) throws(HTTPError) -> Envelope {
        guard let method = Method(name: methodName) else {
            throw HTTPError.noRoute(method: methodName, path: target.path)
        }
        var envelope = Envelope(
            from: origin, method: method, path: try target.components.map(decodeComponent),
            rawPath: String(target.path), body: body, uploads: uploads)
        envelope.methodName = methodName.asciiUppercased
        if let query = target.query, !query.isEmpty {
            envelope.query = FormEncoding.values(query)
            envelope.queryString = String(query)
            guard !JSONBody.containsNull(envelope.query) else { throw JSONBody.nullCharacter }
        }
        return envelope
    }

    /// Reads the credentials in the header fields, or with an ``authority`` returns only the application id.
    ///
    /// - Throws: `ParseError` 107 if the context isn't a JSON object.
    func credentials(of headers: RequestHeaders) throws -> Credentials {
        guard authority != nil else { return try credentialReader.read(headers: headers) }
        var credentials = Credentials()
        credentials.applicationID = keys.applicationID
        return credentials
    }

    /// Completes the credentials from a body, and removes them from it. Does nothing with an ``authority``.
    ///
    /// - Returns: The content type of an upload (`_ContentType`), or nil if the body contains none.
    /// - Throws: The errors of ``CredentialReader``.
    @discardableResult
    func complete(_ credentials: inout Credentials, from body: inout JSONObject) throws -> String? {
        try authority == nil ? credentialReader.complete(&credentials, from: &body) : nil
    }

    /// Returns the client's IP address, as reported by trusted proxies.
    func address(of request: IncomingRequest) -> ClientAddress {
        ClientAddress(peer: request.peer, forwardedFor: request.headers[.forwardedFor], trust: trustProxy)
    }

    /// Creates the origin of a request with the given credentials.
    ///
    /// - Throws: ``HTTPError`` if the keys are invalid.
    func origin(of request: IncomingRequest, _ credentials: consuming Credentials) throws(HTTPError) -> RequestOrigin {
        let address = address(of: request)
        let power =
            if let authority { authority.power } else { try keys.power(of: credentials, address: address.vouched) }
        return RequestOrigin(
            requestID: request.id, credentials: credentials, power: power, address: address,
            mountURL: mountURLs.url(for: request), headers: request.headers, record: request.record,
            span: request.span, isInternal: authority != nil)
    }

    /// Creates the origin of a request without credentials.
    func anonymousOrigin(of request: IncomingRequest) -> RequestOrigin {
        RequestOrigin(
            requestID: request.id, address: address(of: request), mountURL: mountURLs.url(for: request),
            headers: request.headers, record: request.record, span: request.span)
    }

    /// Percent-decodes a path component.
    ///
    /// - Throws: ``HTTPError`` 400 if its encoding is invalid or it contains NUL.
    static func decodeComponent(_ component: Substring) throws(HTTPError) -> String {
        guard let decoded = PercentEncoding.decode(component), !decoded.utf8.contains(where: { $0 == 0 }) else {
            throw HTTPError(status: 400, message: "Failed to decode param '\(component)'")
        }
        return decoded
    }

    /// Reads the body, which is empty if the request has none. Before a possibly large body, checks the header's keys.
    ///
    /// - Throws: ``HTTPError`` if the body is too large, compressed or incomplete, or the keys are invalid;
    ///   `ParseError` 116 if a form is too large, or 107 if the header's context isn't a JSON object.
    func readBody(of request: IncomingRequest, _ target: RequestTarget) async throws -> [UInt8] {
        guard !request.body.isComplete else { return [] }
        try Self.refuseEncodings(request.headers)
        if request.body.declaredLength ?? .max > RequestQueue.longSize { try checkKeys(of: request) }
        do {
            return try await request.body.collect(upTo: maximumBodySize)
        } catch let error as HTTPError where error == .bodyTooLarge && Self.isForm(request, target) {
            throw ParseError(ParseError.objectTooLarge, "Multipart request exceeds maximum upload size.")
        }
    }

    /// Checks the keys in the header if it names the application, because then the body can't override them.
    private func checkKeys(of request: IncomingRequest) throws {
        let credentials = try credentials(of: request.headers)
        if keys.serves(credentials.applicationID) { _ = try origin(of: request, credentials) }
    }

    /// Rejects a large body if neither the header fields nor the body can name the application.
    ///
    /// - Throws: ``HTTPError/unauthorized``, or `ParseError` 107 if the header's context isn't a JSON object.
    @inline(never)
    func checkCanName(_ body: [UInt8], in request: IncomingRequest) throws {
        guard body.count >= RequestQueue.longSize else { return }
        let credentials = try credentials(of: request.headers)
        guard keys.serves(credentials.applicationID) || applicationScan.mayName(body) else {
            throw HTTPError.unauthorized
        }
    }

    private static func parse(_ bytes: [UInt8], of request: IncomingRequest, target: RequestTarget) throws -> (
        JSONObject, uploads: [Name: FormFile]
    ) {
        if bytes.isEmpty { return ([:], [:]) }
        let contentType = request.headers[.contentType]
        if let contentType, isForm(request, target) {
            do {
                let form = try MultipartForm(bytes, contentType: contentType)
                return (form.fields, form.files)
            } catch {
                throw ParseError(ParseError.invalidJSON, error.message)
            }
        }
        try refuseCharset(contentType)
        return (try JSONBody.parse(bytes, contentType: contentType), [:])
    }

    private static func isForm(_ request: IncomingRequest, _ target: RequestTarget) -> Bool {
        guard let contentType = request.headers[.contentType],
            MediaType(contentType)?.essence == "multipart/form-data", let method = Method(name: request.method),
            let path = try? target.components.map(decodeComponent)
        else { return false }
        return RouteTable.match(method, path)?.traits.contains(.form) == true
    }

    /// Rejects character sets other than UTF-8, because decoding them as UTF-8 would change the text.
    private static func refuseCharset(_ contentType: String?) throws(HTTPError) {
        // Nearly all content types have no character set, or `utf-8`.
        guard let contentType, contentType.utf8.contains(UInt8(ascii: ";")),
            let charset = HeaderParameters(contentType.utf8)?.parameters["charset"]?.asciiLowercased,
            charset != "utf-8", charset != "utf8"
        else { return }
        throw HTTPError(status: 415, message: "unsupported charset \"\(charset.asciiUppercased)\"")
    }

    /// Rejects compressed bodies, which are not supported.
    static func refuseEncodings(_ headers: RequestHeaders) throws(HTTPError) {
        guard let encoding = headers[.contentEncoding]?.asciiLowercased, encoding != "identity" else { return }
        throw HTTPError(status: 415, message: "unsupported content encoding \"\(encoding)\"")
    }
}

/// The method override: some SDKs send most requests as `POST` with `_method` in the body.
enum MethodOverride {
    /// Returns the method's name after an override, in upper case, and removes the override from the body.
    ///
    /// Only a real `POST` can be overridden, and an empty `_method` is an ordinary key.
    static func apply(to name: String, body: inout JSONObject) -> String {
        guard name == "POST", let value = body["_method"], value.isTruthy else { return name }
        body["_method"] = nil
        guard case .string(let method) = value else { return "" }
        return method.asciiUppercased
    }
}

/// Checks whether a large body can name the application, before parsing it as JSON.
///
/// SDKs that send their credentials in the body write `"_ApplicationId":"…"`, usually at the end. Searching for it
/// takes a hundredth of the time of parsing.
struct ApplicationScan: Sendable {
    private let applicationID: [UInt8]
    /// Whether the id has only characters that every client writes unescaped.
    private let isPlain: Bool

    private static let key = Array("_ApplicationId".utf8)
    /// Bytes allowed between key and id, in JSON and in a form.
    private static let betweenMarks = Array("\":= \t\r\n".utf8)
    private static let maxBytesBetween = 64

    init(applicationID: String) {
        self.applicationID = Array(applicationID.utf8)
        isPlain = applicationID.utf8.allSatisfy { $0.isASCIIAlphanumeric || "-_.".utf8.contains($0) }
    }

    /// Whether the bytes contain the key followed by the id, or just the key if the id may be escaped.
    func mayName(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while let mark = rest.firstIndex(of: UInt8(ascii: "_")) {
            rest = bytes[mark...]
            if rest.starts(with: Self.key) {
                let value = rest.dropFirst(Self.key.count)
                if !isPlain { return true }
                let between = value.prefix(Self.maxBytesBetween).prefix { Self.betweenMarks.contains($0) }
                if value.dropFirst(between.count).starts(with: applicationID) { return true }
            }
            rest = rest.dropFirst()
        }
        return false
    }
}
