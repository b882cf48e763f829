import JSON
import ParseModel

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Where files that clients name may be.
package enum FileURLRules {
    /// Refuses files whose URL leads to a host that the deployment does not want, at any depth.
    ///
    /// - Throws: 130.
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
                        // Readers make other signs of some letters, also such as end a host.
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

    /// Characters that end a host or are invalid.
    private static let noSignsOfHosts = Set(#"/\?#@% "#.utf8)

    /// The host of a URL in lower case, or empty if it has none or parsers disagree on it.
    private static func host(of url: String) -> String {
        // To browsers a backslash ends the host as a slash does: what follows an `@` after it is none.
        let address = url.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        guard !address.contains(UInt8(ascii: "\\")), let host = URLComponents(string: url)?.host else { return "" }
        // Signs that are escaped in the URL are not so here.
        let isHost = host.utf8.allSatisfy { $0 >= 32 && !noSignsOfHosts.contains($0) }
        return isHost ? host.lowercased() : ""
    }
}
