public import Crypto
import Encoding
public import Platform

/// Signs requests with AWS Signature Version 4, for Amazon's services and compatible ones.
public struct AWSSignature: Sendable {
    public var accessKeyId: String
    public var secretAccessKey: String
    /// The session token of temporary credentials, or nil for permanent ones.
    public var sessionToken: String?
    public var region: String
    /// The name of the service in the signature, such as `s3`.
    public var service: String

    public init(
        accessKeyId: String, secretAccessKey: String, sessionToken: String? = nil, region: String, service: String
    ) {
        self.accessKeyId = accessKeyId
        self.secretAccessKey = secretAccessKey
        self.sessionToken = sessionToken
        self.region = region
        self.service = service
    }

    /// The parts of a request that are signed. Parameters and header fields are sorted; nothing is encoded again.
    public struct Request: Sendable {
        /// The HTTP method in upper case.
        public var method: String
        /// The host, with the port unless it is the scheme's default.
        public var host: String
        /// The percent-encoded path.
        public var path: String
        /// The percent-encoded parameters in the form `name=value`.
        public var query: [String]
        /// The signed header fields in addition to the host.
        public var headers: [(name: String, value: String)]
        /// The hexadecimal SHA-256 of the body, or a placeholder such as `UNSIGNED-PAYLOAD`.
        public var payload: String

        public init(
            method: String, host: String, path: String, query: [String] = [],
            headers: [(name: String, value: String)] = [], payload: String
        ) {
            self.method = method
            self.host = host
            self.path = path
            self.query = query
            self.headers = headers
            self.payload = payload
        }
    }

    /// Returns the header fields to add to a request: the time, the session token if any, and the signature.
    ///
    /// Signs the host and all header fields of the request.
    public func headers(for call: HTTPCall, at date: Date) -> [(name: String, value: String)] {
        let address = Self.parts(call.url)
        let request = Request(
            method: call.method, host: address.host, path: address.path, query: address.query, headers: call.headers,
            payload: SHA256.hash(data: call.body).hexadecimal)
        return headers(for: request, at: date)
    }

    /// Returns the header fields to add to a request: the time, the session token if any, and the signature.
    public func headers(for request: Request, at date: Date) -> [(name: String, value: String)] {
        let time = Self.time(date)
        var added: [(name: String, value: String)] = [("X-Amz-Date", time)]
        if let sessionToken { added.append(("X-Amz-Security-Token", sessionToken)) }
        var request = request
        request.headers += added
        let (canonical, names) = Self.canonical(request)
        let signature = signature(of: canonical, time)
        added.append(
            (
                "Authorization",
                "AWS4-HMAC-SHA256 Credential=\(accessKeyId)/\(scope(time)), SignedHeaders=\(names), "
                    + "Signature=\(signature)"
            ))
        return added
    }

    /// Derives the signing key of a day.
    public func key(_ day: String) -> SymmetricKey {
        [day, region, service, "aws4_request"].reduce(SymmetricKey(data: Array("AWS4\(secretAccessKey)".utf8))) {
            SymmetricKey(data: HMAC<SHA256>.authenticationCode(for: Array($1.utf8), using: $0))
        }
    }

    /// Returns a time in the format `20150830T123600Z`.
    public static func time(_ date: Date) -> String {
        let seconds = Int(date.timeIntervalSince1970.rounded(.down))
        let days = seconds / 86_400
        let day = CivilDate(daysSince1970: days)
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(day.year)\(two(day.month))\(two(day.day))T"
            + "\(two(seconds / 3600 % 24))\(two(seconds / 60 % 60))\(two(seconds % 60))Z"
    }

    /// Percent-encodes all bytes except letters, digits and `-._~`, as signatures require.
    public static func encode(_ text: String, keepingSlashes: Bool) -> String {
        PercentEncoding.encode(text, keepingOnly: keepingSlashes ? "-._~/" : "-._~")
    }

    func scope(_ time: String) -> String { "\(time.prefix(8))/\(region)/\(service)/aws4_request" }

    private func signature(of canonical: String, _ time: String) -> String {
        let text = [
            "AWS4-HMAC-SHA256", time, scope(time), SHA256.hash(data: Array(canonical.utf8)).hexadecimal,
        ].joined(separator: "\n")
        return HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: key(String(time.prefix(8)))).hexadecimal
    }

    /// Returns the canonical request, and the names of its signed header fields.
    static func canonical(_ request: Request) -> (text: String, names: String) {
        let signed = ([("host", request.host)] + request.headers.map { ($0.name.asciiLowercased, $0.value) })
            .sorted { $0.0.utf8.lexicographicallyPrecedes($1.0.utf8) }
        let names = signed.map(\.0).joined(separator: ";")
        let fields = signed.map { "\($0.0):\($0.1.split(separator: " ").joined(separator: " "))\n" }.joined()
        let text = [
            request.method, request.path, ordered(request.query).joined(separator: "&"), fields, names,
            request.payload,
        ].joined(separator: "\n")
        return (text, names)
    }

    /// Sorts parameters by the bytes of their names, then of their values.
    static func ordered(_ query: [String]) -> [String] {
        query.sorted { first, second in
            let names = [first, second].map { $0.utf8.prefix { $0 != UInt8(ascii: "=") } }
            return names[0].elementsEqual(names[1])
                ? first.utf8.lexicographicallyPrecedes(second.utf8) : names[0].lexicographicallyPrecedes(names[1])
        }
    }

    private static func parts(_ url: String) -> (host: String, path: String, query: [String]) {
        let rest = url.utf8.firstRange(of: "://".utf8).map { url[$0.upperBound...] } ?? url[...]
        let end = rest.utf8.firstIndex { "/?".utf8.contains($0) } ?? rest.endIndex
        let pieces = rest[end...].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = pieces.first.map(String.init) ?? ""
        let query = pieces.count > 1 ? pieces[1].split(separator: "&").map(String.init) : []
        return (String(rest[..<end]), path.isEmpty ? "/" : path, query)
    }
}
