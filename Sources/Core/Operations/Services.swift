import FileStorage
import JSON
import Logging
import ParseStorage
import Rules
import ServerConfiguration
import Telemetry

/// The services shared by all operations of a process, independent of transactions: caches, queues and extensions.
@usableFromInline
final class Services: Sendable {
    @usableFromInline let configuration: Configuration
    let passwords: Passwords
    let sessionCache: SessionCache
    let unknownAccounts = UnknownAccounts()
    /// Recent address changes per user. Each one can send email to an address that the user chose.
    let addressChanges = RecentCounts(within: .seconds(600))
    /// Recent address changes that app functions rejected.
    let refusedAddresses = RecentCounts(within: .seconds(600))
    /// Recent requests per user for password-reset links, and for verification links if app functions are called for
    /// them.
    let linkMails = RecentCounts(within: .seconds(600))
    let logger: Logger
    let log: LogRing
    let hookChanges = HookChanges()
    let peerFolders = PeerFolders()
    let userChanges = UserChanges()
    let growingClasses = GrowingClasses()
    let options: OptionsInForce
    let changes: ChangeReporter
    let extensions: BackendExtensions
    /// The job runner, or nil without a ``JobSet``.
    let jobRunner: JobRunner?
    let clock: WallClock
    let authProviders: [Name: any AuthProvider]
    /// The auth providers that are JavaScript adapters of the app.
    let moduleProviders: [any AuthProvider]
    /// The function that reduces `authData` to what users may see, or nil if the anonymous provider is the only one.
    let loginDataView: (@Sendable (JSONObject) -> JSONObject)?
    /// The storage of uploaded files, or nil if files are disabled.
    let fileStorage: (any FileStorage)?
    let fileLinks: FileLinks
    let protectedFields: ProtectedFields
    let meters: Meters
    let slowLog: SlowOperationLog

    init(
        configuration: Configuration, store: ObjectStore, files: (any FileStorage)?, passwords: Passwords,
        logger: Logger, log: LogRing, extensions: BackendExtensions, meters: Meters
    ) {
        self.meters = meters
        fileStorage = files
        slowLog = SlowOperationLog(milliseconds: configuration.slowQueryThreshold)
        self.extensions = extensions
        jobRunner = extensions.jobs.map {
            JobRunner(
                $0, store: store, limit: configuration.maximumJobs, idSize: configuration.objectIdSize,
                meters: meters.jobs, logger: logger)
        }
        clock = extensions.clock
        authProviders = extensions.allAuthProviders
        moduleProviders = authProviders.values.filter(\.runsModule)
        self.log = log
        self.configuration = configuration
        options = OptionsInForce(configuration)
        self.passwords = passwords
        self.logger = logger
        loginDataView = Providers.loginDataView(authProviders, configuration.auth)
        protectedFields = ProtectedFields(configuration, loginData: loginDataView)
        fileLinks = FileLinks(
            mountURL: "", applicationID: configuration.appId, hostedKey: configuration.fileKey,
            location: files?.location)
        changes = ChangeReporter(
            extensions.observers, links: fileLinks.below(configuration.publicServerURL ?? configuration.serverURL),
            logger: logger)
        sessionCache = SessionCache(
            timeToLive: Int64(configuration.cacheTTL), capacity: configuration.cacheMaxSize)
    }

    var mailer: (any Mailer)? { extensions.mailer }

    /// The app's triggers, or nil if it has none.
    var activeTriggers: (any TriggerSet)? { extensions.triggers.flatMap { $0.isActive ? $0 : nil } }
}
