import Encoding

/// The path and query string of a request, relative to the mount path.
package struct RequestTarget: Sendable, Equatable {
    /// The path below the mount as it came; empty or beginning with a slash.
    package let path: Substring
    /// What follows the question mark, if there is one.
    package let query: Substring?
    /// The components of the path as they came, without the empty ones of double and trailing slashes.
    package let components: [Substring]

    /// Finds a request target below a mount path.
    ///
    /// It works on bytes: what it looks for is ASCII, and every request passes here.
    ///
    /// - Parameters:
    ///   - target: What the request line says: a path, or a whole URL.
    ///   - mount: The mount path without trailing slash; empty for the root.
    /// - Returns: The target, or nil if it lies outside the mount.
    package init?(_ target: String, mount: String) {
        let relative = Self.withoutOrigin(target.utf8.prefix { $0 != UInt8(ascii: "#") })
        let end = relative.firstIndex(of: UInt8(ascii: "?")) ?? relative.endIndex
        query = end < relative.endIndex ? Substring(relative[relative.index(after: end)...]) : nil
        var path = relative[..<end]
        while path.starts(with: "//".utf8) { path.removeFirst() }
        guard let below = Self.below(mount, path) else { return nil }
        self.path = Substring(below)
        components = below.split(separator: UInt8(ascii: "/")).map { Substring($0) }
    }

    private static func withoutOrigin(_ target: Substring.UTF8View) -> Substring.UTF8View {
        guard target.first != UInt8(ascii: "/"), let scheme = Substring(target).firstRange(of: "://") else {
            return target
        }
        let authority = target[scheme.upperBound...]
        return authority.firstIndex(of: UInt8(ascii: "/")).map { authority[$0...] } ?? Substring("/").utf8
    }

    private static func below(_ mount: String, _ path: Substring.UTF8View) -> Substring.UTF8View? {
        let head = path.prefix(mount.utf8.count)
        guard head.elementsEqual(mount.utf8, by: { $0.lowercasedASCII == $1.lowercasedASCII }) else { return nil }
        let rest = path[head.endIndex...]
        return rest.isEmpty || rest.first == UInt8(ascii: "/") ? rest : nil
    }
}

extension UInt8 {
    /// The byte of the small letter, where this is that of a capital of ASCII.
    package var lowercasedASCII: UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
    }
}

/// What a request wants to do with the thing that its path names.
public enum Method: String, Sendable {
    case get = "GET"
    case post = "POST"
    case put = "PUT"
    case delete = "DELETE"

    /// Reads a method name in any case. `PATCH` counts as `PUT`, `HEAD` as `GET`; nil for anything else.
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
