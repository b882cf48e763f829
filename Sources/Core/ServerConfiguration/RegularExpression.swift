import Synchronization

/// A regular expression of the configuration, compiled once.
///
/// It compares scalars, not the characters that a reader sees, as JavaScript's expressions do with the flag `u`.
package final class RegularExpression: Sendable {
    /// Behind a lock, since Swift's expressions are not for several threads at once.
    private let regex: Mutex<Regex<AnyRegexOutput>>

    /// Compiles an expression. Returns nil if it is malformed.
    package init?(_ source: String, ignoresCase: Bool = false) {
        guard let regex = try? Regex(source) else { return nil }
        self.regex = Mutex(
            regex.matchingSemantics(.unicodeScalar).wordBoundaryKind(.simple).ignoresCase(ignoresCase))
    }

    /// Whether a text has a match anywhere.
    package func isFound(in text: String) -> Bool {
        regex.withLock { (try? $0.firstMatch(in: text)) != nil }
    }

    /// Whether a text begins with a match.
    package func isPrefix(of text: String) -> Bool {
        regex.withLock { (try? $0.prefixMatch(in: text)) != nil }
    }
}
