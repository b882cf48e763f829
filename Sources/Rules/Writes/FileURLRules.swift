import Foundation
import JSON
import ParseModel

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
                let host = URLComponents(string: url)?.host?.lowercased() ?? ""
                let isAllowed = allowed.contains { domain in
                    let domain = domain.lowercased()
                    return domain == host || (domain.hasPrefix("*.") && host.hasSuffix(domain.dropFirst()))
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
}
