import JSON

/// All options of parse-server and of Roost. Flags, variables, `--help` and docs are derived from this table.
public enum OptionTable {
    /// The options by topic, in the order of `--help` and docs/configuration.md.
    package static let sections: [(title: String, options: [OptionDefinition])] = [
        ("Roost's own", roost), ("Essential", essential), ("Keys and access", access), ("Declared classes", [schema]),
        ("Users and sessions", users), ("Sign-in providers", signIn), ("Cloud code", webhooks),
        ("Account emails", mails), ("Pages", pages), ("Cloud code in JavaScript", cloudMain), ("Jobs", jobs),
        ("Files", files), ("Protection", protection + rateLimits), ("Console", console), ("Live queries", liveQueries),
        ("Push notifications", pushes), ("Logs", logs), ("Metrics and health", monitoring),
        ("Traces", traces),
        ("Reports", [security]), ("Not built", unbuilt), ("Without effect", ignored),
    ]

    /// All options in the order of ``sections``.
    public static let all: [OptionDefinition] = sections.flatMap(\.options)

    package static let required: Set<String> = ["appId", "masterKey"]

    public static func find(_ name: String) -> OptionDefinition? { byName[name] }

    /// The names of all environment variables that configure the server, including those of members.
    public static let variables = Set(all.map(\.environment) + MemberVariables.all.flatMap(\.names))

    /// Returns the first option with a member of this name, to suggest it for a misplaced key, or nil.
    static func owner(of member: String) -> OptionDefinition? {
        all.first { option in
            option.support == .built && option.members.contains { $0.support == .built && $0.name == member }
        }
    }

    private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    /// The default configurations of presets 4 to 9.
    static let defaults = (4...9).map(Configuration.init(preset:))

    private static let roost: [OptionDefinition] =
        [
            OptionDefinition(
                "preset", "ROOST_PRESET", .number,
                "The major version of parse-server to follow, 4 to 9; default 9"),
            .text(
                "dataDir", "ROOST_DATA_DIR", \.dataDir,
                "The folder of the embedded PostgreSQL and of files; default .roost next to the configuration file"),
            .text(
                "filesDirectory", "ROOST_FILES_DIRECTORY", \.filesDirectory,
                "The folder of uploaded files; default dataDir/files"),
            .text(
                "classDefinitions", "ROOST_CLASS_DEFINITIONS", \.classDefinitions,
                "The built-in class definitions to apply at start: music"),
            .whole(
                "statementTimeout", "ROOST_STATEMENT_TIMEOUT", \.statementTimeout, in: 1...86_400_000,
                "Time limit of a statement, in milliseconds"),
            .whole(
                "lockTimeout", "ROOST_LOCK_TIMEOUT", \.lockTimeout, in: 1...86_400_000,
                "Time limit for waiting for a locked object, in milliseconds"),
            .whole(
                "transactionTimeout", "ROOST_TRANSACTION_TIMEOUT", \.transactionTimeout, in: 1...86_400_000,
                "Time limit of a transaction, and of a class change that waits for requests, in milliseconds"),
            .whole(
                "connectionTimeout", "ROOST_CONNECTION_TIMEOUT", \.connectionTimeout, in: 1...86_400_000,
                "Time limit for waiting for a free database connection, in milliseconds; requests then get 503"),
            .whole(
                "passwordHashingThreads", "ROOST_PASSWORD_HASHING_THREADS", \.passwordHashingThreads, in: 1...1024,
                "Number of password hashes computed at once; default the number of processors minus one, at least one"),
            .whole(
                "passwordHashingQueue", "ROOST_PASSWORD_HASHING_QUEUE", \.passwordHashingQueue, in: 1...1_000_000,
                "Maximum number of queued password hashes"),
            .whole(
                "regexTimeout", "ROOST_REGEX_TIMEOUT", \.regexTimeout, in: 1...86_400_000,
                "Time limit of a client's find with a regular expression, in milliseconds"),
            .flag(
                "allowRegexBackReferences", "ROOST_ALLOW_REGEX_BACK_REFERENCES", \.allowRegexBackReferences,
                "Allows back references in clients' regular expressions"),
            .custom(
                "readReplicaURI", "ROOST_READ_REPLICA_URI", .string, \.readReplicaURI,
                "The postgres:// URI of a streaming replica, for reads with a readPreference"
            ) { value, name throws(ConfigurationError) in .some(try DatabaseAddress.read(value, name)) },
            .texts(
                "readReplicaURIs", "ROOST_READ_REPLICA_URIS", \.readReplicaURIs,
                "The URIs of several streaming replicas; each read goes to the least busy one"
            ) { list, name throws(ConfigurationError) in
                for uri in list { _ = try DatabaseAddress.read(.string(uri), name) }
            },
            .whole(
                "maxReplicaLag", "ROOST_MAX_REPLICA_LAG", \.maxReplicaLag, in: 50...86_400_000,
                "Milliseconds of replication lag after which a replica counts as unavailable; default no limit"
            ),
            .flag(
                "readOnly", "ROOST_READ_ONLY", \.readOnly,
                "Rejects writes with error 119, so databaseURI may be a standby"),
            .size(
                "maxObjectSize", "ROOST_MAX_OBJECT_SIZE", \.maxObjectSize, atLeast: 1024,
                "Maximum size of an object that a client saves, as JSON"),
            .size(
                "maxTriggerSize", "ROOST_MAX_TRIGGER_SIZE", \.maxTriggerSize, atLeast: 1024,
                "Maximum size of the objects that a client's find passes to triggers"),
            .whole(
                "maxClientFields", "ROOST_MAX_CLIENT_FIELDS", \.maxClientFields, in: 0...1000,
                "Maximum number of fields, without built-in ones, of a class to which a client adds fields"),
            .whole(
                "maximumConnections", "ROOST_MAXIMUM_CONNECTIONS", \.maximumConnections, in: 16...1_000_000,
                "Maximum number of client connections; fewer if the limit on file descriptors is lower"),
            .whole(
                "drainTime", "ROOST_DRAIN_TIME", \.drainTime, in: 0...3600,
                "Seconds to keep serving after SIGTERM, while /health returns 503"),
            .size(
                "transferMemory", "ROOST_TRANSFER_MEMORY", \.transferMemory, atLeast: 1,
                "Maximum memory for large request bodies and unread responses"),
        ] + indexAdvice

    private static let essential: [OptionDefinition] = [
        .text(
            "appId", "PARSE_SERVER_APPLICATION_ID", \.appId,
            "The application id of every request (required)"),
        .text("masterKey", "PARSE_SERVER_MASTER_KEY", \.masterKey, "The key that bypasses all permissions (required)"),
        .whole(
            "masterKeyTtl", "PARSE_SERVER_MASTER_KEY_TTL", \.masterKeyTtl, in: 0...31_536_000,
            "Seconds after which a masterKey function in index.js is called again; 0 for never"),
        .custom(
            "serverURL", "PARSE_SERVER_URL", .string, \.serverURL,
            "The URL of the API. Paths in batch requests may begin with its path"
        ) { value, name throws(ConfigurationError) in try url(value, name) },
        .custom(
            "publicServerURL", "PARSE_PUBLIC_SERVER_URL", .string, \.publicServerURL,
            "The external URL with the mount path, for links in responses and emails"
        ) { value, name throws(ConfigurationError) in .some(try url(value, name)) },
        .custom(
            "databaseURI", "PARSE_SERVER_DATABASE_URI", .string, \.databaseURI,
            "A postgres:// URI with libpq parameters; default an embedded PostgreSQL"
        ) { value, name throws(ConfigurationError) in .some(try DatabaseAddress.read(value, name)) },
        .custom(
            "directDatabaseURI", "ROOST_DIRECT_DATABASE_URI", .string, \.directDatabaseURI,
            "The postgres:// URI of PostgreSQL itself if databaseURI is the URI of a pooler"
        ) { value, name throws(ConfigurationError) in .some(try DatabaseAddress.read(value, name)) },
        databaseSchema("databaseSchema", "ROOST_DATABASE_SCHEMA"),
        databaseOptions,
        distribution,
        .whole("port", "PORT", \.port, in: 0...65_535, "The port to listen on"),
        .text("host", "PARSE_SERVER_HOST", \.host, "The address to listen on"),
        .text("mountPath", "PARSE_SERVER_MOUNT_PATH", \.mountPath, "The path of the API"),
        .custom(
            "trustProxy", "PARSE_SERVER_TRUST_PROXY", .any, \.trustProxy,
            "The proxies whose X-Forwarded-For is trusted: true (any sender), a number of proxies, or addresses"
        ) { value, name throws(ConfigurationError) in try Configuration.TrustProxy(value, name) },
        .size("maxUploadSize", "PARSE_SERVER_MAX_UPLOAD_SIZE", \.maxUploadSize, "Maximum size of a request body"),
        .custom(
            "https", "ROOST_HTTPS", .object, \.https,
            "Serves HTTPS. certificate: PEM file with the chain; key: PEM file. SIGHUP reloads both",
            members: [.member("certificate", .string), .member("key", .string)]
        ) { value, _ throws(ConfigurationError) in .some(try Configuration.HTTPS(json: value)) },
    ]

    private static let protection: [OptionDefinition] = [
        OptionDefinition(
            "idempotencyOptions", "PARSE_SERVER_EXPERIMENTAL_IDEMPOTENCY_OPTIONS", .object,
            "paths: the paths that reject a repeated X-Parse-Request-Id. ttl: seconds to remember an id",
            members: [
                .texts("paths", nil, \.idempotencyOptions.paths) { paths, _ throws(ConfigurationError) in
                    for path in paths where !Pattern.isValid(path) {
                        throw ConfigurationError("idempotencyOptions.paths has an invalid pattern \(path)")
                    }
                },
                .custom("ttl", nil, .number, \.idempotencyOptions.ttl) { value, _ throws(ConfigurationError) in
                    try value.time("idempotency TTL value must be greater than 0 seconds")
                },
            ], variables: .init(prefix: "PARSE_SERVER_EXPERIMENTAL_IDEMPOTENCY")),
        OptionDefinition(
            "requestComplexity", "PARSE_SERVER_REQUEST_COMPLEXITY", .object, "Limits on clients' requests; -1 for none",
            members: [
                .limit("includeDepth", \.requestComplexity.includeDepth),
                .limit("includeCount", \.requestComplexity.includeCount),
                .limit("subqueryDepth", \.requestComplexity.subqueryDepth),
                .limit("subqueryLimit", \.requestComplexity.subqueryLimit),
                .limit("queryDepth", \.requestComplexity.queryDepth),
                .limit("batchRequestLimit", \.requestComplexity.batchRequestLimit),
                .flag("allowRegex", nil, \.requestComplexity.allowRegex),
                .limit("graphQLDepth", \.requestComplexity.graphQLDepth),
                .limit("graphQLFields", \.requestComplexity.graphQLFields),
            ], variables: .init(prefix: "PARSE_SERVER_REQUEST_COMPLEXITY")),
        .custom(
            "routeAllowList", "PARSE_SERVER_ROUTE_ALLOW_LIST", .array, \.routeAllowList,
            "The only routes for clients: regular expressions that match the whole path, such as classes/Public.*"
        ) { value, _ throws(ConfigurationError) in try RouteAllowList(json: value) },
    ]

    private static let logs: [OptionDefinition] = [
        OptionDefinition(
            "logLevel", "PARSE_SERVER_LOG_LEVEL", .stringOrArray, \.logLevel, older: [:],
            "The log level: error, warn, info, debug, verbose, silly or silent, or a list with one of them",
            word: { $0 },
            parse: { value, _ in
                value.arrayValue?.compactMap(\.stringValue).joined(separator: ", ") ?? value.nonEmptyText
            }),
        OptionDefinition("verbose", "VERBOSE", .boolean, "Sets logLevel to verbose"),
        .flag(
            "silent", "SILENT", \.silent,
            "Prints no banner and no log lines; /scriptlog still has them"),
        .flag("jsonLogs", "JSON_LOGS", \.jsonLogs, "Writes log lines as JSON"),
        eventLevels,
        .whole(
            "slowRequest", "ROOST_SLOW_REQUEST", \.slowRequest, in: 1...86_400_000,
            "Logs requests that take at least this many milliseconds as warnings"),
        .whole(
            "slowQueryThreshold", "ROOST_SLOW_QUERY_THRESHOLD", \.slowQueryThreshold, in: 0...86_400_000,
            "Logs database operations that take at least this many milliseconds, with their statement; 0 for never"),
    ]

    private static let security =
        OptionDefinition(
            "security", "PARSE_SERVER_SECURITY", .object, "The report of GET /security",
            members: [
                .flag("enableCheck", nil, \.security.enableCheck),
                .flag("enableCheckLog", nil, \.security.enableCheckLog),
                .member("checkGroups", .array) { value, name, _ throws(ConfigurationError) in
                    guard value.arrayValue?.isEmpty == false else { return }
                    throw ConfigurationError(
                        "option \(name) is not supported. Remove it: its checks are JavaScript classes")
                },
            ], variables: .init(prefix: "PARSE_SERVER_SECURITY"))

    private static let unbuilt: [OptionDefinition] = [
        .none("mountGraphQL", "PARSE_SERVER_MOUNT_GRAPHQL", .boolean, "Roost has no GraphQL"),
        .none("graphQLSchema", "PARSE_SERVER_GRAPH_QLSCHEMA", .string, "Roost has no GraphQL"),
        .none("databaseAdapter", "PARSE_SERVER_DATABASE_ADAPTER", .any, "Roost runs on PostgreSQL; see databaseURI"),
    ]

    private static let ignored: [OptionDefinition] = [
        .ignored("cacheAdapter", "PARSE_SERVER_CACHE_ADAPTER", .any, "Roost has its own cache"),
        .ignored("loggerAdapter", "PARSE_SERVER_LOGGER_ADAPTER", .any, "Roost writes its log to standard error"),
        .ignored("logsFolder", "PARSE_SERVER_LOGS_FOLDER", .string, "Roost writes its log to standard error"),
        .ignored("maxLogFiles", "PARSE_SERVER_MAX_LOG_FILES", .stringOrNumber, "Roost keeps no log files"),
        .ignored(
            "analyticsAdapter", "PARSE_SERVER_ANALYTICS_ADAPTER", .any,
            "Roost accepts client events, but doesn't store them"),
        .ignored("cluster", "PARSE_SERVER_CLUSTER", .any, "Roost uses all processors with one process"),
        .ignored("collectionPrefix", "PARSE_SERVER_COLLECTION_PREFIX", .string, "MongoDB only"),
        .ignored(
            "enableCollationCaseComparison", "PARSE_SERVER_ENABLE_COLLATION_CASE_COMPARISON", .boolean, "MongoDB only"),
        .ignored(
            "query", "PARSE_SERVER_QUERY", .any, "MongoDB only",
            members: ["aggregationRawValues", "aggregationRawFieldNames"].map { .member($0, .boolean) },
            variables: .init(prefix: "PARSE_SERVER_QUERY")),
        .ignored("directAccess", "PARSE_SERVER_DIRECT_ACCESS", .boolean, "for calls inside Node.js only"),
        .ignored("enableExpressErrorHandler", "PARSE_SERVER_ENABLE_EXPRESS_ERROR_HANDLER", .boolean, "Express only"),
        .ignored("middleware", "PARSE_SERVER_MIDDLEWARE", .string, "Express only"),
        .ignored("serverCloseComplete", "PARSE_SERVER_SERVER_CLOSE_COMPLETE", .any, "JavaScript only"),
        .ignored(
            "serverStartComplete", "PARSE_SERVER_SERVER_START_COMPLETE", .any,
            "JavaScript only. For work at the start, let cloud/main.js export a promise"),
        .ignored("requestContextMiddleware", "PARSE_SERVER_REQUEST_CONTEXT_MIDDLEWARE", .any, "JavaScript only"),
        .ignored("mountPlayground", "PARSE_SERVER_MOUNT_PLAYGROUND", .boolean, "Roost has no GraphQL"),
        .ignored("playgroundPath", "PARSE_SERVER_PLAYGROUND_PATH", .string, "Roost has no GraphQL"),
        .ignored("graphQLPath", "PARSE_SERVER_GRAPHQL_PATH", .string, "Roost has no GraphQL"),
        .ignored(
            "graphQLPublicIntrospection", "PARSE_SERVER_GRAPHQL_PUBLIC_INTROSPECTION", .boolean, "Roost has no GraphQL"),
        .ignored(
            "allowExpiredAuthDataToken", "PARSE_SERVER_ALLOW_EXPIRED_AUTH_DATA_TOKEN", .boolean,
            "Roost always checks login data"),
        .ignored(
            "enableProductPurchaseLegacyApi", "PARSE_SERVER_ENABLE_PRODUCT_PURCHASE_LEGACY_API", .boolean,
            "Roost doesn't validate purchases"),
        .ignored(
            "protectedFieldsTriggerExempt", "PARSE_SERVER_PROTECTED_FIELDS_TRIGGER_EXEMPT", .boolean,
            "Roost passes triggers only the fields that the caller may read, as with false"),
        .ignored("verifyServerUrl", "PARSE_SERVER_VERIFY_SERVER_URL", .boolean, "Roost doesn't call itself"),
    ]

    private static func url(_ value: JSONValue, _ name: String) throws(ConfigurationError) -> String? {
        guard var text = value.nonEmptyText else { return nil }
        guard text.hasPrefix("http://") || text.hasPrefix("https://") else {
            throw ConfigurationError("\(name) should be a valid URL starting with https:// or http://")
        }
        while text.hasSuffix("/") { text.removeLast() }
        return text
    }
}
