import CloudCode
import Encoding
import Foundation

/// Where a webhook is, as it was declared.
struct WebhookAddress: Sendable {
    /// Where a request goes.
    struct Authority: Sendable {
        var url: String
        /// Name and port.
        var host: String
        /// The header field that the user information in the address stands for; nil for none.
        var authorization: String?
    }

    private let url: String

    init(_ url: String) { self.url = url }

    /// Takes the address apart.
    ///
    /// - Throws: `CloudFailure` for one that cannot be called.
    func checked() throws(CloudFailure) -> Authority {
        guard let colon = url.firstIndex(of: ":") else { throw CloudFailure("The webhook has no URL.") }
        let scheme = url[..<colon].lowercased()
        guard scheme == "http" || scheme == "https", url[colon...].hasPrefix("://") else {
            throw CloudFailure("The URL of a webhook must begin with http:// or https://.")
        }
        let rest = url[url.index(colon, offsetBy: 3)...]
        let end = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
        var host = rest[..<end]
        var authorization: String?
        if let at = host.lastIndex(of: "@") {
            let user = PercentEncoding.decode(host[..<at]) ?? String(host[..<at])
            authorization = "Basic " + Data((user.contains(":") ? user : user + ":").utf8).base64EncodedString()
            host = host[host.index(after: at)...]
        }
        guard !host.isEmpty else { throw CloudFailure("The webhook has no URL.") }
        return Authority(
            url: "\(scheme)://\(host)\(rest[end...].prefix { $0 != "#" })", host: host.lowercased(),
            authorization: authorization)
    }
}
