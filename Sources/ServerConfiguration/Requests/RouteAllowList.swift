import JSON

/// The routes that clients may use, as regular expressions of whole paths.
public struct RouteAllowList: Sendable {
    private let patterns: [Pattern]

    /// Reads the option.
    ///
    /// - Throws: `ConfigurationError` for what is no list of regular expressions.
    init(json: JSONValue) throws(ConfigurationError) {
        var patterns: [Pattern] = []
        for element in json.arrayValue ?? [json] {
            guard let source = element.stringValue else {
                throw ConfigurationError("routeAllowList must be an array of strings")
            }
            guard Pattern.isValid(source) else {
                throw ConfigurationError("routeAllowList has an invalid pattern \(source)")
            }
            // A group, so that the ends belong to every alternative; not `$`, which a newline may follow.
            patterns.append(Pattern("\\A(?:\(source))\\z"))
        }
        self.patterns = patterns
    }

    /// Whether a path, without slashes at its ends, is one of the list.
    public func contains(_ path: String) -> Bool { patterns.contains { $0.isFound(in: path) } }
}
