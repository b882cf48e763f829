import Synchronization

/// A compiled regular expression from the configuration.
///
/// It matches Unicode scalars instead of grapheme clusters, like JavaScript's expressions with the flag `u`.
package final class RegularExpression: Sendable {
    /// Locked, because `Regex` isn't safe for concurrent use.
    private let regex: Mutex<Regex<AnyRegexOutput>>

    /// Compiles an expression, or returns nil if it is malformed.
    package init?(_ source: String, ignoresCase: Bool = false) {
        guard let regex = try? Regex(source) else { return nil }
        self.regex = Mutex(
            regex.matchingSemantics(.unicodeScalar).wordBoundaryKind(.simple).ignoresCase(ignoresCase))
    }

    /// Whether the text contains a match.
    package func isFound(in text: String) -> Bool {
        regex.withLock { (try? $0.firstMatch(in: text)) != nil }
    }

    /// Whether the text begins with a match.
    package func isPrefix(of text: String) -> Bool {
        regex.withLock { (try? $0.prefixMatch(in: text)) != nil }
    }
}
