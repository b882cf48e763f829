import Encoding

/// Path patterns with parameters (`/classes/:name`), wildcards (`/functions/*path`, `*`, `(.*)`) and optional parts
/// (`{/:id}`).
enum RoutePattern {
    /// With more wildcards, the matching time would grow too fast with the length of the path.
    private static let maxWildcards = 2

    /// Returns a regular expression that matches whole paths, or nil if the pattern is invalid or has more than two
    /// wildcards.
    static func regularExpression(_ pattern: String) -> String? {
        var rest = pattern.replacing("(.*)", with: "*")[...]
        guard let first = rest.first else { return nil }
        var expression = "\\A"
        if first != "/" && first != "*" && first != "{" { expression += "/" }
        var depth = 0
        var wildcards = 0
        while let character = rest.popFirst() {
            switch character {
            case ":":
                guard name(&rest) else { return nil }
                expression += "[^/]+"
            case "*":
                _ = name(&rest)
                wildcards += 1
                expression += ".*"
            case "{":
                depth += 1
                expression += "(?:"
            case "}":
                depth -= 1
                guard depth >= 0 else { return nil }
                expression += ")?"
            case "(", ")", "[", "]", "?", "+", "!", "\\", "\0": return nil
            // The remaining characters with a meaning in regular expressions.
            case "$", ".", "^", "|": expression += "\\\(character)"
            default: expression.append(character)
            }
        }
        guard depth == 0, wildcards <= maxWildcards else { return nil }
        return expression + "/?\\z"
    }

    /// Returns the first component of all matching paths in lower case, or nil if it varies.
    static func firstName(_ pattern: String) -> String? {
        let rest = pattern.utf8.drop { $0 == UInt8(ascii: "/") }
        let name = rest.prefix { !":*{}()/".utf8.contains($0) }
        let end = rest[name.endIndex...]
        // The name must be a whole component.
        guard !name.isEmpty, end.isEmpty || end.starts(with: "/".utf8) || end.starts(with: "{/".utf8) else {
            return nil
        }
        // Lowercasing is not reliable for non-ASCII letters.
        guard name.allSatisfy({ $0 < 0x80 }) else { return nil }
        return String(Substring(name)).lowercased()
    }

    /// Removes the name of a parameter from the start of the text. Returns false if it is missing.
    private static func name(_ rest: inout Substring) -> Bool {
        let length = rest.utf8.prefix { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "_") }.count
        rest.removeFirst(length)
        return length > 0
    }
}
