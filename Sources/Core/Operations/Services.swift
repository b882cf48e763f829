import FileStorage
import JSON
import Logging
import ParseStorage
import Postgres
import Rules
import ServerConfiguration
import Telemetry

/// What all operations of a process share: caches, queues, and what the deployment adds. One a process; nothing in it
/// is part of a transaction.
@usableFromInline
final class Services: Sendable {
    @usableFromInline let configuration: Configuration
    let passwords: Passwords
    let sessionCache: SessionCache
    /// Attempts to log in under names that no user has.
    let unknownAccounts: UnknownAccounts
    /// How often users changed their addresses a short time ago, which sends mails to addresses of their choice.
    let addressChanges: RecentCounts
    /// Address changes that functions of the app refused.
    let refusedAddresses: RecentCounts
    /// Recent mails with links per user.
    let linkMails: RecentCounts
    let logger: Logger
    let log: LogRing
    /// Subscribers to changes of the declared webhooks.
    let hookChanges = HookChanges()
    /// Where other processes keep files.
    let peerFolders = PeerFolders()
    /// Subscribers to changes of what sessions depend on.
    let userChanges = UserChanges()
    let growingClasses = GrowingClasses()
    /// What runs before and after objects are saved; nil for nothing.
    let triggerSet: (any TriggerSet)?
    /// Has observers know of changes of objects.
    let changes: ChangeReporter
    /// What sends mails; nil for nothing.
    let mailer: (any Mailer)?
    /// What sends notifications; nil for nothing.
    let pusher: (any Pusher)?
    /// What runs jobs; nil where there are none.
    let jobRunner: JobRunner?
    let clock: WallClock
    /// How long it takes from one look at the schedules of jobs to the next.
    let schedulePause: Duration
    /// The ways to log in other than by a password.
    let authProviders: [Name: any AuthProvider]
    /// Calls an option that is a function of the app, or nil if there are none.
    let askOption: BackendExtensions.AskOption?
    /// How users see what the providers know of them; nil for as it is stored.
    let loginDataView: (@Sendable (JSONObject) -> JSONObject)?
    /// Where uploaded files are; nil where there are none.
    let fileStorage: (any FileStorage)?
    let fileLinks: FileLinks
    let protectedFields: ProtectedFields
    let meters: Meters
    /// Operations of the database that took long.
    let slowLog: SlowOperationLog

    init(
        configuration: Configuration, store: ObjectStore, files: (any FileStorage)?, passwords: Passwords,
        logger: Logger, log: LogRing, extensions: BackendExtensions, meters: Meters
    ) {
        self.meters = meters
        fileStorage = files
        slowLog = SlowOperationLog(milliseconds: configuration.slowQueryThreshold)
        triggerSet = extensions.triggers
        mailer = extensions.mailer
        pusher = extensions.pusher
        jobRunner = extensions.jobs.map {
            JobRunner(
                $0, store: store, most: configuration.maximumJobs, idSize: configuration.objectIdSize,
                meters: meters.jobs, logger: logger)
        }
        clock = extensions.clock
        schedulePause = extensions.schedulePause
        authProviders = extensions.allAuthProviders
        askOption = extensions.askOption
        self.log = log
        self.configuration = configuration
        self.passwords = passwords
        self.logger = logger
        unknownAccounts = UnknownAccounts()
        addressChanges = RecentCounts(within: .seconds(600))
        refusedAddresses = RecentCounts(within: .seconds(600))
        linkMails = RecentCounts(within: .seconds(600))
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
}
