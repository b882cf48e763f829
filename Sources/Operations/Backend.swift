import JSON
import Logging
import ParseModel
import ParseStorage
import Postgres
import Rules
import ServerConfiguration

/// The rules of Parse over one database: what each call means, and who may make it.
///
/// Each family of rules is an extension of its own; they all go through the one store.
public final class Backend: Sendable {
    /// The options in force.
    public let configuration: Configuration
    /// The objects.
    public let store: ObjectStore
    let passwords: Passwords
    let sessions: SessionCache
    /// Attempts to log in under names that nobody has.
    let unknownAccounts: UnknownAccounts
    /// How often users changed their addresses a short time ago, which sends mails to places of their choice.
    let addressChanges: RecentCounts
    let logger: Logger
    /// What is to be done when the transaction that this is part of is committed; nil outside of one.
    private let deferred: DeferredEffects?
    let log: LogRing
    /// Who wants to know that the declared webhooks changed.
    public let hookChanges: HookChanges
    /// Who wants to know that something about a user changed.
    public let userChanges: UserChanges
    /// What runs before and after objects are saved; nil for nothing.
    let triggers: (any TriggerSet)?
    /// Has those who want to know what became of objects know of it.
    let changes: ChangeReporter
    /// What sends mails; nil for nothing.
    let mailer: (any Mailer)?
    /// What sends notifications; nil for nothing.
    let pusher: (any Pusher)?
    /// What runs jobs; nil where there are none.
    public let jobs: JobRunner?
    /// What time it is.
    public let clock: WallClock
    /// How long it takes from one look at the schedules of jobs to the next.
    let schedulePause: Duration
    /// The ways to log in other than by a password.
    let authProviders: [Name: any AuthProvider]
    /// How users see what the providers know of them; nil for as it is stored.
    let loginDataView: (@Sendable (JSONObject) -> JSONObject)?
    private let fileLinks: FileLinks
    /// Which fields are hidden from whom.
    let protectedFields: ProtectedFields

    /// Makes the rules over a store.
    ///
    /// - Parameters:
    ///   - log: Where the lines of the server's logger are kept.
    ///   - extensions: What the deployment adds.
    public init(
        configuration: Configuration, store: ObjectStore, passwords: Passwords = Passwords(), logger: Logger,
        log: LogRing = LogRing(), extensions: BackendExtensions = BackendExtensions()
    ) {
        triggers = extensions.triggers
        hookChanges = HookChanges()
        userChanges = UserChanges()
        mailer = extensions.mailer
        pusher = extensions.pusher
        jobs = extensions.jobs.map {
            JobRunner(
                $0, store: store, most: configuration.maximumJobs, idSize: configuration.objectIdSize, logger: logger)
        }
        clock = extensions.clock
        schedulePause = extensions.schedulePause
        authProviders = extensions.allAuthProviders
        self.log = log
        self.configuration = configuration
        self.store = store
        self.passwords = passwords
        self.logger = logger
        unknownAccounts = UnknownAccounts()
        addressChanges = RecentCounts(within: .seconds(600))
        deferred = nil
        loginDataView = Self.loginDataView(authProviders, configuration.auth)
        protectedFields = ProtectedFields(configuration, loginData: loginDataView)
        fileLinks = FileLinks(
            mountURL: "", applicationID: configuration.appId, hostedKey: configuration.fileKey)
        changes = ChangeReporter(
            extensions.observers, links: fileLinks.below(configuration.publicServerURL ?? configuration.serverURL),
            logger: logger)
        sessions = SessionCache(
            timeToLive: Int64(configuration.cacheTTL), capacity: configuration.cacheMaxSize)
    }

    private init(_ other: Backend, store: ObjectStore, deferred: DeferredEffects) {
        self.deferred = deferred
        configuration = other.configuration
        passwords = other.passwords
        sessions = other.sessions
        unknownAccounts = other.unknownAccounts
        addressChanges = other.addressChanges
        logger = other.logger
        log = other.log
        triggers = other.triggers
        hookChanges = other.hookChanges
        userChanges = other.userChanges
        changes = other.changes
        mailer = other.mailer
        pusher = other.pusher
        jobs = other.jobs
        clock = other.clock
        schedulePause = other.schedulePause
        authProviders = other.authProviders
        loginDataView = other.loginDataView
        fileLinks = other.fileLinks
        protectedFields = other.protectedFields
        self.store = store
    }

    /// Runs calls in one transaction: what `body` throws undoes everything that it did through the rules it is given.
    ///
    /// - Parameters:
    ///   - purpose: What it is for.
    ///   - conflictKey: A name for what it locks first, where that is known: others who do so wait without a
    ///     connection.
    public func transaction<R: Sendable>(
        _ purpose: TransactionPurpose = .request, conflictKey: String? = nil,
        _ body: @escaping @Sendable (Backend) async throws -> R
    ) async throws -> R {
        if let deferred {
            return try await store.transaction { try await body(Backend(self, store: $0, deferred: deferred)) }
        }
        let writes = changes.begin()
        defer { changes.end(writes) }
        let deferred = DeferredEffects()
        let outcome: Result<R, any Error>
        do {
            outcome = .success(
                try await store.transaction(purpose, conflictKey: conflictKey) {
                    try await body(Backend(self, store: $0, deferred: deferred))
                })
        } catch {
            outcome = .failure(error)
        }
        // Before the commit, a request that looked again would have remembered what was there before. After a failure
        // as well: a commit whose answer was lost may have been carried out.
        for user in deferred.users { await invalidate(user: user.text) }
        if deferred.invalidatesRoles { await invalidateRoles() }
        if deferred.hasMails { mailer?.wake() }
        return try outcome.get()
    }

    /// Whether this is part of a transaction, which sees what nobody else may remember.
    var isInTransaction: Bool { deferred != nil }

    /// The classes.
    public var catalog: SchemaCatalog { store.catalog }

    /// Links to files as answers to a request carry them.
    func links(_ context: RequestContext) -> FileLinks {
        fileLinks.below(configuration.publicServerURL ?? context.mountURL)
    }

    /// The channel by which processes tell each other that what they remember of users is out of date.
    static let cacheChannel = "roost.cache"

    /// Forgets what is remembered of a user, here and in every other process.
    func invalidate(user id: String) async {
        if let deferred { return deferred.add(user: id) }
        sessions.invalidate(user: id)
        userChanges.tell(id)
        await announce("user:\(id)")
    }

    /// Forgets everybody's roles, here and in every other process.
    func invalidateRoles() async {
        if let deferred { return deferred.addRoles() }
        sessions.invalidateAll()
        await announce("roles")
    }

    /// Puts a mail into the queue, whose sender is woken when others can see it.
    func enqueue(_ mail: AccountMail, to mailer: any Mailer) async throws {
        try await mailer.enqueue(mail, through: store)
        if let deferred { deferred.addMails() } else { mailer.wake() }
    }

    /// Has the declared webhooks read anew, here and in every other process.
    func hooksChanged() async {
        await hookChanges.tell()
        await announce(Self.hooksPayload)
    }

    /// What processes tell each other when the declared webhooks changed.
    static let hooksPayload = "hooks"

    private func announce(_ payload: String) async {
        do {
            try await store.client.notify(channel: Self.cacheChannel, payload: payload)
        } catch {
            // Others learn of it when their entries grow too old.
            logger.warning("other processes were not told of a change", metadata: ["error": "\(error)"])
        }
    }
}
