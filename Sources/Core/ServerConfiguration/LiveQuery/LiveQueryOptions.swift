import JSON

extension OptionTable {
    static let liveQueries: [OptionDefinition] = [
        OptionDefinition(
            "liveQuery", "PARSE_SERVER_LIVE_QUERY", .object,
            "classNames: the classes with live queries, or patterns of their names",
            members: [
                .member("classNames", .array), .member("redisURL", .string),
                .member("redisOptions", .object), .member("regexTimeout", .number),
                .member("pubSubAdapter", .any), .member("wssAdapter", .any),
            ], variables: .init(prefix: "PARSE_SERVER_LIVEQUERY")),
        OptionDefinition(
            "startLiveQueryServer", "PARSE_SERVER_START_LIVE_QUERY_SERVER", .boolean,
            "Accepts live queries on the server's port; default true if liveQuery names classes, always true if "
                + "liveQueryServerOptions is set"),
        OptionDefinition(
            "liveQueryServerOptions", "PARSE_SERVER_LIVE_QUERY_SERVER_OPTIONS", .object,
            "Settings of live-query connections: keyPairs, websocketTimeout",
            members: [
                .member("appId", .string), .member("masterKey", .string),
                .member("serverURL", .string), .member("keyPairs", .object),
                .member("port", .number), .member("websocketTimeout", .number),
                .member("cacheTimeout", .number), .member("redisURL", .string),
                .member("redisOptions", .object), .member("logLevel", .string),
                .member("pubSubAdapter", .any), .member("wssAdapter", .any),
            ]),
    ]
}

extension Configuration {
    /// Settings for live queries: the published classes and the connections.
    public struct LiveQuery: Sendable {
        /// The names of the classes whose changes are published.
        package var classNames: Set<Name> = []
        /// Regular expressions of additional class names.
        var patterns: [Pattern] = []
        /// Whether this server accepts live-query connections.
        public var isServed = false
        /// Accepted keys with the names that clients send them under. A connection must send at least one, unless the
        /// list is empty.
        public var keyPairs: [(name: Name, key: String)] = []
        /// The interval of pings on a connection, in milliseconds.
        public var pingInterval = 10_000

        /// Creates settings with live queries disabled.
        public init() {}

        public var isPublished: Bool { !classNames.isEmpty || !patterns.isEmpty }

        /// Whether the server publishes changes or accepts connections.
        public var isNeeded: Bool { isPublished || isServed }

        /// The option to set for live queries to work, or nil if they work.
        public var missingOption: String? {
            if !isPublished { return "liveQuery.classNames" }
            return isServed ? nil : "startLiveQueryServer"
        }

        public func publishes(_ className: Name) -> Bool {
            classNames.contains(className) || patterns.contains { $0.isFound(in: className.text) }
        }

        /// Reads the classes whose changes are published.
        ///
        /// - Parameter values: The values of options by name.
        mutating func readClasses(_ values: [String: JSONValue]) throws(ConfigurationError) {
            for name in values["liveQuery"]?["classNames"]?.arrayValue ?? [] {
                guard let source = name.stringValue, Pattern.isValid(Self.whole(source)) else {
                    throw ConfigurationError(
                        "option liveQuery.classNames: \(name.text) is neither a class name nor a valid pattern")
                }
                if Self.isPlain(source) {
                    classNames.insert(Name(source))
                } else {
                    patterns.append(Pattern(Self.whole(source)))
                }
            }
        }

        /// Reads the options of connections.
        ///
        /// - Parameter values: The values of options by name.
        mutating func readServer(
            _ values: [String: JSONValue], appId: String, port: Int
        ) throws(ConfigurationError) {
            let options = values["liveQueryServerOptions"].flatMap { $0.objectValue }
            isServed = options != nil || values["startLiveQueryServer"]?.boolValue ?? isPublished
            if let other = options?["port"]?.numberValue, other != Double(port) {
                throw ConfigurationError(
                    "option liveQueryServerOptions.port: live queries are served on the server's port. Remove it, or "
                        + "set it to \(port)")
            }
            if let other = options?["appId"]?.stringValue, !other.hasSameBytes(as: appId) {
                throw ConfigurationError(
                    "option liveQueryServerOptions.appId must be the appId of this server. Remove it")
            }
            for (name, key) in options?["keyPairs"]?.objectValue ?? [:] {
                guard let key = key.stringValue, !key.isEmpty else {
                    throw ConfigurationError(
                        "option liveQueryServerOptions.keyPairs: the value of \(name) must be a non-empty string")
                }
                keyPairs.append((name, key))
            }
            if let interval = options?["websocketTimeout"]?.numberValue {
                guard (100...86_400_000).contains(interval) else {
                    throw .invalid("liveQueryServerOptions.websocketTimeout", "between 100 and 86400000 milliseconds")
                }
                pingInterval = Int(interval)
            }
        }

        /// Whether a pattern has only letters, digits and underscores, and thus matches a single class.
        private static func isPlain(_ source: String) -> Bool {
            source.unicodeScalars.allSatisfy {
                $0.properties.isAlphabetic || $0.properties.numericType != nil || $0 == "_"
            }
        }

        private static func whole(_ source: String) -> String { "\\A(?:\(source))\\z" }
    }
}
