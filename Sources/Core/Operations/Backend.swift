public import FileStorage
import JSON
import Logging
import ParseModel
import ParseStorage
import Postgres
import Rules
import ServerConfiguration
import Synchronization
public import Telemetry

/// The operations of Parse over one database, or inside of one transaction of it.
///
/// It is a table of contents: each family of operations is a type of its own, a ``BackendPart``, and reaches the others
/// through its backend.
public struct Backend: Sendable {
    @usableFromInline let services: Services
    /// The objects.
    public let store: ObjectStore
    /// What is to be done when the transaction that this is part of is committed; nil outside of one.
    let deferred: DeferredEffects?

    /// Makes the operations over a store.
    ///
    /// - Parameters:
    ///   - files: Where uploaded files are; nil where there are none.
    ///   - log: Where the lines of the server's logger are kept.
    ///   - extensions: What the deployment adds.
    ///   - meters: What is counted.
    public init(
        configuration: Configuration, store: ObjectStore, files: (any FileStorage)? = nil,
        passwords: Passwords = Passwords(), logger: Logger, log: LogRing = LogRing(),
        extensions: BackendExtensions = BackendExtensions(), meters: Meters = Meters()
    ) {
        services = Services(
            configuration: configuration, store: store, files: files, passwords: passwords, logger: logger, log: log,
            extensions: extensions, meters: meters)
        self.store = store
        deferred = nil
    }

    private init(_ services: Services, store: ObjectStore, deferred: DeferredEffects) {
        self.services = services
        self.store = store
        self.deferred = deferred
    }

    // MARK: Objects

    /// Finds and gets.
    public var finding: Finding { Finding(backend: self) }
    /// Aggregations and distinct values.
    public var aggregating: Aggregating { Aggregating(backend: self) }
    /// Creations and changes of objects.
    public var saving: Saving { Saving(backend: self) }
    /// Deletions of objects.
    public var deleting: Deleting { Deleting(backend: self) }
    /// Batches that are one transaction, and requests that are served once.
    public var transactions: Transactions { Transactions(backend: self) }
    /// Uploaded files; nil where there are none.
    public var files: Files? { services.fileStorage.map { Files(backend: self, storage: $0) } }
    /// Rows of an export, stored as they were.
    public var imports: Imports { Imports(backend: self) }

    // MARK: Rights and triggers

    /// What callers may do with a class, and what they see of it.
    public var permissions: Permissions { Permissions(backend: self) }
    /// What the calls of triggers share.
    public var triggers: Triggers { Triggers(backend: self) }
    var saveTriggers: SaveTriggers { SaveTriggers(backend: self) }
    var deleteTriggers: DeleteTriggers { DeleteTriggers(backend: self) }
    var findTriggers: FindTriggers { FindTriggers(backend: self) }
    /// Triggers of live queries.
    public var liveQueryTriggers: LiveQueryTriggers { LiveQueryTriggers(backend: self) }
    /// Subscriptions, and what a change means for one.
    public var liveQueries: LiveQueries { LiveQueries(backend: self) }

    // MARK: Accounts

    /// Logging in and out.
    public var logIn: LogIn { LogIn(backend: self) }
    /// Records of users as they see them.
    public var ownRecords: OwnRecords { OwnRecords(backend: self) }
    /// Sessions: opening, finding and extending them.
    public var sessions: Sessions { Sessions(backend: self) }
    /// Names, addresses and passwords of users.
    public var users: Users { Users(backend: self) }
    /// Log-in and linking by providers.
    public var providers: Providers { Providers(backend: self) }
    /// Attempts to log in, and locked accounts.
    var lockout: Lockout { Lockout(backend: self) }
    public var mails: AccountMails { AccountMails(backend: self) }
    /// Links for forgotten passwords.
    public var passwordResets: PasswordResets { PasswordResets(backend: self) }
    /// Links that confirm addresses.
    public var verifications: EmailVerifications { EmailVerifications(backend: self) }
    /// One row a device.
    var installations: Installations { Installations(backend: self) }
    /// What is remembered of users and roles, here and in other processes.
    public var caches: CacheInvalidation { CacheInvalidation(backend: self) }

    // MARK: Administration

    /// The schemas API.
    public var schemas: Schemas { Schemas(backend: self) }
    /// Declared webhooks.
    public var hooks: Hooks { Hooks(backend: self) }
    /// Jobs and their schedules.
    public var jobs: Jobs { Jobs(backend: self) }
    /// Notifications as they are asked for.
    public var pushes: Pushes { Pushes(backend: self) }
    /// The parameters of `/config`.
    public var globalConfig: GlobalConfig { GlobalConfig(backend: self) }
    /// The configuration of GraphQL.
    public var graphQLConfig: GraphQLConfig { GraphQLConfig(backend: self) }
    /// The lines of the log.
    public var scriptLog: ScriptLog { ScriptLog(backend: self) }
    /// Operations of the database that took long.
    public var slowOperations: SlowOperations { SlowOperations(backend: self) }
    /// Statements that take long, with plans and advice.
    public var slowStatements: SlowStatements { SlowStatements(backend: self) }
    var slowLog: SlowOperationLog { services.slowLog }
    /// How many objects the classes have.
    public var classCounts: ClassCounts { ClassCounts(backend: self) }
    /// What points to an object.
    public var references: References { References(backend: self) }
    /// Objects that are handed on, however many they are.
    public var objectExport: ObjectExport { ObjectExport(backend: self) }
    /// Rows that operators bring.
    public var checkedImport: CheckedImport { CheckedImport(backend: self) }
    /// What operators removed.
    public var trash: Trash { Trash(backend: self) }
    /// What a user may do, and why.
    public var allowances: Allowances { Allowances(backend: self) }
    /// Views of classes that operators saved.
    public var savedViews: SavedViews { SavedViews(backend: self) }
    /// Advice on indexes.
    public var indexAdvising: IndexAdvising { IndexAdvising(backend: self) }
    /// The security report.
    public var securityReport: SecurityReport { SecurityReport(backend: self) }
    /// Operators of the console.
    public var operators: Operators { Operators(backend: self) }
    /// Removal of what is over.
    public var sweeps: Sweeps { Sweeps(backend: self) }

    // MARK: What the families share

    /// The options in force.
    ///
    /// Inlined, so that reading one of them copies no other.
    @inlinable public var configuration: Configuration { services.configuration }
    /// The clock.
    public var clock: WallClock { services.clock }
    /// Subscribers to changes of the declared webhooks.
    public var hookChanges: HookChanges { services.hookChanges }
    /// Subscribers to changes of what sessions depend on.
    public var userChanges: UserChanges { services.userChanges }
    /// What runs jobs; nil where there are none.
    public var jobRunner: JobRunner? { services.jobRunner }
    /// The metrics.
    public var meters: Meters { services.meters }
    /// How many hashes of passwords wait to be computed.
    public var waitingHashes: Int { services.passwords.waiting }
    var logger: Logger { services.logger }
    package var log: LogRing { services.log }

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
            return try await store.transaction { try await body(Backend(services, store: $0, deferred: deferred)) }
        }
        let writes = services.changes.begin()
        defer { services.changes.end(writes) }
        let deferred = DeferredEffects()
        let outcome: Result<R, any Error>
        do {
            outcome = .success(
                try await store.transaction(purpose, conflictKey: conflictKey) {
                    try await body(Backend(services, store: $0, deferred: deferred))
                })
        } catch {
            outcome = .failure(error)
        }
        // Before the commit, a request that looked again would have remembered what was there before. After a failure
        // as well: a commit whose answer was lost may have been carried out.
        for user in deferred.users { await caches.invalidate(user: user.text) }
        if deferred.invalidatesRoles { await caches.invalidateRoles() }
        if deferred.hasMails { services.mailer?.wake() }
        return try outcome.get()
    }

    /// Whether this is part of a transaction, which sees what may not be cached.
    var isInTransaction: Bool { deferred != nil }

    /// The schemas.
    public var catalog: SchemaCatalog { store.catalog }

    /// Links to files as answers to a request carry them.
    func links(_ context: RequestContext) -> FileLinks {
        services.fileLinks.below(configuration.publicServerURL ?? context.mountURL)
    }
}

/// A family of operations, or the rules of one, over the parts that most of them need.
protocol BackendPart {
    var backend: Backend { get }
}

extension BackendPart {
    @inline(__always) var configuration: Configuration { backend.configuration }
    var store: ObjectStore { backend.store }
    var catalog: SchemaCatalog { backend.catalog }
    var logger: Logger { backend.logger }
    var services: Services { backend.services }

    /// Returns the app's function for an option, or nil if the option is a value.
    ///
    /// - Throws: 141 if the app doesn't run.
    func function(_ option: Configuration.OptionFunction) throws(ParseError)
        -> (@Sendable (_ request: JSONObject) async throws -> Bool)?
    {
        guard configuration.cloudMain.app?.functions.contains(option) == true else { return nil }
        guard let ask = services.askOption else {
            throw ParseError(ParseError.scriptFailed, "The option \(option.rawValue) can't be called.")
        }
        return { try await ask(option, $0) }
    }
}

/// What is to be done when a transaction has been committed.
final class DeferredEffects: Sendable {
    private struct State: Sendable {
        var users: Set<Name> = []
        var invalidatesRoles = false
        var hasMails = false
    }

    private let state = Mutex(State())

    /// The users whose sessions are to be forgotten.
    var users: Set<Name> { state.withLock { $0.users } }

    var invalidatesRoles: Bool { state.withLock { $0.invalidatesRoles } }

    var hasMails: Bool { state.withLock { $0.hasMails } }

    func add(user id: String) { state.withLock { _ = $0.users.insert(Name(id)) } }

    func addRoles() { state.withLock { $0.invalidatesRoles = true } }

    func addMails() { state.withLock { $0.hasMails = true } }
}
