import JSON

/// The options in force, checked and completed by the defaults of the preset.
public struct Configuration: Sendable {
    /// The parse-server line whose defaults and visible shapes are used, 4 to 9.
    public var preset = 9
    /// Where the private PostgreSQL and files live; nil for the default place.
    public var dataDir: String?
    /// Where uploaded files live; nil for `files` below the data folder.
    public var filesDirectory: String?
    /// The embedded class definitions to apply at start.
    public var classDefinitions: String?
    /// How long one statement may run, in milliseconds.
    public var statementTimeout = 30_000
    /// How long a find with a regular expression may run for clients, in milliseconds.
    public var regexTimeout = 2000
    /// Whether regular expressions of clients may refer to what their groups matched.
    public var allowRegexBackReferences = false
    /// How long a request waits for an object that others are changing, in milliseconds.
    public var lockTimeout = 5000
    /// How long a batch may take that is one transaction, in milliseconds.
    public var transactionTimeout = 10_000
    /// How long a request waits for a connection to the database that others have, in milliseconds.
    public var connectionTimeout = 3000

    var given: [String: Setting.Given] = [:]

    public var appId = ""
    public var masterKey = ""
    /// After how many seconds a function of an app gives the key again; 0 for never.
    public var masterKeyTtl = 0
    /// The key that a function gives again and again, or nil if the key stays.
    package var renewedMasterKey: RenewedKey?
    public var maintenanceKey: String?
    public var readOnlyMasterKey: String?
    /// Who else has a master key, and which changes are kept.
    public var audit = Audit()
    public var clientKey: String?
    public var javascriptKey: String?
    public var restAPIKey: String?
    public var dotNetKey: String?
    /// Addresses and networks from which each key is taken.
    public var masterKeyIps = Configuration.thisMachine
    public var maintenanceKeyIps = Configuration.thisMachine
    public var readOnlyMasterKeyIps = Configuration.everywhere

    /// The URL of the interface, without a trailing slash.
    public var serverURL = ""
    public var publicServerURL: String?
    public var databaseURI: String?
    /// The server itself, where ``databaseURI`` leads to a pooler.
    public var directDatabaseURI: String?
    /// The schema of the database in which everything lies; nil for that of the connection.
    public var databaseSchema: String?
    /// How classes lie on the servers of a distributed database; nil where they lie on one.
    public var distribution: Distribution?
    /// A streaming replica of the database, for reads that ask for one.
    public var readReplicaURI: String?
    public var readReplicaURIs: [String] = []
    /// All replicas.
    public var replicas: [String] { (readReplicaURI.map { [$0] } ?? []) + readReplicaURIs }
    /// How many milliseconds a replica may be behind.
    public var maxReplicaLag: Int?
    /// Whether nothing is written.
    public var readOnly = false
    public var databaseOptions = DatabaseOptions()
    public var port = 1337
    public var host = "0.0.0.0"
    public var mountPath = "/parse"
    /// The path below which the interface lies, without a trailing slash; empty for the root.
    public var mount: String { mountPath.split(separator: "/").map { "/" + $0 }.joined() }
    public var trustProxy = TrustProxy.noProxy
    /// In bytes.
    public var maxUploadSize = 20 * 1024 * 1024
    /// The most connections of clients at a time.
    public var maximumConnections = 10_000
    /// How many seconds the server goes on taking requests after the signal to end.
    public var drainTime = 0
    /// The most memory, in bytes, of large bodies and of answers that clients have not read.
    public var transferMemory = 256 * 1024 * 1024
    public var allowHeaders: [String] = []
    public var allowOrigin = ["*"]

    public var allowClientClassCreation = false
    public var allowCustomObjectId = false
    public var objectIdSize = 10
    /// Hidden fields by class and entity.
    public var protectedFields: [Name: [Name: [Name]]] = ["_User": ["*": ["email"]]]
    public var protectedFieldsOwnerExempt = true
    public var enforcePrivateUsers = true
    public var enableAnonymousUsers = true
    public var defaultLimit = 100
    public var maxLimit: Int?
    /// The largest answer, in bytes.
    public var maxResponseSize = 64 * 1024 * 1024
    /// The most bytes of objects that the find of a client hands to triggers; with the master key it may hand over more.
    public var maxTriggerSize = 8 * 1024 * 1024
    /// The most bytes of an object that clients may store; the master key stores larger ones.
    public var maxObjectSize = 4 * 1024 * 1024
    /// The maximum number of fields of a class to which clients add some. The master key may exceed it.
    public var maxClientFields = 200
    public var requestKeywordDenylist = KeywordRules.defaults
    public var enableSanitizedErrorResponse = true
    public var allowAggregationForReadOnlyMasterKey = true
    /// Whether answers to saves carry protected fields that the save changed.
    public var protectedFieldsSaveResponseExempt = true
    public var installation = Installations()

    /// In seconds.
    public var sessionLength = 31_536_000
    public var expireInactiveSessions = true
    public var extendSessionOnUse = false
    public var revokeSessionOnPasswordReset = true
    public var auth: JSONObject = [:]
    public var passwordPolicy: PasswordPolicy?
    public var accountLockout: AccountLockout?
    public var accountMail = AccountMail()
    /// How many hashes of passwords are computed at once; nil for the number of processors less one.
    public var passwordHashingThreads: Int?
    /// How many hashes of passwords may wait to be computed.
    public var passwordHashingQueue = 256
    public var convertEmailToLowercase = false
    public var convertUsernameToLowercase = false
    /// Whether log-ins and mails find users by their names in any case of the letters.
    public var caseInsensitiveLogin = false
    /// In milliseconds.
    public var cacheTTL = 5000
    public var cacheMaxSize = 10_000

    public var cloudMain = CloudMain()
    public var pages = Pages()
    public var customPages = CustomPages()

    /// At which levels events of cloud code are logged.
    public var eventLevels = EventLevels()

    /// Where uploaded files are.
    public var fileStore = FileStore.disk
    /// Where files are read that are not there, in order.
    public var fileStoreFallbacks: [FileStore] = []
    /// Variables of the environment by which clouds hand out credentials.
    public var cloudVariables: [String: String] = [:]
    public var fileUpload = FileUpload()
    /// Who may download.
    public var fileDownload = FileCallers(enableForPublic: true, enableForAnonymousUser: true)
    public var preserveFileName = false
    public var fileKey: String?
    /// What files are encrypted with; nil when they lie open.
    public var encryptionKey: String?
    /// What files were encrypted with before; nil when all are encrypted with the key of now.
    public var previousEncryptionKey: String?
    public var encryptionFormat = EncryptionFormat.whole
    public var idempotencyOptions = IdempotencyOptions()
    public var requestComplexity = RequestComplexity()
    /// The routes that clients may use; nil for all.
    public var routeAllowList: RouteAllowList?
    /// Whether providers take an access token, which may be another app's, in place of a code.
    public var enableInsecureAuthAdapters = false
    /// How the server reaches others.
    public var outgoing = Outgoing()
    /// How webhooks are called.
    public var webhooks = Webhooks()
    /// How many requests of a kind there may be in a time.
    public var rateLimits: [RateLimit] = []
    /// Whether log-ins, sign-ups and mails are limited besides, for each address.
    public var accountRateLimit = true
    /// Where requests are counted.
    public var rateLimitStore = RateLimitStore.memory
    /// By what the server speaks TLS; nil for plain HTTP.
    public var https: HTTPS?

    /// The administration page.
    public var console = Console()
    /// Where its files are read while they are worked on; nil for those in the binary.
    public var consoleFolder: String?

    /// The classes whose changes live queries get, and who may subscribe.
    public var liveQuery = LiveQuery()

    /// How notifications are sent; nil where they are not.
    public var push: Push?
    /// Whether notifications with a time are sent then, and not at once.
    public var schedulesPushes = true

    /// Whether jobs are run when their schedules say so.
    public var jobSchedules = false
    /// The most jobs that run at a time.
    public var maximumJobs = 100

    public var security = Security()
    /// The classes that are declared; nil where they are not.
    public var schema: DeclaredSchemas?

    public var logLevel = "info"
    /// Whether nothing is printed.
    public var silent = false
    public var jsonLogs = false
    /// From how many milliseconds on a request is logged as a warning.
    public var slowRequest = 1000
    /// From how many milliseconds on an operation of the database is logged; 0 for never.
    public var slowQueryThreshold = 1000
    /// What is done about questions that take long without an index.
    public var indexAdvice = IndexAdvice.report
    /// How many indexes are built for a class at most because they help.
    public var maximumAdvisedIndexes = 4
    /// Which requests are traced, and where their spans go.
    public var tracing = Tracing()
    /// Where metrics are read.
    public var metrics = Metrics()

    /// The version that the preset's line reports of itself.
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

    /// The report on the deployment's security.
    public struct Security: Sendable {
        /// Whether the route answers.
        public var enableCheck = false
        /// Whether the report is written to the log at start.
        public var enableCheckLog = false
    }

    /// Requests that are served once.
    public struct IdempotencyOptions: Sendable {
        /// Regular expressions of paths, anchored at their start.
        public var paths: [String] = []
        /// In seconds.
        public var ttl = 300.0
    }

    /// Limits on requests; nil for none.
    public struct RequestComplexity: Sendable {
        public var includeDepth: Int?
        public var includeCount: Int?
        public var subqueryDepth: Int?
        public var subqueryLimit: Int?
        public var queryDepth: Int?
        public var batchRequestLimit: Int?
        /// Limits on GraphQL, which is not built: they are checked, and nothing else.
        var graphQLDepth: Int?
        var graphQLFields: Int?
        public var allowRegex = true
    }

    package init() {}

    /// What holds where no option says otherwise.
    init(preset: Int) {
        self.preset = preset
        for definition in OptionTable.all { definition.setDefault(preset, &self) }
    }

    static let thisMachine = ["127.0.0.1", "::1"]
    static let everywhere = ["0.0.0.0/0", "::0"]

    /// Makes the paths of SQL files and of pages absolute.
    ///
    /// - Parameter folder: Where relative ones begin: the folder of the configuration file.
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
