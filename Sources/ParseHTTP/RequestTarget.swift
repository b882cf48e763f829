/// The path and query string of a request, seen from the mount path.
struct RequestTarget: Sendable, Equatable {
    /// The path below the mount as it came; empty or beginning with a slash.
    var path: Substring
    /// What follows the question mark, if there is one.
    var query: Substring?

    /// The components of the path as they came, without the empty ones of double and trailing slashes.
    var components: [Substring] {
        path.split(separator: "/")
    }

    /// Finds a request target below a mount path.
    ///
    /// - Parameters:
    ///   - target: What the request line says: a path, or a whole URL.
    ///   - mount: The mount path without trailing slash; empty for the root.
    /// - Returns: The target, or nil if it lies outside the mount.
    init?(_ target: String, mount: String) {
        let withoutFragment = target.prefix { $0 != "#" }
        let relative = Self.withoutOrigin(withoutFragment)
        let end = relative.firstIndex(of: "?") ?? relative.endIndex
        query = end < relative.endIndex ? relative[relative.index(after: end)...] : nil
        var path = relative[..<end]
        while path.hasPrefix("//") { path.removeFirst() }
        guard let below = Self.below(mount, path) else { return nil }
        self.path = below
    }

    private static func withoutOrigin(_ target: Substring) -> Substring {
        guard !target.hasPrefix("/"), let scheme = target.firstRange(of: "://") else { return target }
        let authority = target[scheme.upperBound...]
        return authority.firstIndex(of: "/").map { authority[$0...] } ?? "/"
    }

    private static func below(_ mount: String, _ path: Substring) -> Substring? {
        let head = path.utf8.prefix(mount.utf8.count)
        guard head.elementsEqual(mount.utf8, by: equalIgnoringCase) else { return nil }
        let rest = path[head.endIndex...]
        return rest.isEmpty || rest.hasPrefix("/") ? rest : nil
    }

    private static func equalIgnoringCase(_ left: UInt8, _ right: UInt8) -> Bool {
        func lowercased(_ byte: UInt8) -> UInt8 {
            (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
        }
        return lowercased(left) == lowercased(right)
    }
}
