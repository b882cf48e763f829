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

/// The Parse operations on one database, or within one of its transactions.
///
/// Each group of operations is a ``BackendPart``, which reaches the other groups through its backend.
public struct Backend: Sendable {
    @usableFromInline let services: Services
    public let store: ObjectStore
    /// Effects to run after the transaction ends, or nil outside a transaction.
    let deferred: DeferredEffects?

    /// Creates the operations on a store.
    ///
    /// - Parameters:
    ///   - files: The storage of uploaded files, or nil to disable files.
    ///   - log: The latest log lines, for `GET /scriptlog` and the console.
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

    public var finding: Finding { Finding(backend: self) }
    public var aggregating: Aggregating { Aggregating(backend: self) }
    public var saving: Saving { Saving(backend: self) }
    public var deleting: Deleting { Deleting(backend: self) }
    public var transactions: Transactions { Transactions(backend: self) }
    /// Uploaded files, or nil if the server has no file storage.
    public var files: Files? { services.fileStorage.map { Files(backend: self, storage: $0) } }
    public var imports: Imports { Imports(backend: self) }

    // MARK: Rights and triggers

    public var permissions: Permissions { Permissions(backend: self) }
    public var triggers: Triggers { Triggers(backend: self) }
    var saveTriggers: SaveTriggers { SaveTriggers(backend: self) }
    var deleteTriggers: DeleteTriggers { DeleteTriggers(backend: self) }
    var findTriggers: FindTriggers { FindTriggers(backend: self) }
    public var liveQueryTriggers: LiveQueryTriggers { LiveQueryTriggers(backend: self) }
    public var liveQueries: LiveQueries { LiveQueries(backend: self) }

    // MARK: Accounts

    public var logIn: LogIn { LogIn(backend: self) }
    public var ownRecords: OwnRecords { OwnRecords(backend: self) }
    public var sessions: Sessions { Sessions(backend: self) }
    public var users: Users { Users(backend: self) }
    public var providers: Providers { Providers(backend: self) }
    var lockout: Lockout { Lockout(backend: self) }
    public var mails: AccountMails { AccountMails(backend: self) }
    public var passwordResets: PasswordResets { PasswordResets(backend: self) }
    public var verifications: EmailVerifications { EmailVerifications(backend: self) }
    var installations: Installations { Installations(backend: self) }
    public var caches: CacheInvalidation { CacheInvalidation(backend: self) }

    // MARK: Administration

    public var schemas: Schemas { Schemas(backend: self) }
    public var hooks: Hooks { Hooks(backend: self) }
    public var jobs: Jobs { Jobs(backend: self) }
    public var globalConfig: GlobalConfig { GlobalConfig(backend: self) }
    public var graphQLConfig: GraphQLConfig { GraphQLConfig(backend: self) }
    public var options: RuntimeOptions { RuntimeOptions(backend: self) }
    public var scriptLog: ScriptLog { ScriptLog(backend: self) }
    public var slowOperations: SlowOperations { SlowOperations(backend: self) }
    package var slowLog: SlowOperationLog { services.slowLog }
    public var objectExport: ObjectExport { ObjectExport(backend: self) }
    public var trash: Trash { Trash(backend: self) }
    public var indexAdvising: IndexAdvising { IndexAdvising(backend: self) }
    public var securityReport: SecurityReport { SecurityReport(backend: self) }
    public var sweeps: Sweeps { Sweeps(backend: self) }

    // MARK: Shared services

    /// The configuration of the server.
    ///
    /// Inlined, so that reading one option doesn't copy the whole struct.
    @inlinable public var configuration: Configuration { services.configuration }
    public var clock: WallClock { services.clock }
    public var hookChanges: HookChanges { services.hookChanges }
    public var userChanges: UserChanges { services.userChanges }
    /// The job runner, or nil without a ``JobSet``.
    public var jobRunner: JobRunner? { services.jobRunner }
    public var meters: Meters { services.meters }
    /// Hashes and compares passwords.
    package var passwords: Passwords { services.passwords }
    /// The number of password hashes waiting for a worker.
    public var waitingHashes: Int { services.passwords.waiting }
    /// The server's logger.
    package var logger: Logger { services.logger }
    package var log: LogRing { services.log }

    /// Runs `body` in one transaction, which rolls back if `body` throws. Only the passed backend's operations belong
    /// to it.
    ///
    /// - Parameters:
    ///   - purpose: Selects the connection pool and the time limit, if any. Ignored within a transaction.
    ///   - conflictKey: A key for the first row that the transaction locks, if known. Transactions with the same key
    ///     wait without holding a connection. Ignored within a transaction.
    public func transaction<R: Sendable>(
        _ purpose: PoolPurpose = .transactions, conflictKey: String? = nil,
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
        // Caches are invalidated after the commit, since earlier a concurrent request could cache the old state again.
        // A failed commit may have succeeded with its response lost, so failures invalidate too.
        let effects = deferred.all
        for user in effects.users { await caches.invalidate(user: user.text) }
        if effects.invalidatesRoles { await caches.invalidateRoles() }
        if effects.hasMails { services.mailer?.wake() }
        return try outcome.get()
    }

    /// Whether this backend runs within a transaction. Its uncommitted data must not be cached.
    var isInTransaction: Bool { deferred != nil }

    public var catalog: SchemaCatalog { store.catalog }

    /// Returns the file links for responses to a request.
    package func links(_ context: RequestContext) -> FileLinks {
        services.fileLinks.below(configuration.publicServerURL ?? context.mountURL)
    }
}

/// A group of operations, or the rules for one of them, with shortcuts to the shared parts.
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
        guard let ask = services.extensions.askOption else {
            throw ParseError(
                ParseError.scriptFailed,
                "\(option.rawValue) can't be evaluated, because the app's index.js isn't running.")
        }
        return { try await ask(option, $0) }
    }
}

/// Effects to run after a transaction, even a failed one: it may have been committed with its response lost.
final class DeferredEffects: Sendable {
    struct State: Sendable {
        /// The users whose cached sessions must be invalidated.
        var users: Set<Name> = []
        var invalidatesRoles = false
        var hasMails = false
    }

    private let state = Mutex(State())

    var all: State { state.withLock { $0 } }

    func add(user id: String) { state.withLock { _ = $0.users.insert(Name(id)) } }

    func addRoles() { state.withLock { $0.invalidatesRoles = true } }

    func addMails() { state.withLock { $0.hasMails = true } }
}
