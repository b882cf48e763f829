import HTTP

/// What the transport needs to know, worked out once from the configuration.
public struct InterfaceSettings: Sendable {
    /// The path below which the interface lies, without trailing slash; empty for the root.
    public var mountPath: String
    /// The keys of the application.
    public var keys: ApplicationKeys
    /// The largest request body in bytes.
    public var maximumBodySize: Int
    /// The origins whose pages may call; `*` for all.
    public var allowedOrigins: [String]
    /// Header fields that pages may send besides Parse's own.
    public var allowedHeaders: [String]
    /// Which proxies are believed about the client's address.
    public var proxyTrust: ProxyTrust
    /// The address under which the world sees the mount path; nil to derive it from each request.
    public var publicServerURL: String?
    /// The address of the mount path for requests that do not say how they were reached.
    public var serverURL: String
    /// Whether the server itself speaks TLS.
    public var speaksTLS = false
    /// Whether errors about permissions have a generic text.
    public var sanitizesErrors: Bool
    /// Who may upload and download files, and which.
    public var files: FileSettings

    /// Settings for an application, with parse-server's defaults for the rest.
    public init(keys: ApplicationKeys, mountPath: String = "/parse") {
        self.keys = keys
        self.mountPath = String(mountPath.split(separator: "/").map { "/" + $0 }.joined())
        maximumBodySize = 20 * 1024 * 1024
        allowedOrigins = ["*"]
        allowedHeaders = []
        proxyTrust = .nobody
        publicServerURL = nil
        serverURL = "http://localhost:1337" + self.mountPath
        sanitizesErrors = true
        files = FileSettings()
    }

    /// Where the client of a WebSocket connection is, as far as the proxies before the server are believed.
    package func address(of request: WebSocketRequest) -> String {
        ClientAddress.resolve(peer: request.peer, forwardedFor: request.forwardedFor, trust: proxyTrust)
    }

    /// The address under which the client of a WebSocket connection sees the mount path.
    package func mountURL(of request: WebSocketRequest) -> String { MountURLs(settings: self).url(for: request) }

    /// What pages of other origins are told.
    package var crossOrigin: CrossOrigin { CrossOrigin(origins: allowedOrigins, extraHeaders: allowedHeaders) }
}

/// Who may upload and download files, and which.
public struct FileSettings: Sendable {
    /// A permission for each kind of caller that has no master or maintenance key.
    public struct Callers: Sendable {
        /// Callers without a session.
        public var everybody: Bool
        /// Anonymous users.
        public var anonymousUsers: Bool
        /// Users who logged in.
        public var authenticatedUsers: Bool

        /// A permission for each kind of caller.
        public init(everybody: Bool, anonymousUsers: Bool, authenticatedUsers: Bool) {
            self.everybody = everybody
            self.anonymousUsers = anonymousUsers
            self.authenticatedUsers = authenticatedUsers
        }

        var allowsAll: Bool { everybody && anonymousUsers && authenticatedUsers }
    }

    /// Who may upload.
    public var upload = Callers(everybody: false, anonymousUsers: false, authenticatedUsers: true)
    /// Who may download.
    public var download = Callers(everybody: true, anonymousUsers: true, authenticatedUsers: true)
    /// Patterns of the extensions that clients may upload, one of which must match; `*` allows all.
    public var extensions: [String] = [FileSettings.defaultExtensions]
    /// Whether a stored file keeps its name without a random prefix.
    public var keepsNames = false
    /// The key of files that were hosted by parse.com, whose URLs are built differently.
    public var fileKey: String?

    /// parse-server's defaults.
    public init() {}

    /// Everything but what a browser runs.
    public static let defaultExtensions =
        "^(?!([hH][tT][mM][lL]?|[sS][hH][tT][mM][lL]|[xX][hH][tT][mM][lL](\\+[xX][mM][lL])?|[xX][hH][tT]"
        + "|[sS][vV][gG]([zZ]|\\+[xX][mM][lL])?|[xX][mM][lL]|[xX][sS][lL][tT]?(\\+[xX][mM][lL])?|[xX][sS][dD]"
        + "|[rR][nN][gG]|[rR][dD][fF](\\+[xX][mM][lL])?|[oO][wW][lL]|[mM][aA][tT][hH][mM][lL](\\+[xX][mM][lL])?)$)"
}
