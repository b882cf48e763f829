import CloudCode
internal import Console
import FileStorage
import FileStores
public import HTTP
import JSON
import LiveQuery
public import Logging
import Mail
import NIOCore
import NIOPosix
import NodeHost
import Operations
import Outgoing
import ParseModel
import ParseStorage
import Postgres
internal import Push
import REST
import Schema
public import ServerConfiguration
public import ServiceLifecycle
import SignIn
import Telemetry
import Webhooks

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The whole server over one database: driver, storage, rules, routes and HTTP.
public struct RoostServer: Service {
    private let http: HTTPServer
    /// By what the server speaks TLS; nil for plain HTTP.
    public let certificate: ServerCertificate?
    private let client: PostgresClient
    private let replicas: ReplicaSet?
    private let backend: Backend
    private let mailQueue: MailQueue?
    private let pushQueue: PushQueue?
    /// What notifies clients of changes; nil where no class is published.
    private let liveQueries: LiveQueryServer?
    /// What asks servers of others; nil where none is asked.
    private let caller: HTTPCaller?
    private let cloud: CloudEngine
    /// What runs `cloud/main.js`; nil where there is none.
    private let nodeHost: NodeHost?
    private let installer: DatabaseInstaller
    private let indexer: DateIndexer
    /// What builds indexes that are advised; nil where none are.
    private let indexBuilder: AdvisedIndexBuilder?
    private let files: any FileStorage
    /// The folder of files; nil where they are elsewhere.
    private let folder: DiskStorage?
    private let monitoring: Monitoring
    /// Traces and their way to a collector; nil where nothing is traced.
    private let traces: TraceExport?
    private let monitoringRoutes: MonitoringRoutes
    /// The administration page; nil where it is open to no client.
    private let console: ConsoleSite?
    /// What is counted over time, for the charts of the console; nil where there is none.
    private let figures: FigureHistory?
    private let configuration: Configuration
    private let logger: Logger

    /// Puts the parts together; nothing is opened yet.
    ///
    /// - Parameters:
    ///   - connectionString: The database, as libpq takes it.
    ///   - filesDirectory: The folder of uploaded files.
    ///   - passwordCost: The cost of new password hashes; below 10 for tests only.
    ///   - extensions: What the deployment adds, or puts in place of the server's parts.
    /// - Throws: `AddressList.InvalidEntry` for what is no address in the configuration, `ConfigurationError` for a
    ///   login provider that there is not, `ServerCertificate.Unusable` for files of `https` that cannot be used.
    public init(
        configuration: Configuration, connectionString: String, filesDirectory: String, passwordCost: Int = 10,
        extensions: ServerExtensions = ServerExtensions(), logger: Logger
    ) throws {
        self.configuration = configuration
        var additions = extensions.backend
        let asksOthers =
            configuration.auth.keys.contains { $0 != "anonymous" }
            || configuration.accountMail.delivery?.transport.isHTTP == true
        caller = asksOthers ? try HTTPCaller(configuration.outgoing) : nil
        if let caller { additions.addProviders(SignInProviders.all(configuration, caller)) }
        let meters = Meters(
            requests: RequestMeters(routes: MeasuredRoutes.rows, shards: System.coreCount),
            providers: configuration.auth.keys.map(\.text), limits: configuration.rateLimits.count)
        let log = LogRing(meters: meters.logLines)
        let logger = log.recording(logger)
        self.logger = logger
        cloud = CloudEngine(meters: meters.cloud, levels: configuration.eventLevels, logger: logger)
        for host in extensions.cloudHosts { cloud.attach(host) }
        nodeHost = try NodeHost(
            configuration, sendMail: Deployment.codeMail(configuration, caller),
            noteRestart: { meters.cloud.nodeRestarts.add() }, logger: logger)
        if let nodeHost {
            cloud.attach(nodeHost)
            additions.addProviders(nodeHost.authProviders)
            additions.askOption = { try await nodeHost.ask($0, $1) }
        }
        for warning in try additions.checkProviders(configuration) { logger.warning("\(warning)") }
        if additions.triggers == nil { additions.triggers = cloud }
        if additions.jobs == nil { additions.jobs = cloud }
        func inSchema(_ text: String) -> String {
            PostgresConfiguration.connectionString(text, schema: configuration.databaseSchema)
        }
        var database = PostgresConfiguration(connectionString: inSchema(connectionString))
        database.statementTimeout = .milliseconds(configuration.statementTimeout)
        // Declared classes are made under a lock that is a connection's, and so are the changes themselves.
        database.exclusiveConnections = max(2, configuration.databaseOptions.poolSize)
        database.sharedConnections =
            configuration.databaseOptions.sharedConnections ?? min(16, max(4, System.coreCount))
        // PostgreSQL often shares the processors.
        database.heavyConnections = configuration.databaseOptions.heavyStatements ?? max(1, System.coreCount / 2)
        // Rows take more while they come than the answer that is made of them.
        database.resultLimit = max(32 * 1024 * 1024, 4 * configuration.maxResponseSize)
        let pooler = configuration.databaseOptions.transactionPooler
        database.isBehindTransactionPooler = pooler != .none
        database.poolerKeepsStatements = pooler == .prepared
        if configuration.databaseURI != nil {
            database.directConnectionString = configuration.directDatabaseURI.map(inSchema)
        }
        // A lock of the process takes a connection beside the one that works.
        if !database.hasSessions { database.exclusiveConnections = max(16, database.exclusiveConnections) }
        database.lockTimeout = .milliseconds(configuration.lockTimeout)
        database.transactionTimeout = .milliseconds(configuration.transactionTimeout)
        database.connectionWait = .milliseconds(configuration.connectionTimeout)
        database.applicationName = Self.applicationName
        database.onlyReads = configuration.readOnly
        database.changesInBlocks = configuration.distribution != nil
        // The private PostgreSQL has no other server that could take its place.
        database.checksTimeline = configuration.databaseURI != nil
        client = PostgresClient(configuration: database, logger: logger)
        let clients = configuration.replicas.map { uri in
            var database = database
            database.connectionString = inSchema(uri)
            database.directConnectionString = nil
            database.onlyReads = true
            // Who prefers a replica has the primary to turn to, and is not kept waiting for long.
            database.connectTimeout = .seconds(2)
            database.connectionWait = min(database.connectionWait, .seconds(2))
            database.failsWhenRefused = true
            return PostgresClient(configuration: database, logger: logger)
        }
        replicas =
            clients.isEmpty
            ? nil : ReplicaSet(clients, of: client, maxLag: configuration.maxReplicaLag, logger: logger)
        var probes: [any ReadinessProbe] = [
            DatabaseProbe("database", isNeeded: true, database, logger: logger)
        ]
        for (index, uri) in configuration.replicas.enumerated() {
            var database = database
            database.connectionString = inSchema(uri)
            let name = MetricsPage.name(ofReplica: index, of: configuration.replicas.count)
            probes.append(
                DatabaseProbe(
                    name, isNeeded: false, mostLag: configuration.maxReplicaLag, database, logger: logger))
        }
        let catalog = SchemaCatalog(
            client: client, senderId: Identifiers.hexadecimal(32), refusesMixedMembership: configuration.preset >= 9,
            findNotes: configuration.indexAdvice == .off || configuration.readOnly ? nil : FindNotes(),
            distribution: configuration.distribution.map { Distribution($0) }, logger: logger)
        installer = DatabaseInstaller(client: client, catalog: catalog, logger: logger)
        indexer = DateIndexer(configuration: database, client: client, logger: logger)
        indexBuilder =
            configuration.indexAdvice == .build
            ? AdvisedIndexBuilder(
                configuration: database, client: client, mostPerClass: configuration.maximumAdvisedIndexes,
                logger: logger) : nil
        let store = ObjectStore(client: client, replicas: replicas, catalog: catalog, logger: logger)
        probes.append(DatabaseWritesProbe(trouble: store.trouble))
        let caller = caller
        let adapter: MailAdapterCall?
        if let nodeHost {
            adapter = { (mail: JSONObject) async throws in try await nodeHost.sendByAdapter(mail) }
        } else {
            adapter = nil
        }
        mailQueue = try configuration.accountMail.delivery.map {
            try MailQueue($0, configuration, caller: caller, adapter: adapter, meters: meters.mails, logger: logger)
        }
        if additions.mailer == nil { additions.mailer = mailQueue }
        if let push = configuration.push {
            let services = try PushServices(push, outgoing: configuration.outgoing, logger: logger)
            pushQueue = PushQueue(push, services: services, logger: logger)
        } else {
            pushQueue = nil
        }
        if additions.pusher == nil { additions.pusher = pushQueue }
        let storage =
            try extensions.files
            ?? FileStoreFactory.storage(
                configuration, folder: filesDirectory, database: connectionString, meters: meters.files, logger: logger)
        files = Deployment.files(storage, configuration)
        folder = storage as? DiskStorage
        probes += FileStoreProbe.all(of: files, configuration)
        let changes = configuration.liveQuery.isNeeded ? ChangeFeed(configuration.liveQuery, logger: logger) : nil
        if let changes { additions.observers.append(changes) }
        backend = Backend(
            configuration: configuration, store: store, files: files,
            passwords: Passwords(
                cost: passwordCost, threads: configuration.passwordHashingThreads,
                capacity: configuration.passwordHashingQueue, durations: meters.passwordHashes), logger: logger,
            log: log,
            extensions: additions, meters: meters)
        cloud.attach(try WebhookHost(configuration, backend: backend, logger: logger))
        monitoring = Monitoring(configuration.metrics, probes, logger: logger)
        let routes = ParseRoutes(backend: backend, cloud: cloud, logger: logger)
        cloud.serve(try InternalDispatcher(routes))
        var limits = HTTPServer.Limits()
        limits.connections = DescriptorLimit.connections(
            wanted: configuration.maximumConnections,
            database: database.mostConnections * (1 + clients.count))
        limits.body = configuration.maxUploadSize
        limits.transferMemory = configuration.transferMemory
        limits.drain = .seconds(configuration.drainTime)
        monitoringRoutes = monitoring.routes()
        let audit = try KeyAudit(routes)
        let fileRoutes = FileRoutes(beside: routes, audit: audit)
        // Who develops on this machine sees requests without setting up metrics.
        let countsRequests = configuration.metrics.isOn || configuration.console.signIn == .thisMachine
        figures =
            configuration.console.reach == .closed || configuration.readOnly
            ? nil : FigureHistory(meters, countsRequests: countsRequests)
        if let figures {
            console = try ConsoleSite(
                backend, ConsoleDispatcher(routes, files: fileRoutes), figures: figures,
                readiness: { [monitoringRoutes] in await monitoringRoutes.findings(showsReasons: true) },
                backups: extensions.backups, version: Version.text, logger: logger)
        } else {
            console = nil
        }
        let app: AppProxy? =
            if let nodeHost, configuration.cloudMain.servesRoutes {
                try AppProxy(configuration) { await nodeHost.appSocket(within: $0) }
            } else {
                nil
            }
        let dispatcher = try Dispatcher(
            configuration, handler: routes, files: fileRoutes, pages: PageRoutes(beside: routes),
            monitoring: monitoringRoutes, console: console, app: app, audit: audit, logger: logger)
        if let changes {
            liveQueries = try LiveQueryServer(
                backend, changes, address: { dispatcher.address(of: $0) },
                mountURL: { dispatcher.mountURL(of: $0) }, logger: logger)
        } else {
            liveQueries = nil
        }
        if let liveQueries {
            console?.show(
                live: { await liveQueries.overview() },
                events: {
                    try await liveQueries.events($0, followedAs: $1, mountURL: $2, address: $3, wait: $4)
                })
        }
        var transport = extensions.http
        if transport.webSockets == nil { transport.webSockets = liveQueries }
        if countsRequests { transport.meters = meters.requests }
        traces = try TraceExport(configuration, logger: logger)
        transport.tracer = traces?.tracer
        transport.slowRequest = .milliseconds(configuration.slowRequest)
        certificate = try configuration.https.map {
            try ServerCertificate(certificateFile: $0.certificate, keyFile: $0.key)
        }
        http = HTTPServer(
            host: configuration.host, port: configuration.port, handler: dispatcher,
            crossOrigin: CrossOrigin(origins: configuration.allowOrigin, extraHeaders: configuration.allowHeaders),
            certificate: certificate, limits: limits, additions: transport, logger: logger)
        let page = MetricsPage(
            meters: meters, http: http, client: client, replicas: clients, backend: backend,
            liveQueries: liveQueries, readiness: monitoring.readiness, eventLoops: monitoring.eventLoops,
            preset: configuration.preset, certificate: certificate, spans: traces?.exporter.outcomes)
        monitoring.show(page)
        figures?.show { page.gauges }
    }

    /// What `pg_stat_activity` shows of this process: PostgreSQL keeps 63 bytes.
    private static var applicationName: String {
        let host = ProcessInfo.processInfo.hostName.prefix { $0 != "." }
        return String("roost/\(Version.text) \(host):\(ProcessInfo.processInfo.processIdentifier)".prefix(63))
    }

    /// The port that the server listens on, once it does.
    public var boundPort: Int {
        get async throws { try await http.boundPort }
    }

    /// Whether all event loops turn.
    var isLive: Bool { monitoring.eventLoops.isLive }

    /// The port of `/metrics`, `/live` and `/ready`, once the server is being prepared; nil where there is none.
    public var monitoringPort: Int? {
        get async throws { try await monitoring.boundPort }
    }

    /// The console's address on this machine once the server listens, or nil without a console.
    ///
    /// - Parameter hasTicket: Whether the address contains a ticket that signs in.
    package func consoleAddress(hasTicket: Bool) async throws -> String? {
        guard let console else { return nil }
        _ = try await boundPort
        return console.address(hasTicket: hasTicket)
    }

    /// Opens the database, installs what it lacks, and makes the classes that the configuration names.
    ///
    /// - Throws: `PostgresError` when the database cannot be reached, `UnknownDefinitions` for a name of none,
    ///   `DeclaredSchemas.Failure` when classes that must be as declared cannot be.
    public func prepare() async throws {
        do {
            try await monitoring.start(monitoringRoutes)
            try await prepareAll()
        } catch {
            await stopParts()
            throw error
        }
    }

    private func prepareAll() async throws {
        if let warning = certificate?.warning { logger.warning("\(warning)") }
        try await client.start(within: .milliseconds(configuration.connectionTimeout), logger)
        if configuration.readOnly { try await backend.catalog.reload() } else { try await install() }
        await replicas?.start()
        do {
            try await files.prepare()
        } catch let error as CocoaError {
            throw CommandFailure(
                "The files folder \(error.filePath ?? "") can't be created: \(ErrorText.reason(error)). Set filesDirectory to "
                    + "a folder that this user may write to.")
        }
        await announceFolder()
        try await cloud.start()
        if !backend.jobs.names.isEmpty, !configuration.readOnly { try await backend.jobRunner?.prepare() }
        if configuration.security.enableCheckLog, let report = backend.securityReport.make() {
            logger.notice("security report", metadata: ["report": "\(JSONValue.object(report).text)"])
        }
    }

    /// Has other processes know where this one keeps files, where that is a folder.
    private func announceFolder() async {
        guard let folder else { return }
        do {
            backend.caches.begin(filesIn: try await folder.mark())
        } catch {
            logger.warning("the files folder has no marker file", metadata: ["error": "\(error)"])
        }
    }

    /// Makes what the database lacks.
    private func install() async throws {
        try await installer.install()
        await installer.indexLogins(of: configuration.auth.keys.filter { $0 != "anonymous" })
        if let name = configuration.classDefinitions {
            guard let definitions = Schema.classDefinitions(name) else { throw UnknownDefinitions(name: name) }
            try await installer.define(definitions)
        }
        let declared = DeclaredSchemas(configuration, client: client, catalog: backend.catalog, logger: logger)
        try await declared?.apply()
        if mailQueue != nil { try await backend.store.mails.prepare() }
        if pushQueue != nil { try await backend.store.pushes.prepare() }
        await backend.triggers.prepareChanges()
        // Cloud code may declare limits later.
        if configuration.rateLimitStore == .database { try await backend.store.requests.prepareCounts() }
    }

    /// Serves until the service is shut down; requests under way are finished.
    public func run() async throws {
        defer { figures?.show(nil) }
        let writes = !configuration.readOnly
        let tasks = writes ? BackgroundTasks(backend, mails: mailQueue, pushes: pushQueue) : nil
        defer { tasks?.cancel() }
        // Requests are served meanwhile: an index only makes them faster.
        async let _ = writes ? indexer.run() : ()
        async let _ = writes ? indexBuilder?.run() : nil
        async let _ = writes ? backend.sweeps.run() : ()
        async let _ = replicas?.run()
        async let _ = files.tend()
        async let _ = announceAddress()
        async let _ = liveQueries?.run()
        async let _ = figures?.run()
        traces?.start()
        try await withGracefulShutdownHandler {
            try await serve(beside: tasks)
        } onGracefulShutdown: {
            monitoring.readiness.enter(.draining)
        }
    }

    /// Serves until shutdown and then stops the parts, even if listening on the port fails.
    private func serve(beside tasks: BackgroundTasks?) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await backend.caches.follow() }
            // The console refuses requests for another port than that of its server.
            group.addTask { try await listen() }
            // Following ends only with the server, so the first end is that of the server.
            let end = await group.nextResult()
            await stopParts(tasks)
            group.cancelAll()
            try end?.get()
        }
    }

    /// Stops the parts in order. Cancelling the caller doesn't interrupt this.
    private func stopParts(_ tasks: BackgroundTasks? = nil) async {
        await Task {
            await tasks?.end()
            await backend.jobRunner?.stop()
            await cloud.shutdown()
            await caller?.shutdown()
            await files.shutdown()
            await traces?.stop()
            await monitoring.stop()
            await client.shutdown()
            await replicas?.shutdown()
        }.value
    }

    private func listen() async throws {
        do {
            try await http.run { console?.serve(at: $0) }
        } catch let error where !(error is CancellationError) {
            throw ListenFailure(error, host: configuration.host, port: configuration.port, option: "port")
        }
    }

    /// Cloud code uploads files by HTTP, as soon as there is a port. With TLS it does so at an address that the
    /// certificate can name.
    private func announceAddress() async {
        guard let port = try? await http.boundPort else { return }
        monitoring.readiness.enter(.serving)
        guard let nodeHost else { return }
        nodeHost.serve(at: Deployment.ownAddress(configuration, port: port))
    }
}

extension RoostServer: CustomStringConvertible {
    /// Nothing of what the server is made of: groups of services log their members, and the keys are among that.
    public var description: String { "RoostServer" }
}
