import JSON

extension OptionTable {
    static let rateLimits: [OptionDefinition] = [
        .custom(
            "rateLimit", "PARSE_SERVER_RATE_LIMIT", .any, \.rateLimits,
            "Limits on the number of requests in a time window", members: RateLimitOptions.members,
            variables: .init(
                prefix: "PARSE_SERVER_RATE_LIMIT", needed: ["requestPath", "requestTimeWindow", "requestCount"],
                isElement: true)
        ) { value, _ throws(ConfigurationError) in try RateLimitOptions.list(value) },
        .custom(
            "rateLimitStore", "ROOST_RATE_LIMIT_STORE", .string, \.rateLimitStore,
            "Store of request counts: memory (per process) or database (shared by all processes); default memory"
        ) { value, _ throws(ConfigurationError) in
            guard let text = value.nonEmptyText else { return nil }
            guard let store = Configuration.RateLimitStore(rawValue: text) else {
                throw ConfigurationError("option rateLimitStore must be memory or database")
            }
            return store
        },
        .flag(
            "accountRateLimit", "ROOST_ACCOUNT_RATE_LIMIT", \.accountRateLimit, older: [8: false],
            "Limits log-ins, sign-ups, challenges and emails per address"),
    ]
}

enum RateLimitOptions {
    static let members: [OptionDefinition] = [
        .member("requestPath", .string), .member("requestTimeWindow", .number),
        .member("requestCount", .number), .member("requestMethods", .array),
        .member("errorResponseMessage", .string), .member("includeInternalRequests", .boolean),
        .member("includeMasterKey", .boolean), .member("redisUrl", .string),
        .member("zone", .string),
    ]

    /// - Throws: `ConfigurationError` if the value is not a list of valid limits.
    static func list(_ json: JSONValue) throws(ConfigurationError) -> [RateLimit] {
        if json.isNull { return [] }
        guard json.arrayValue != nil || json.objectValue != nil else {
            throw ConfigurationError("rateLimit must be an array or object")
        }
        var limits: [RateLimit] = []
        for element in json.arrayValue ?? [json] {
            guard let object = element.objectValue else {
                throw ConfigurationError("rateLimit must be an array of objects")
            }
            limits.append(try limit(object))
        }
        return limits
    }

    /// - Parameter subject: The requests to limit if the limit has no path. Without a subject, the path is required.
    /// - Throws: `ConfigurationError` for an invalid limit.
    static func limit(
        _ json: JSONObject, of subject: RateLimitSubject? = nil
    ) throws(ConfigurationError) -> RateLimit {
        for key in json.keys where !members.contains(where: { $0.name == key.text }) {
            throw ConfigurationError("Invalid rate limit option \"\(key)\"")
        }
        if let url = json["redisUrl"], !url.isNull, url != "" {
            throw ConfigurationError(
                "rateLimit.redisUrl is not supported. Set \"rateLimitStore\": \"database\" instead: all processes then "
                    + "share their counts in PostgreSQL")
        }
        func value(_ key: Name) -> JSONValue? { json[key]?.orNil }
        func flag(_ key: Name) throws(ConfigurationError) -> Bool {
            guard let value = value(key) else { return false }
            guard let flag = value.boolValue else { throw ConfigurationError("rateLimit.\(key) must be a boolean") }
            return flag
        }
        func number(_ key: Name) throws(ConfigurationError) -> Int {
            guard let value = value(key) else { throw ConfigurationError("rateLimit.\(key) must be defined") }
            guard let number = value.numberValue else { throw ConfigurationError("rateLimit.\(key) must be a number") }
            guard (0..<1e12).contains(number) else { throw .invalid("rateLimit.\(key)", "between 0 and 10^12") }
            return Int(number)
        }
        let path = value("requestPath")
        if path == nil, subject == nil { throw ConfigurationError("rateLimit.requestPath must be defined") }
        if let path, path.stringValue == nil { throw ConfigurationError("rateLimit.requestPath must be a string") }
        let window = try number("requestTimeWindow")
        let count = try number("requestCount")
        var limit: RateLimit
        if let path = path?.stringValue {
            guard var pattern = RateLimit(path: path, count: count, window: window) else {
                throw ConfigurationError("rateLimit.requestPath \"\(path)\" is not valid")
            }
            pattern.methods = subject?.methods
            limit = pattern
        } else {
            limit = RateLimit(subject ?? RateLimitSubject("/"), count: count, window: window)
        }
        limit.exemption = try flag("includeInternalRequests") ? .noCaller : .thisMachine
        limit.includesMasterKey = try flag("includeMasterKey")
        if let text = value("errorResponseMessage") {
            guard let text = text.stringValue else {
                throw ConfigurationError("rateLimit.errorResponseMessage must be a string")
            }
            if !text.isEmpty { limit.message = text }
        }
        if let given = value("requestMethods") { limit.methods = try methods(given) }
        if let given = value("zone") {
            guard let known = given.stringValue.flatMap(RateLimit.Zone.init(rawValue:)) else {
                throw ConfigurationError("rateLimit.zone must be one of ip, session, user, global")
            }
            limit.zone = known
        }
        return limit
    }

    /// Returns the methods in a list or those that match a regular expression, as in parse-server, or nil for all.
    private static func methods(_ json: JSONValue) throws(ConfigurationError) -> Set<String>? {
        if let text = json.stringValue {
            guard let expression = RegularExpression(text, ignoresCase: true) else {
                throw ConfigurationError("rateLimit.requestMethods \"\(text)\" is not a valid regular expression")
            }
            return Set(["GET", "POST", "PUT", "DELETE"].filter { expression.isFound(in: $0) })
        }
        guard let list = json.arrayValue else {
            throw ConfigurationError("rateLimit.requestMethods must be an array of strings or a regular expression")
        }
        var methods: Set<String> = []
        for method in list {
            guard let method = method.stringValue else {
                throw ConfigurationError("rateLimit.requestMethods must be an array of strings")
            }
            methods.insert(method.uppercased())
        }
        return methods.isEmpty ? nil : methods
    }

    /// Returns the built-in limits per address on log-ins, sign-ups, challenges, account emails and their links. They
    /// are high enough for a school whose pupils all log in at the beginning of a lesson. The form for another
    /// verification link counts as `/verificationEmailRequest`.
    ///
    /// - Parameter pages: The path of the pages behind links in emails.
    static func accounts(pages: String) -> [RateLimit] {
        let fiveMinutes = 300_000
        let limits: [(path: String, method: String?, count: Int)] = [
            ("/login", nil, 1000), ("/verifyPassword", nil, 1000), ("/challenge", "POST", 1000),
            ("/users", "POST", 1000), ("/requestPasswordReset", "POST", 100),
            ("/verificationEmailRequest", "POST", 100), ("/\(pages)/:appId/verify_email", nil, 1000),
            ("/\(pages)/:appId/request_password_reset", nil, 1000),
        ]
        return limits.compactMap { path, method, count in
            var limit = RateLimit(path: path, count: count, window: fiveMinutes)
            limit?.methods = method.map { [$0] }
            limit?.exemption = .privateNetworks
            return limit
        }
    }
}

extension Configuration {
    /// The store of request counts.
    public enum RateLimitStore: String, Sendable {
        /// Each process counts its own requests.
        case memory
        /// All processes share the counts in PostgreSQL.
        case database
    }
}
