import Encoding
import HTTP

/// Request header fields for the console.
struct ConsoleFields {
    private(set) var accept = ""
    private(set) var acceptEncoding = ""
    private(set) var userAgent = ""
    /// The session token (`X-Roost-Console`), or nil if it is missing or repeated.
    private(set) var token: String?
    /// The `Sec-Fetch-Site` field.
    private(set) var fetchSite: String?
    private(set) var viewAs: String?
    private(set) var ifUpdatedAt: String?
    private(set) var shorten: String?
    /// Whether the page sent the request automatically (`X-Roost-Poll`).
    private(set) var isPoll = false
    /// Whether a header field indicates a proxy.
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

    /// Returns the values of all cookies with the given name. Servers on other ports can set cookies of that name.
    func cookies(named name: String) -> [String] { cookieFields.flatMap { Cookies.values(of: name, in: $0) } }

    /// Whether the client accepts HTML, as browsers do when they open a page.
    var acceptsPages: Bool { accept.contains("text/html") }

    var acceptsGzip: Bool { acceptEncoding.contains("gzip") }
}
