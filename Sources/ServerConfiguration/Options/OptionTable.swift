/// Every option: parse-server's by its names, and Roost's own. Flags, environment, file, help and documents follow it.
public enum OptionTable {
    /// All options, in the order in which help shows them.
    public static let all: [OptionDefinition] =
        roost + essential + access + aggregation + schemas + users + AccountMailOptions.table + SignInOptions.table
        + RateLimitOptions.table + HTTPSOptions.table
        + PagesOptions.table + JobOptions.table + CloudMainOptions.table + WebhookOptions.table
        + LiveQueryOptions.table + PushOptions.table
        + files + protection
        + operations
        + reports + unbuilt + ignored

    /// The option of a name.
    public static func find(_ name: String) -> OptionDefinition? { byName[name] }

    /// The names of all environment variables that configure the server, those of members of options included.
    public static let variables = Set(all.map(\.environment) + MemberVariables.all.flatMap(\.names))

    private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    private static let roost = [
        OptionDefinition(
            "preset", "ROOST_PRESET", .number,
            "The parse-server line (4 to 9) whose defaults and visible shapes are used; default 9"),
        OptionDefinition(
            "dataDir", "ROOST_DATA_DIR", .string,
            "Where the private PostgreSQL and files live; default .roost beside the configuration file"),
        OptionDefinition(
            "filesDirectory", "ROOST_FILES_DIRECTORY", .string,
            "Where uploaded files live; default files below the data folder"),
        OptionDefinition(
            "classDefinitions", "ROOST_CLASS_DEFINITIONS", .string,
            "Class definitions embedded in the binary to apply at start: music"),
        OptionDefinition(
            "statementTimeout", "ROOST_STATEMENT_TIMEOUT", .number,
            "How long one statement may run, in milliseconds; default 30000"),
        OptionDefinition(
            "lockTimeout", "ROOST_LOCK_TIMEOUT", .number,
            "How long a request waits for an object that others are changing, in milliseconds; default 5000"),
        OptionDefinition(
            "transactionTimeout", "ROOST_TRANSACTION_TIMEOUT", .number,
            "How long a transaction may take, such as a batch that is one, and how long a change of a class waits for "
                + "requests that use its table, in milliseconds; default 10000"),
        OptionDefinition(
            "connectionTimeout", "ROOST_CONNECTION_TIMEOUT", .number,
            "How long a request waits for a connection to the database before it is answered with 503, in "
                + "milliseconds; default 3000"),
        OptionDefinition(
            "passwordHashingThreads", "ROOST_PASSWORD_HASHING_THREADS", .number,
            "How many hashes of passwords are computed at once; default one less than there are processors"),
        OptionDefinition(
            "passwordHashingQueue", "ROOST_PASSWORD_HASHING_QUEUE", .number,
            "How many hashes of passwords may wait, before log-ins are answered with 503; default 256"),
        OptionDefinition(
            "regexTimeout", "ROOST_REGEX_TIMEOUT", .number,
            "How long a find with a regular expression may run for clients, in milliseconds; default 2000"),
        OptionDefinition(
            "allowRegexBackReferences", "ROOST_ALLOW_REGEX_BACK_REFERENCES", .boolean,
            "Whether regular expressions of clients may refer back to what their groups matched; default false"),
        OptionDefinition(
            "readReplicaURI", "ROOST_READ_REPLICA_URI", .string,
            "The postgres:// URI of a streaming replica of the database, for reads with a readPreference"),
        OptionDefinition(
            "maximumConnections", "ROOST_MAXIMUM_CONNECTIONS", .number,
            "The most connections of clients at a time; default 10000, or fewer where the system gives fewer descriptors"
        ),
        OptionDefinition(
            "transferMemory", "ROOST_TRANSFER_MEMORY", .stringOrNumber,
            "The most memory of large bodies and of answers that clients have not read; default 256mb"),
    ]

    private static let essential = [
        OptionDefinition(
            "appId", "PARSE_SERVER_APPLICATION_ID", .string,
            "The application id that every request must carry (required)"),
        OptionDefinition(
            "masterKey", "PARSE_SERVER_MASTER_KEY", .string, "The key that bypasses all permissions (required)"),
        OptionDefinition(
            "serverURL", "PARSE_SERVER_URL", .string, "The URL of the interface; its path is accepted in batches"),
        OptionDefinition(
            "publicServerURL", "PARSE_PUBLIC_SERVER_URL", .string,
            "The external URL with the mount path, for links to files and objects"),
        OptionDefinition(
            "databaseURI", "PARSE_SERVER_DATABASE_URI", .string,
            "A postgres:// URI with any libpq parameter; without it a private PostgreSQL is started"),
        OptionDefinition(
            "databaseOptions", "PARSE_SERVER_DATABASE_OPTIONS", .object,
            "Settings of the database: allowPublicExplain, poolSize (or max), sharedConnections, heavyStatements, "
                + "schemaCacheTtl, disableIndexFieldValidation and transactionPooler; others are ignored"),
        OptionDefinition("port", "PORT", .number, "The port to listen on; default 1337"),
        OptionDefinition("host", "PARSE_SERVER_HOST", .string, "The address to listen on; default 0.0.0.0"),
        OptionDefinition("mountPath", "PARSE_SERVER_MOUNT_PATH", .string, "The path of the interface; default /parse"),
        OptionDefinition(
            "trustProxy", "PARSE_SERVER_TRUST_PROXY", .any,
            "Which proxies are believed about the client's address: true, a number of hops, or a list of addresses"),
        OptionDefinition(
            "maxUploadSize", "PARSE_SERVER_MAX_UPLOAD_SIZE", .stringOrNumber, "The largest request body; default 20mb"),
    ]

    private static let access = [
        OptionDefinition(
            "maintenanceKey", "PARSE_SERVER_MAINTENANCE_KEY", .string,
            "The key that may read and write internal fields and dates"),
        OptionDefinition(
            "readOnlyMasterKey", "PARSE_SERVER_READ_ONLY_MASTER_KEY", .string, "A master key that only reads"),
        OptionDefinition(
            "masterKeyIps", "PARSE_SERVER_MASTER_KEY_IPS", .texts,
            "Addresses from which the master key is taken; default 127.0.0.1, ::1"),
        OptionDefinition(
            "maintenanceKeyIps", "PARSE_SERVER_MAINTENANCE_KEY_IPS", .texts, "The same for the maintenance key"),
        OptionDefinition(
            "readOnlyMasterKeyIps", "PARSE_SERVER_READ_ONLY_MASTER_KEY_IPS", .texts,
            "The same for the read-only master key; default everywhere"),
        OptionDefinition(
            "clientKey", "PARSE_SERVER_CLIENT_KEY", .string,
            "A key for Apple and Android clients; once one client key is set, every client needs one"),
        OptionDefinition("javascriptKey", "PARSE_SERVER_JAVASCRIPT_KEY", .string, "A key for JavaScript clients"),
        OptionDefinition("restAPIKey", "PARSE_SERVER_REST_API_KEY", .string, "A key for REST callers"),
        OptionDefinition("dotNetKey", "PARSE_SERVER_DOT_NET_KEY", .string, "A key for .NET and Unity clients"),
        OptionDefinition("allowHeaders", "PARSE_SERVER_ALLOW_HEADERS", .texts, "Further request headers for browsers"),
        OptionDefinition("allowOrigin", "PARSE_SERVER_ALLOW_ORIGIN", .stringOrArray, "Origins for browsers; default *"),
        OptionDefinition(
            "allowClientClassCreation", "PARSE_SERVER_ALLOW_CLIENT_CLASS_CREATION", .boolean,
            "Whether clients may make classes; default false (true up to preset 6)"),
        OptionDefinition(
            "allowCustomObjectId", "PARSE_SERVER_ALLOW_CUSTOM_OBJECT_ID", .boolean,
            "Whether clients may choose ids; default false"),
        OptionDefinition(
            "objectIdSize", "PARSE_SERVER_OBJECT_ID_SIZE", .number,
            "The length of generated ids, 120 at most; default 10"),
        OptionDefinition(
            "protectedFields", "PARSE_SERVER_PROTECTED_FIELDS", .object,
            "Hidden fields by class and entity; default hides _User.email from everybody else"),
        OptionDefinition(
            "userSensitiveFields", "PARSE_SERVER_USER_SENSITIVE_FIELDS", .texts,
            "Further hidden fields of _User (deprecated by parse-server)"),
        OptionDefinition(
            "enforcePrivateUsers", "PARSE_SERVER_ENFORCE_PRIVATE_USERS", .boolean,
            "Whether new users are hidden from others; default true (false up to preset 5)"),
        OptionDefinition(
            "enableAnonymousUsers", "PARSE_SERVER_ENABLE_ANON_USERS", .boolean,
            "Whether anonymous users are let in; default true"),
        OptionDefinition(
            "defaultLimit", "PARSE_SERVER_DEFAULT_LIMIT", .number,
            "The number of objects that a find without a limit gives; default 100"),
        OptionDefinition(
            "maxLimit", "PARSE_SERVER_MAX_LIMIT", .number, "The most objects that a find gives; default no limit"),
        OptionDefinition(
            "maxResponseSize", "PARSE_SERVER_MAX_RESPONSE_SIZE", .stringOrNumber,
            "The largest answer, for the master key as well; default 64mb"),
        OptionDefinition(
            "requestKeywordDenylist", "PARSE_SERVER_REQUEST_KEYWORD_DENYLIST", .array,
            "Keys and values that written data may not contain"),
        OptionDefinition(
            "enableSanitizedErrorResponse", "PARSE_SERVER_ENABLE_SANITIZED_ERROR_RESPONSE", .boolean,
            "Whether permission errors have a generic text; default true (false up to preset 7)"),
        OptionDefinition(
            "protectedFieldsOwnerExempt", "PARSE_SERVER_PROTECTED_FIELDS_OWNER_EXEMPT", .boolean,
            "Whether users see all fields of their own record; default true"),
        OptionDefinition(
            "protectedFieldsSaveResponseExempt", "PARSE_SERVER_PROTECTED_FIELDS_SAVE_RESPONSE_EXEMPT", .boolean,
            "Whether answers to saves carry protected fields that the save changed; default true"),
        OptionDefinition(
            "installation", "PARSE_SERVER_INSTALLATION", .object,
            "What becomes of installations that share a device token with one that is written",
            keys: [
                "duplicateDeviceTokenActionEnforceAuth": .boolean, "duplicateDeviceTokenAction": .string,
                "duplicateDeviceTokenMergePriority": .string,
            ]),
    ]

    private static let aggregation = [
        OptionDefinition(
            "allowAggregationForReadOnlyMasterKey", "PARSE_SERVER_ALLOW_AGGREGATION_FOR_READ_ONLY_MASTER_KEY", .boolean,
            "Whether the read-only master key may aggregate; default true")
    ]

    private static let schemas = [
        OptionDefinition(
            "schema", "PARSE_SERVER_SCHEMA", .object, "Classes that are made as declared, at each start",
            keys: [
                "definitions": .array, "strict": .boolean, "deleteExtraFields": .boolean,
                "recreateModifiedFields": .boolean, "lockSchemas": .boolean, "keepUnknownIndexes": .boolean,
                "beforeMigration": .stringOrArray, "afterMigration": .stringOrArray,
            ])
    ]

    private static let users = [
        OptionDefinition(
            "sessionLength", "PARSE_SERVER_SESSION_LENGTH", .number,
            "The life of a session in seconds; default one year"),
        OptionDefinition(
            "expireInactiveSessions", "PARSE_SERVER_EXPIRE_INACTIVE_SESSIONS", .boolean,
            "Whether sessions end; default true"),
        OptionDefinition(
            "extendSessionOnUse", "PARSE_SERVER_EXTEND_SESSION_ON_USE", .boolean,
            "Whether use extends a session after half its life; default false"),
        OptionDefinition(
            "revokeSessionOnPasswordReset", "PARSE_SERVER_REVOKE_SESSION_ON_PASSWORD_RESET", .boolean,
            "Whether a new password ends all sessions; default true"),
        OptionDefinition(
            "auth", "PARSE_SERVER_AUTH_PROVIDERS", .object,
            "Login providers, by name: {\"google\":{\"clientId\":\"…\"}}; docs/accounts.md lists them"),
        OptionDefinition(
            "passwordPolicy", "PARSE_SERVER_PASSWORD_POLICY", .object, "Rules for passwords",
            keys: [
                "validatorPattern": .string, "validationError": .string, "doNotAllowUsername": .boolean,
                "maxPasswordAge": .number, "maxPasswordHistory": .number, "resetTokenValidityDuration": .number,
                "resetTokenReuseIfValid": .boolean, "resetPasswordSuccessOnInvalidEmail": .boolean,
            ]),
        OptionDefinition(
            "accountLockout", "PARSE_SERVER_ACCOUNT_LOCKOUT", .object,
            "Locking after failed log-ins: threshold (1 to 999), duration in minutes",
            keys: ["threshold": .number, "duration": .number, "unlockOnPasswordReset": .boolean]),
        OptionDefinition(
            "convertEmailToLowercase", "PARSE_SERVER_CONVERT_EMAIL_TO_LOWERCASE", .boolean,
            "Whether mail addresses are stored in lower case; default false"),
        OptionDefinition(
            "convertUsernameToLowercase", "PARSE_SERVER_CONVERT_USERNAME_TO_LOWERCASE", .boolean,
            "Whether user names are stored in lower case; default false"),
        OptionDefinition(
            "caseInsensitiveLogin", "ROOST_CASE_INSENSITIVE_LOGIN", .boolean,
            "Whether users are found by their names and addresses in any case of the letters; default false"),
        OptionDefinition(
            "cacheTTL", "PARSE_SERVER_CACHE_TTL", .number,
            "How long sessions and roles are remembered, in milliseconds; default 5000"),
        OptionDefinition(
            "cacheMaxSize", "PARSE_SERVER_CACHE_MAX_SIZE", .number, "How many sessions are remembered; default 10000"),
    ]

    private static let files = [
        OptionDefinition(
            "filesAdapter", "PARSE_SERVER_FILES_ADAPTER", .any,
            "Only parse-server's file-system adapter: {\"module\":\"@parse/fs-files-adapter\",\"options\":{\"filesSubDirectory\":\"…\",\"encryptionKey\":\"…\"}}"
        ),
        OptionDefinition(
            "fileUpload", "PARSE_SERVER_FILE_UPLOAD_OPTIONS", .object, "Who may upload what",
            keys: [
                "enableForPublic": .boolean, "enableForAnonymousUser": .boolean, "enableForAuthenticatedUser": .boolean,
                "fileExtensions": .texts, "allowedFileUrlDomains": .texts,
            ]),
        OptionDefinition(
            "fileDownload", "PARSE_SERVER_FILE_DOWNLOAD_OPTIONS", .object, "Who may download",
            keys: [
                "enableForPublic": .boolean, "enableForAnonymousUser": .boolean, "enableForAuthenticatedUser": .boolean,
            ]),
        OptionDefinition(
            "preserveFileName", "PARSE_SERVER_PRESERVE_FILE_NAME", .boolean,
            "Whether files keep their name without a random prefix; default false"),
        OptionDefinition("fileKey", "PARSE_SERVER_FILE_KEY", .string, "The key of files that hosted Parse stored"),
        OptionDefinition(
            "encryptionKey", "PARSE_SERVER_ENCRYPTION_KEY", .string, "What files are encrypted with on the disk"),
    ]

    private static let protection = [
        OptionDefinition(
            "idempotencyOptions", "PARSE_SERVER_EXPERIMENTAL_IDEMPOTENCY_OPTIONS", .object,
            "Paths whose requests are served once by X-Parse-Request-Id, and for how many seconds",
            keys: ["paths": .texts, "ttl": .number]),
        OptionDefinition(
            "requestComplexity", "PARSE_SERVER_REQUEST_COMPLEXITY", .object, "Limits on requests; -1 for none",
            keys: [
                "includeDepth": .number, "includeCount": .number, "subqueryDepth": .number, "subqueryLimit": .number,
                "queryDepth": .number, "batchRequestLimit": .number, "allowRegex": .boolean, "graphQLDepth": .number,
                "graphQLFields": .number,
            ]),
        OptionDefinition(
            "routeAllowList", "PARSE_SERVER_ROUTE_ALLOW_LIST", .array,
            "Regular expressions of whole paths, such as classes/Public.*: clients may use no other routes"),
    ]

    private static let operations = [
        OptionDefinition(
            "logLevel", "PARSE_SERVER_LOG_LEVEL", .string,
            "error, warn, info, debug, verbose, silly or silent; default info"),
        OptionDefinition("verbose", "VERBOSE", .boolean, "Log level debug"),
        OptionDefinition("silent", "SILENT", .boolean, "Log level critical"),
        OptionDefinition("jsonLogs", "JSON_LOGS", .boolean, "Log lines as JSON"),
    ]

    private static let reports = [
        OptionDefinition(
            "security", "PARSE_SERVER_SECURITY", .object, "The report of GET /security",
            keys: ["enableCheck": .boolean, "enableCheckLog": .boolean, "checkGroups": .array])
    ]

    private static func none(_ name: String, _ environment: String, _ kind: OptionDefinition.Kind, _ help: String)
        -> OptionDefinition
    {
        OptionDefinition(name, environment, kind, help, support: .notBuilt)
    }

    private static let unbuilt = [
        none("cluster", "PARSE_SERVER_CLUSTER", .any, "Several processes from one start"),
        none("mountGraphQL", "PARSE_SERVER_MOUNT_GRAPHQL", .boolean, "GraphQL"),
        none("graphQLSchema", "PARSE_SERVER_GRAPH_QLSCHEMA", .string, "GraphQL"),
        none("cacheAdapter", "PARSE_SERVER_CACHE_ADAPTER", .any, "A cache of another kind"),
        none("loggerAdapter", "PARSE_SERVER_LOGGER_ADAPTER", .any, "A log of another kind"),
        none("analyticsAdapter", "PARSE_SERVER_ANALYTICS_ADAPTER", .any, "A receiver of analytics"),
        none("masterKeyTtl", "PARSE_SERVER_MASTER_KEY_TTL", .number, "A master key that changes"),
        none("databaseAdapter", "PARSE_SERVER_DATABASE_ADAPTER", .any, "A database of another kind"),
    ]

    private static func ignore(_ name: String, _ environment: String, _ kind: OptionDefinition.Kind, _ why: String)
        -> OptionDefinition
    {
        OptionDefinition(name, environment, kind, why, support: .ignored(why))
    }

    private static let ignored = [
        ignore("collectionPrefix", "PARSE_SERVER_COLLECTION_PREFIX", .string, "MongoDB only"),
        ignore(
            "enableCollationCaseComparison", "PARSE_SERVER_ENABLE_COLLATION_CASE_COMPARISON", .boolean, "MongoDB only"),
        ignore("query", "PARSE_SERVER_QUERY", .any, "MongoDB only"),
        ignore("directAccess", "PARSE_SERVER_DIRECT_ACCESS", .boolean, "calls inside Node.js"),
        ignore("enableExpressErrorHandler", "PARSE_SERVER_ENABLE_EXPRESS_ERROR_HANDLER", .boolean, "Express only"),
        ignore("middleware", "PARSE_SERVER_MIDDLEWARE", .string, "Express only"),
        ignore("serverCloseComplete", "PARSE_SERVER_SERVER_CLOSE_COMPLETE", .any, "a JavaScript function"),
        ignore("requestContextMiddleware", "PARSE_SERVER_REQUEST_CONTEXT_MIDDLEWARE", .any, "a JavaScript function"),
        ignore("mountPlayground", "PARSE_SERVER_MOUNT_PLAYGROUND", .boolean, "there is no GraphQL to play with"),
        ignore("playgroundPath", "PARSE_SERVER_PLAYGROUND_PATH", .string, "there is no GraphQL to play with"),
        ignore("graphQLPath", "PARSE_SERVER_GRAPHQL_PATH", .string, "there is no GraphQL"),
        ignore(
            "graphQLPublicIntrospection", "PARSE_SERVER_GRAPHQL_PUBLIC_INTROSPECTION", .boolean, "there is no GraphQL"),
        ignore(
            "allowExpiredAuthDataToken", "PARSE_SERVER_ALLOW_EXPIRED_AUTH_DATA_TOKEN", .boolean,
            "login data are always checked"),
        ignore(
            "enableProductPurchaseLegacyApi", "PARSE_SERVER_ENABLE_PRODUCT_PURCHASE_LEGACY_API", .boolean,
            "purchases are not validated"),
        ignore(
            "protectedFieldsTriggerExempt", "PARSE_SERVER_PROTECTED_FIELDS_TRIGGER_EXEMPT", .boolean,
            "triggers see of an object what the caller may see, as with false"),
        ignore("verifyServerUrl", "PARSE_SERVER_VERIFY_SERVER_URL", .boolean, "the server does not call itself"),
        ignore(
            "logLevels", "PARSE_SERVER_LOG_LEVELS", .object,
            "calls of cloud code are not logged; what fails after a save is, at the level error"),
        ignore("logsFolder", "PARSE_SERVER_LOGS_FOLDER", .string, "logs go to the standard error"),
        ignore("maxLogFiles", "PARSE_SERVER_MAX_LOG_FILES", .any, "logs go to the standard error"),
    ]
}
