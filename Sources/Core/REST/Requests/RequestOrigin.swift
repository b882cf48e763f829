package import CloudCode
import Encoding
public import HTTP
public import JSON
public import Rules
public import ServerConfiguration
public import Telemetry

/// Who sent a request, and how it came. The calls of a batch have one origin.
public final class RequestOrigin: Sendable {
    /// A short id under which the log speaks about the request.
    public let requestID: RequestID
    /// Who the caller says it is.
    public let credentials: Credentials
    /// What the caller's keys are worth.
    public let power: Caller.Power
    /// The client's IP address; the one that trusted proxies report, if there are such.
    public let address: String
    /// The address that address lists and local exemptions are checked against.
    let vouchedAddress: String
    /// `scheme://host/mount`, for links to this server; `publicServerURL` if that is configured.
    public let mountURL: String
    /// The raw header fields, or nil for a request that didn't come by HTTP.
    private let headers: RequestHeaders?
    /// What is found out about the request; nil for one that did not come by HTTP.
    let record: RequestRecord?
    /// The span of the request, or nil if it isn't recorded.
    public let span: RequestSpan?
    /// The context of the calling cloud code, or nil for a client's request.
    private let parent: InternalRequest.Parent?
    /// Whether cloud code makes the request inside of this server, or the console: limits of clients do not concern it.
    package let isInternal: Bool

    /// The header field `Accept-Language`; nil without one.
    public var languages: String? { headers?[.acceptLanguage].map { String($0) } }

    public convenience init(
        requestID: RequestID = RequestID(0), credentials: Credentials = Credentials(), power: Caller.Power = .client,
        address: ClientAddress = ClientAddress(""), mountURL: String = ""
    ) {
        self.init(
            requestID: requestID, credentials: credentials, power: power, address: address,
            mountURL: mountURL, headers: nil)
    }

    /// Puts together what is known of a request that came by HTTP, or of one that cloud code makes.
    package init(
        requestID: RequestID, credentials: Credentials, power: Caller.Power, address: ClientAddress, mountURL: String,
        headers: RequestHeaders?, record: RequestRecord? = nil, span: RequestSpan? = nil,
        parent: InternalRequest.Parent? = nil, isInternal: Bool = false
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

/// What cloud code gets of the request.
extension RequestOrigin: RequestFacts {
    /// Withheld from hosts of cloud code, which need no keys or passwords.
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

    /// Servers of webhooks that hand the field on with their own requests say how deep they stand in one another. A
    /// client that makes it up has its own request refused as too deep, and gains nothing.
    public var cloudDepth: Int {
        if let parent { return parent.depth }
        guard let text = headers?[.parseCloudDepth], let depth = Int(text) else { return 0 }
        return min(max(depth, 0), 1_000)
    }

    /// A key distinguishes servers of webhooks from clients: a trusted request does not wait for the slots of others.
    public var isOfCloudCode: Bool { parent != nil || power != .client }

    /// In how many calls of cloud code the request stands, as far as that is known: what clients say does not count.
    var memoryDepth: Int { isOfCloudCode ? cloudDepth : 0 }
}

/// What a client says of its SDK: `js1.10.0`, `i1.19.2`, `php1.6.0`.
package enum ClientVersion {
    /// Whether a client is one of Parse's SDKs that send finds as POST with `_method` in the body.
    static func sendsReadsAsPost(_ text: String?) -> Bool {
        guard let text = text?.asciiLowercased else { return false }
        return ["js", "i", "osx", "apple-tv", "apple-watch", "swift"].contains { sdk in
            text.hasPrefix(sdk) && text.dropFirst(sdk.count).first?.isNumber == true
        }
    }

    /// Whether a client takes `{"__op":"Delete"}` in an answer for a field that is gone: those that name no SDK, and
    /// JavaScript's from 1.9 on. Others would keep the operation as the value of the field.
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
