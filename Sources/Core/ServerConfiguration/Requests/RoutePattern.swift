import Encoding

/// Paths with parameters (`/classes/:name`), wildcards (`/functions/*path`, `*`, `(.*)`) and optional parts (`{/:id}`).
enum RoutePattern {
    /// More of them would make the time that a match takes grow too fast with the length of the path.
    private static let mostWildcards = 2

    /// The regular expression of whole paths that a pattern stands for; nil for none.
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
            // Of the characters with a meaning in expressions, these are left.
            case "$", ".", "^", "|": expression += "\\\(character)"
            default: expression.append(character)
            }
        }
        guard depth == 0, wildcards <= mostWildcards else { return nil }
        return expression + "/?\\z"
    }

    /// The first component of all paths that a pattern stands for, in small letters; nil where it may be any.
    static func firstName(_ pattern: String) -> String? {
        let rest = pattern.utf8.drop { $0 == UInt8(ascii: "/") }
        let name = rest.prefix { !":*{}()/".utf8.contains($0) }
        let end = rest[name.endIndex...]
        // What follows the name must begin another component.
        guard !name.isEmpty, end.isEmpty || end.starts(with: "/".utf8) || end.starts(with: "{/".utf8) else {
            return nil
        }
        // Of other letters there may be several that count as one.
        guard name.allSatisfy({ $0 < 0x80 }) else { return nil }
        return String(Substring(name)).lowercased()
    }

    /// Takes the name of a parameter; false when there is none.
    private static func name(_ rest: inout Substring) -> Bool {
        let length = rest.utf8.prefix { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "_") }.count
        rest.removeFirst(length)
        return length > 0
    }
}
