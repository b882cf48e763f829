import Encoding
import ServerConfiguration

/// The links in mails, as parse-server makes them: up to preset 7 they name the user as well.
struct AccountLinks {
    private let base: String
    private let path: String
    private let frame: String?
    private let namesUser: Bool

    /// - Returns: nil where the address of the server is not known.
    init?(_ configuration: Configuration) {
        guard let base = configuration.linkURL else { return nil }
        self.base = base
        path = "/\(configuration.pages.pagesEndpoint)/\(PercentEncoding.encode(configuration.appId))"
        frame = configuration.customPages.parseFrameURL
        namesUser = configuration.preset < 8
    }

    /// A link.
    ///
    /// - Parameter page: What it leads to: `verify_email` or `request_password_reset`.
    func link(to page: String, token: String, username: String) -> String {
        let user = namesUser ? "&username=\(PercentEncoding.encode(username))" : ""
        let query = "token=\(PercentEncoding.encode(token))\(user)"
        guard let frame else { return "\(base)\(path)/\(page)?\(query)" }
        let separator = frame.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
        return "\(frame)\(separator)link=\(PercentEncoding.encode("\(path)/\(page)"))&\(query)"
    }
}
