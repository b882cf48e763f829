/// Why a ``FilterMatcher`` cannot say whether an object fulfils a filter.
public enum FilterMatcherError: Error, Equatable, Sendable {
    /// The answer lies in other rows, or in columns that objects do not show: `$inQuery`, `$notInQuery`, `$select`,
    /// `$dontSelect`, `$relatedTo`, `$text`, conditions on relations and on the server's own columns.
    case needsDatabase(String)
    /// The database would refuse the filter, too: a pattern that is none, `$relativeTime` on what is no date.
    case invalid(ParseError)
    /// A pattern that cannot be matched in linear time, or not within the limits: one that refers back, looks around,
    /// or repeats too much.
    case unsupportedPattern(String)
    /// The filter and the object together ask for more work than ``FilterMatcher/steps``.
    case tooMuchWork
}
