import Encoding
import HTTP

/// The header fields of a request that only the console reads.
struct ConsoleFields {
    /// What a client says that it takes.
    private(set) var accept = ""
    private(set) var acceptEncoding = ""
    private(set) var userAgent = ""
    /// The half of a session that the page keeps; nil where it comes not once.
    private(set) var token: String?
    /// From where a browser says that the request was made.
    private(set) var fetchSite: String?
    private(set) var viewAs: String?
    private(set) var ifUpdatedAt: String?
    private(set) var shorten: String?
    /// Whether the page asks by itself, again and again.
    private(set) var isPoll = false
    /// Whether a proxy says that it stands between.
    private(set) var isForwarded = false
    private var cookieFields: [String] = []
    private var tokens = 0

    init(_ headers: RequestHeaders) {
        for (name, value) in headers.all {
            let name = name.asciiLowercased
            switch name {
            case "accept": accept += value
            case "accept-encoding": acceptEncoding += value
            case "user-agent": userAgent = value
            case "sec-fetch-site": fetchSite = value
            case "cookie": cookieFields.append(value)
            case "x-roost-console":
                tokens += 1
                token = tokens == 1 ? value : nil
            case "x-roost-view-as": viewAs = value
            case "x-roost-if-updated-at": ifUpdatedAt = value
            case "x-roost-shorten": shorten = value
            case "x-roost-poll": isPoll = true
            case "forwarded", "via", "x-real-ip": isForwarded = true
            default: if name.hasPrefix("x-forwarded-") { isForwarded = true }
            }
        }
    }

    /// The cookies of a name: a page of another port can add one of its own.
    func cookies(named name: String) -> [String] { cookieFields.flatMap { Cookies.values(of: name, in: $0) } }

    /// Whether a person reads the answer.
    var takesPages: Bool { accept.contains("text/html") }

    /// Whether the answer may be compressed.
    var takesGzip: Bool { acceptEncoding.contains("gzip") }
}
