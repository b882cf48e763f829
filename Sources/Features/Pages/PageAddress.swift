import Encoding

/// Adds query parameters to page URLs.
public enum PageAddress {
    /// Appends percent-encoded parameters to the end of a URL, like parse-server's older redirects.
    public static func appending(_ parameters: [(String, String)], to address: String) -> String {
        guard !parameters.isEmpty else { return address }
        let query = parameters.map { "\($0)=\(PercentEncoding.encode($1))" }.joined(separator: "&")
        return address + (address.utf8.contains(UInt8(ascii: "?")) ? "&" : "?") + query
    }

    /// Sets query parameters of a URL like a browser: form-encoded and before the fragment. Existing parameters get the
    /// new value.
    public static func setting(_ parameters: [(String, String)], in address: String) -> String {
        var rest = Substring(address)
        var fragment: Substring = ""
        if let start = rest.utf8.firstIndex(of: UInt8(ascii: "#")) {
            fragment = rest[start...]
            rest = rest[..<start]
        }
        var pairs: [(name: String, value: String)] = []
        if let start = rest.utf8.firstIndex(of: UInt8(ascii: "?")) {
            pairs = read(rest[rest.utf8.index(after: start)...])
            rest = rest[..<start]
        }
        for (name, value) in parameters {
            if let place = pairs.firstIndex(where: { $0.name.utf8.elementsEqual(name.utf8) }) {
                pairs[place].value = value
            } else {
                pairs.append((name, value))
            }
        }
        let query = pairs.map { "\(encode($0.name))=\(encode($0.value))" }.joined(separator: "&")
        return withPath(rest) + (query.isEmpty ? "" : "?" + query) + fragment
    }

    /// Returns the scheme and host of a URL as a source for a Content-Security-Policy, or only the scheme of a URL
    /// without `//`. Returns nil if the scheme is missing, or the host is missing or invalid.
    static func source(_ address: String) -> String? {
        let bytes = address.utf8
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let scheme = String(address[..<colon])
        guard address[colon...].hasPrefix("://") else { return scheme + ":" }
        let host = bytes[bytes.index(colon, offsetBy: 3)...].prefix { !"/?#".utf8.contains($0) }
        // Excludes characters that would end the directive or the header field.
        guard !host.isEmpty, host.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !"'\",;\\@".utf8.contains($0) }) else {
            return nil
        }
        return scheme + "://" + String(decoding: host, as: UTF8.self)
    }

    private static func read(_ query: Substring) -> [(name: String, value: String)] {
        query.utf8.split(separator: UInt8(ascii: "&")).map { part in
            let end = part.firstIndex(of: UInt8(ascii: "=")) ?? part.endIndex
            let value = end < part.endIndex ? part[part.index(after: end)...] : part[end...]
            return (decode(Substring(part[..<end])), decode(Substring(value)))
        }
    }

    private static func decode(_ text: Substring) -> String {
        PercentEncoding.decode(text, plusIsSpace: true) ?? String(text)
    }

    /// Adds a slash to a URL without a path, such as `https://host`.
    private static func withPath(_ address: Substring) -> String {
        guard let start = address.utf8.firstRange(of: "://".utf8)?.upperBound,
            !address.utf8[start...].contains(UInt8(ascii: "/"))
        else { return String(address) }
        return address + "/"
    }

    /// Form-encodes all bytes except letters, digits and `*-._`. A space becomes a plus.
    private static func encode(_ text: String) -> String {
        PercentEncoding.encode(text, keepingOnly: "*-._ ").replacing(" ", with: "+")
    }
}
