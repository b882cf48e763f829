import JSON

/// A regular expression that is matched in linear time, without backtracking.
struct TextPattern {
    private enum Form {
        /// Matches no text.
        case nowhere
        case prefix(Name)
        case program(PatternProgram)
    }

    private let form: Form

    /// Parses an SDK's pattern.
    ///
    /// - Parameter weight: Counts its steps.
    /// - Throws: `invalid` for an invalid pattern, or `unsupportedPattern` if matching takes more than linear time or
    ///   the pattern exceeds a limit.
    init(_ pattern: String, options: String, _ weight: inout MatcherWeight) throws(FilterMatcherError) {
        if pattern.utf8.contains(0) {
            // The database can't store strings with a NUL character.
            form = .nowhere
        } else if let prefix = RegexPattern.prefix(pattern, options: options) {
            form = .prefix(Name(prefix))
        } else {
            let translation: RegexPattern.Translation
            do {
                translation = try RegexPattern.translation(pattern, options: options, allowsBackReferences: true)
            } catch {
                throw .invalid(error)
            }
            var parser = PatternParser(translation)
            form = .program(try PatternProgram(try parser.parse(), &weight))
        }
    }

    func isFound(in text: String, _ budget: inout MatchBudget) throws(FilterMatcherError) -> Bool {
        switch form {
        case .nowhere: return false
        case .prefix(let prefix): return Name(text).hasPrefix(prefix)
        case .program(let program): return try program.isFound(in: text, &budget)
        }
    }
}
