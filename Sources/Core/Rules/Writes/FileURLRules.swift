import JSON
import ParseModel
import Platform

/// Restricts the hosts of file URLs in written objects.
package enum FileURLRules {
    /// Rejects files at any depth whose URL has no host or one that isn't allowed.
    ///
    /// - Throws: 130 if there is such a file.
    package static func check(_ value: JSONValue, allowed: [String]) throws(ParseError) {
        guard !allowed.contains(where: { $0 == "*" }) else { return }
        switch value {
        case .object(let object):
            if object["__type"] == "File", let url = object["url"]?.stringValue, !url.isEmpty {
                let host = host(of: url)
                let isAllowed =
                    !host.isEmpty
                    && allowed.contains { domain in
                        let domain = domain.lowercased()
                        if domain == host { return true }
                        // Wildcards only match ASCII hosts, because browsers normalize some other characters to ASCII,
                        // even to a slash.
                        return host.utf8.allSatisfy { $0 < 0x80 } && domain.hasPrefix("*.")
                            && host.hasSuffix(domain.dropFirst())
                    }
                guard isAllowed else {
                    throw ParseError(ParseError.fileSaveError, "File URL domain '\(host)' is not allowed.")
                }
            }
            for member in object.values { try check(member, allowed: allowed) }
        case .array(let list):
            for element in list { try check(element, allowed: allowed) }
        default: break
        }
    }

    private static let noSignsOfHosts = Set(#"/\?#@% "#.utf8)

    /// Returns the lower-case host, or an empty string if the URL has none or URL parsers disagree on it.
    private static func host(of url: String) -> String {
        // Browsers treat a backslash as a slash, so an `@` after it doesn't introduce the host.
        let address = url.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        guard !address.contains(UInt8(ascii: "\\")), let host = URLComponents(string: url)?.host else { return "" }
        // `URLComponents` decodes percent-encoded characters in the host.
        let isHost = host.utf8.allSatisfy { $0 >= 32 && !noSignsOfHosts.contains($0) }
        return isHost ? host.lowercased() : ""
    }
}
