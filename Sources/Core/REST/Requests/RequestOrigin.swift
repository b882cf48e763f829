package import CloudCode
import Encoding
public import HTTP
public import JSON
public import Rules
package import ServerConfiguration
public import Telemetry

/// The sender and transport details of a request. All calls of a batch share one origin.
public final class RequestOrigin: Sendable {
    /// The id of the HTTP request, as in the log, or 0 for a request of cloud code.
    public let requestID: RequestID
    /// The caller's credentials as sent. The keys, but not the session token, have been checked.
    public let credentials: Credentials
    /// The rights that the caller's keys grant, or that the console or cloud code has without keys.
    public let power: Caller.Power
    /// The client's IP address, as reported by trusted proxies.
    public let address: String
    /// The address to check against the address lists of keys and rate limits. Clients can't forge it.
    let vouchedAddress: String
    /// The URL of the mount path as the client sees it, for links to this server.
    public let mountURL: String
    private let headers: RequestHeaders?
    /// The record of the HTTP request, or nil if cloud code made the request.
    let record: RequestRecord?
    /// The span of the HTTP request, or nil if it isn't recorded or cloud code made the request.
    public let span: RequestSpan?
    private let parent: InternalRequest.Parent?
    /// Whether cloud code inside this server or the console made the request. Client limits don't apply to it.
    package let isInternal: Bool

    /// The header field `Accept-Language`, or nil if it is missing.
    public var languages: String? { headers?[.acceptLanguage].map { String($0) } }

    package init(
        requestID: RequestID = RequestID(0), credentials: Credentials = Credentials(), power: Caller.Power = .client,
        address: ClientAddress = ClientAddress(""), mountURL: String = "", headers: RequestHeaders? = nil,
        record: RequestRecord? = nil, span: RequestSpan? = nil, parent: InternalRequest.Parent? = nil,
        isInternal: Bool = false
    ) {
        self.record = record
        self.span = span
        self.headers = headers
        self.parent = parent
        self.isInternal = isInternal
        self.requestID = requestID
        self.credentials = credentials
        self.power = power
        self.address = address.text
        vouchedAddress = address.vouched
        self.mountURL = mountURL
    }
}

/// The request facts that cloud code can read.
extension RequestOrigin: RequestFacts {
    /// Header fields withheld from cloud code: server keys, passwords and cookies, which it doesn't need.
    private static let kept: Set<Name> = [
        "x-parse-master-key", "x-parse-maintenance-key", "authorization", "cookie", "proxy-authorization",
        "x-roost-console",
    ]

    public var headerFields: JSONObject {
        guard let headers else { return parent?.headers ?? [:] }
        var fields: JSONObject = [:]
        for (name, value) in headers.all {
            let name = Name(name.asciiLowercased)
            guard !Self.kept.contains(name) else { continue }
            if let known = fields[name]?.stringValue {
                fields[name] = .string("\(known), \(value)")
            } else {
                fields[name] = .string(value)
            }
        }
        return fields
    }

    public var cloudContext: JSONObject { credentials.context ?? [:] }

    public var takesDeletions: Bool { ClientVersion.takesDeletions(credentials.clientVersion) }

    public var logID: String { parent?.requestID ?? "\(requestID)" }

    /// The nesting depth of the request in cloud-code calls. Webhook servers report it by forwarding the header field.
    /// A client that fakes it only gets its own request rejected as too deep.
    public var cloudDepth: Int {
        if let parent { return parent.depth }
        guard let text = headers?[.parseCloudDepth], let depth = Int(text) else { return 0 }
        return min(max(depth, 0), 1_000)
    }

    /// Whether cloud code may have made the request: it is part of a cloud-code call, or has a server key, as requests
    /// of webhook servers do. Only then is ``cloudDepth`` trusted.
    public var isOfCloudCode: Bool { parent != nil || power != .client }

    public var isOfAdapter: Bool { parent?.isOfAdapter ?? false }

    /// The trusted nesting depth in cloud-code calls, which is 0 for clients.
    var memoryDepth: Int { isOfCloudCode ? cloudDepth : 0 }
}

/// The SDK and version that a client reports, such as `js1.10.0`, `i1.19.2` or `php1.6.0`.
package enum ClientVersion {
    /// Whether a client is a Parse SDK that sends reads as POST with `_method` in the body.
    static func sendsReadsAsPost(_ text: String?) -> Bool {
        guard let text = text?.asciiLowercased else { return false }
        return ["js", "i", "osx", "apple-tv", "apple-watch", "swift"].contains { sdk in
            text.hasPrefix(sdk) && text.dropFirst(sdk.count).first?.isNumber == true
        }
    }

    /// Whether a client understands `{"__op":"Delete"}` as the value of a deleted field in a response: clients without
    /// a name and version, and the JavaScript SDK since 1.9. Others would store the operation as the field's value.
    package static func takesDeletions(_ text: String?) -> Bool {
        guard let text = text?.asciiLowercased else { return true }
        let isOfName = { (character: Character) in character.isASCII && character.isLetter || character == "-" }
        let sdk = text.drop { !isOfName($0) }.prefix(while: isOfName)
        let version = text[sdk.endIndex...].prefix { ("0"..."9").contains($0) || $0 == "." }
        if sdk.isEmpty || version.isEmpty { return true }
        let numbers = version.split(separator: ".", omittingEmptySubsequences: false).compactMap { Int($0) }
        return sdk == "js" && numbers.count == 3 && (numbers[0], numbers[1]) >= (1, 9)
    }
}
