import Encoding

/// The path and query string of a request, relative to the mount path.
package struct RequestTarget: Sendable, Equatable {
    /// The path below the mount path, not decoded. Empty, or beginning with a slash.
    package let path: Substring
    /// The query string, or nil if missing.
    package let query: Substring?
    /// The path components, not decoded, without the empty ones of double and trailing slashes.
    package let components: [Substring]

    /// Parses a request target below a mount path.
    ///
    /// Works on bytes, because it runs for every request and looks only for ASCII characters.
    ///
    /// - Parameters:
    ///   - target: The target in the request line: a path or an absolute URL.
    ///   - mount: The mount path without a trailing slash, or an empty string for the root.
    /// - Returns: The target, or nil if it is outside the mount path.
    package init?(_ target: String, mount: String) {
        let bytes = Self.withoutOrigin(target).utf8
        let slash = UInt8(ascii: "/")
        let fragment = bytes.firstIndex(of: UInt8(ascii: "#")) ?? bytes.endIndex
        let end = bytes[..<fragment].firstIndex(of: UInt8(ascii: "?")) ?? fragment
        // Of several leading slashes, only the last one counts.
        let first = bytes[..<end].firstIndex { $0 != slash } ?? end
        let start = first == bytes.startIndex ? first : bytes.index(before: first)
        guard let below = bytes.index(start, offsetBy: mount.utf8.count, limitedBy: end),
            below == end || bytes[below] == slash,
            zip(bytes[start..<below], mount.utf8).allSatisfy({ $0.lowercasedASCII == $1.lowercasedASCII })
        else { return nil }
        query = end < fragment ? Substring(bytes[bytes.index(after: end)..<fragment]) : nil
        path = Substring(bytes[below..<end])
        components = bytes[below..<end].split(separator: slash).map { Substring($0) }
    }

    /// Returns the part of an absolute URL after scheme and host, or `/` if it is empty. Returns other targets unchanged.
    static func withoutOrigin(_ target: String) -> String {
        guard target.utf8.first != UInt8(ascii: "/") else { return target }
        let whole = Substring(target.utf8.prefix { $0 != UInt8(ascii: "#") })
        guard let scheme = whole.firstRange(of: "://"), !whole[..<scheme.lowerBound].contains("?") else {
            return target
        }
        let rest = whole[scheme.upperBound...].utf8.drop { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        return rest.isEmpty ? "/" : String(Substring(rest))
    }
}

extension UInt8 {
    package var lowercasedASCII: UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
    }
}

/// The kinds of request methods that Roost distinguishes.
public enum Method: String, Sendable {
    case get = "GET"
    case post = "POST"
    case put = "PUT"
    case delete = "DELETE"

    /// Parses a method name in any case. `PATCH` counts as `PUT`, and `HEAD` as `GET`. Returns nil for other methods.
    public init?(name: String) {
        switch name {
        case "GET", "HEAD": self = .get
        case "POST": self = .post
        case "PUT", "PATCH": self = .put
        case "DELETE": self = .delete
        default:
            let capitals = name.asciiUppercased
            guard capitals != name else { return nil }
            self.init(name: capitals)
        }
    }
}
