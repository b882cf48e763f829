import JSON

/// The validated options, with the preset's defaults for those that are not set.
public struct Configuration: Sendable {
    /// The major version of parse-server whose defaults and response formats apply, 4 to 9.
    public var preset = 9
    /// The folder of the embedded PostgreSQL and, by default, of files, or nil for the default folder.
    public var dataDir: String?
    /// The folder of uploaded files, or nil for `files` in the data folder.
    public var filesDirectory: String?
    /// The name of the embedded class definitions to apply at startup.
    public var classDefinitions: String?
    /// The time limit of a statement in milliseconds.
    public var statementTimeout = 30_000
    /// The time limit in milliseconds of a client's find with a regular expression, unless it only tests a prefix.
    public var regexTimeout = 2000
    /// Whether clients' regular expressions may contain back references.
    public var allowRegexBackReferences = false
    /// The time limit in milliseconds for waiting for an object that another request is changing.
    public var lockTimeout = 5000
    /// The time limit in milliseconds of a transaction and its retries, and of a class change that waits for requests.
    public var transactionTimeout = 10_000
    /// The time limit in milliseconds for waiting for a free database connection, and for the database at startup.
    public var connectionTimeout = 3000

    var given: [String: Setting.Given] = [:]
    /// The path of the configuration file as given, or nil without a file.
    package var fileName: String?

    public var appId = ""
    public var masterKey = ""
    /// The age in seconds after which the app's `masterKey` function is called again, or 0 for never.
    public var masterKeyTtl = 0
    /// The master key that the app's `masterKey` function renews, or nil if the master key is constant.
    package var renewedMasterKey: RenewedKey?
    public var maintenanceKey: String?
    public var readOnlyMasterKey: String?
    /// The admin keys and the audit log.
    public var audit = Audit()
    public var clientKey: String?
    public var javascriptKey: String?
    public var restAPIKey: String?
    public var dotNetKey: String?
    /// The addresses and networks that may use the master key and admin keys.
    public var masterKeyIps = Configuration.thisMachine
    public var maintenanceKeyIps = Configuration.thisMachine
    public var readOnlyMasterKeyIps = Configuration.everywhere

    /// The URL of the API.
    public var serverURL = ""
    public var publicServerURL: String?
    public var databaseURI: String?
    /// The address of the PostgreSQL server itself, if ``databaseURI`` is a pooler's.
    public var directDatabaseURI: String?
    /// The database schema of the app, or nil for the connection's default schema.
    public var databaseSchema: String?
    /// The distribution of classes over several servers, or nil on a single server.
    public var distribution: Distribution?
    /// The address of a streaming replica that serves reads with a `readPreference`.
    public var readReplicaURI: String?
    public var readReplicaURIs: [String] = []
    public var replicas: [String] { (readReplicaURI.map { [$0] } ?? []) + readReplicaURIs }
    /// The replication lag in milliseconds beyond which a replica is skipped, or nil for no limit.
    public var maxReplicaLag: Int?
    /// Whether the server rejects writes.
    public var readOnly = false
    public var databaseOptions = DatabaseOptions()
    public var port = 1337
    public var host = "0.0.0.0"
    public var mountPath = "/parse"
    /// The path of the API without a trailing slash, or an empty string for the root.
    public var mount: String { mountPath.split(separator: "/").map { "/" + $0 }.joined() }
    public var trustProxy = TrustProxy.noProxy
    /// The maximum size of a request body, in bytes. File uploads with the master key can set another limit.
    public var maxUploadSize = 20 * 1024 * 1024
    /// The maximum number of client connections.
    public var maximumConnections = 10_000
    /// The time in seconds that the server keeps serving requests after SIGTERM.
    public var drainTime = 0
    /// The memory limit, in bytes, for bodies, other unprocessed input and unread responses.
    public var transferMemory = 256 * 1024 * 1024
    public var allowHeaders: [String] = []
    public var allowOrigin = ["*"]

    public var allowClientClassCreation = false
    public var allowCustomObjectId = false
    public var objectIdSize = 10
    /// Hidden fields, by class and by the principal that they are hidden from, such as `*` for everybody.
    public var protectedFields: [Name: [Name: [Name]]] = ["_User": ["*": ["email"]]]
    public var protectedFieldsOwnerExempt = true
    public var enforcePrivateUsers = true
    public var enableAnonymousUsers = true
    public var defaultLimit = 100
    public var maxLimit: Int?
    /// The maximum size of a response, in bytes.
    public var maxResponseSize = 64 * 1024 * 1024
    /// The maximum total size, in bytes, of the objects that a client's find passes to triggers. The master key may
    /// exceed it.
    public var maxTriggerSize = 8 * 1024 * 1024
    /// The maximum size, in bytes, of an object that clients store. The master key may exceed it.
    public var maxObjectSize = 4 * 1024 * 1024
    /// The number of fields beyond which clients can't add fields to a class. The master key may exceed it.
    public var maxClientFields = 200
    public var requestKeywordDenylist = KeywordRules.defaults
    public var enableSanitizedErrorResponse = true
    public var allowAggregationForReadOnlyMasterKey = true
    /// Whether responses to saves contain protected fields that the save changed.
    public var protectedFieldsSaveResponseExempt = true
    public var installation = Installations()

    /// The lifetime of a session in seconds.
    public var sessionLength = 31_536_000
    public var expireInactiveSessions = true
    public var extendSessionOnUse = false
    public var revokeSessionOnPasswordReset = true
    public var auth: JSONObject = [:]
    public var passwordPolicy: PasswordPolicy?
    public var accountLockout: AccountLockout?
    public var accountMail = AccountMail()
    /// The number of passwords hashed concurrently, or nil for one less than the number of processors.
    public var passwordHashingThreads: Int?
    /// The maximum number of passwords that wait to be hashed.
    public var passwordHashingQueue = 256
    public var convertEmailToLowercase = false
    public var convertUsernameToLowercase = false
    /// Whether log-ins and account emails ignore case when they look up user names and addresses.
    public var caseInsensitiveLogin = false
    /// The time in milliseconds for which sessions and roles are cached.
    public var cacheTTL = 5000
    public var cacheMaxSize = 10_000

    public var cloudMain = CloudMain()
    public var pages = Pages()
    public var customPages = CustomPages()

    /// The log levels of events in cloud code and sign-up.
    public var eventLevels = EventLevels()

    /// The store of uploaded files.
    public var fileStore = FileStore.disk
    /// Stores that are searched in this order for files that ``fileStore`` lacks.
    public var fileStoreFallbacks: [FileStore] = []
    /// Environment variables of cloud platforms that contain or locate credentials.
    public var cloudVariables: [String: String] = [:]
    public var fileUpload = FileUpload()
    /// The callers that may download files.
    public var fileDownload = FileCallers(enableForPublic: true, enableForAnonymousUser: true)
    public var preserveFileName = false
    public var fileKey: String?
    /// The key that files are encrypted with, or nil to store them unencrypted.
    public var encryptionKey: String?
    /// The previous encryption key, needed until all files are encrypted with the current one.
    public var previousEncryptionKey: String?
    public var encryptionFormat = EncryptionFormat.whole
    public var idempotencyOptions = IdempotencyOptions()
    public var requestComplexity = RequestComplexity()
    /// The only routes that clients may use, or nil to allow all.
    public var routeAllowList: RouteAllowList?
    /// Whether providers that support authorization codes also accept access tokens, which another app may have
    /// obtained. A provider's `enableInsecureAuth` takes precedence.
    public var enableInsecureAuthAdapters = false
    public var outgoing = Outgoing()
    public var webhooks = Webhooks()
    public var rateLimits: [RateLimit] = []
    /// Whether log-ins, sign-ups, challenges and account emails have built-in rate limits per address.
    public var accountRateLimit = true
    /// The store of request counts for rate limits.
    public var rateLimitStore = RateLimitStore.memory
    /// The certificate and key for TLS, or nil for plain HTTP.
    public var https: HTTPS?

    public var console = Console()
    /// The path to which an app's Parse Dashboard redirects.
    package var dashboardPath: String { console.path }
    /// The folder to read the console's files from during development, or nil for those in the binary.
    public var consoleFolder: String?

    public var liveQuery = LiveQuery()

    /// The push services, or nil if push is not configured.
    public var push: Push?
    /// Whether pushes with a `push_time` wait for it. Otherwise they are sent at once.
    public var schedulesPushes = true

    /// Whether this process starts scheduled jobs.
    public var jobSchedules = false
    /// The maximum number of running jobs per process.
    public var maximumJobs = 100

    public var security = Security()
    /// The classes to create or change at startup, or nil if none are declared.
    public var schema: DeclaredSchemas?

    public var logLevel = "info"
    /// Whether the server prints neither a banner nor log lines.
    public var silent = false
    public var jsonLogs = false
    /// The duration in milliseconds from which requests are logged as warnings.
    public var slowRequest = 1000
    /// The duration in milliseconds from which database operations are logged, or 0 to log none.
    public var slowQueryThreshold = 1000
    public var indexAdvice = IndexAdvice.report
    /// The maximum number of indexes per class that ``indexAdvice`` creates.
    public var maximumAdvisedIndexes = 4
    public var tracing = Tracing()
    public var metrics = Metrics()

    /// The parse-server version that the server reports for the preset.
    public var parseServerVersion: String {
        switch preset {
        case 4: "4.10.20"
        case 5: "5.6.0"
        case 6: "6.5.11"
        case 7: "7.5.4"
        case 8: "8.6.93"
        default: "9.10.4"
        }
    }

    /// The security report.
    public struct Security: Sendable {
        /// Whether the route `/security` is enabled.
        public var enableCheck = false
        /// Whether the report is logged at startup.
        public var enableCheckLog = false
    }

    /// Paths whose requests run only once per request id.
    public struct IdempotencyOptions: Sendable {
        /// Regular expressions of paths, matched from the start of the path.
        public var paths: [String] = []
        /// The time in seconds that request ids are remembered.
        public var ttl = 300.0
    }

    /// Limits on requests. Nil numbers mean no limit.
    public struct RequestComplexity: Sendable {
        public var includeDepth: Int?
        public var includeCount: Int?
        public var subqueryDepth: Int?
        public var subqueryLimit: Int?
        public var queryDepth: Int?
        public var batchRequestLimit: Int?
        /// The maximum depth of GraphQL queries. Only validated, since GraphQL is not supported.
        var graphQLDepth: Int?
        var graphQLFields: Int?
        public var allowRegex = true
    }

    package init() {}

    /// Creates a configuration with a preset's defaults.
    init(preset: Int) {
        self.preset = preset
        for definition in OptionTable.all { definition.setDefault(preset, &self) }
    }

    package static let thisMachine = ["127.0.0.1", "::1"]
    static let everywhere = ["0.0.0.0/0", "::0"]

    /// Resolves relative paths, such as those of certificates, pages, mail templates, cloud code and SQL files.
    ///
    /// - Parameter folder: The folder of the configuration file.
    public mutating func resolvePaths(in folder: String) {
        func resolved(_ path: String) -> String { path.hasPrefix("/") ? path : "\(folder)/\(path)" }
        https = https.map { HTTPS(certificate: resolved($0.certificate), key: resolved($0.key)) }
        pages.pagesPath = pages.pagesPath.map(resolved)
        pages.localizationJsonPath = pages.localizationJsonPath.map(resolved)
        accountMail.delivery?.templates.resolvePaths(resolved)
        cloudMain.main = cloudMain.main.map(resolved)
        cloudMain.routesFile = cloudMain.routesFile.map(resolved)
        cloudMain.publicFolder = cloudMain.publicFolder.map(resolved)
        cloudMain.folder = folder
        consoleFolder = consoleFolder.map(resolved)
        console.backupFolder = console.backupFolder.map(resolved)
        push?.folder = folder
        fileStore.resolvePaths(in: folder)
        for index in fileStoreFallbacks.indices { fileStoreFallbacks[index].resolvePaths(in: folder) }
        guard var declared = schema else { return }
        declared.beforeMigration = declared.beforeMigration.map(resolved)
        declared.afterMigration = declared.afterMigration.map(resolved)
        schema = declared
    }
}
