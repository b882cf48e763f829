import CloudCode
import FileStorage
import Foundation
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

/// The whole server over one database: driver, storage, rules, routes and HTTP.
public struct RoostServer: Service {
    private let http: HTTPServer
    /// By what the server speaks TLS; nil for plain HTTP.
    public let certificate: ServerCertificate?
    private let client: PostgresClient
    private let replica: PostgresClient?
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
    private let files: any FileStorage
    private let monitoring: Monitoring
    /// Traces and their way to a collector; nil where nothing is traced.
    private let traces: TraceExport?
    private let monitoringRoutes: MonitoringRoutes
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
            || configuration.accountMail.delivery?.transport.isHTTP == true || configuration.push != nil
        caller = asksOthers ? try HTTPCaller(configuration.outgoing) : nil
        if let caller { additions.addProviders(SignInProviders.all(configuration, caller)) }
        let warnings = try additions.checkProviders(configuration)
        let meters = Meters(
            requests: RequestMeters(routes: MeasuredRoutes.rows, shards: System.coreCount),
            providers: configuration.auth.keys.map(\.text), limits: configuration.rateLimits.count)
        let log = LogRing(folder: configuration.logsFolder, meters: meters.logLines)
        let logger = log.recording(logger)
        self.logger = logger
        for warning in warnings { logger.warning("\(warning)") }
        cloud = CloudEngine(meters: meters.cloud, logger: logger)
        for host in extensions.cloudHosts { cloud.attach(host) }
        nodeHost = try NodeHost(configuration, sendMail: Self.codeMail(configuration, caller), logger: logger)
        if let nodeHost { cloud.attach(nodeHost) }
        if additions.triggers == nil { additions.triggers = cloud }
        if additions.jobs == nil { additions.jobs = cloud }
        var database = PostgresConfiguration(connectionString: connectionString)
        database.statementTimeout = .milliseconds(configuration.statementTimeout)
        // Declared classes are made under a lock that is a connection's, and so are the changes themselves.
        database.exclusiveConnections = max(2, configuration.databaseOptions.poolSize)
        database.sharedConnections =
            configuration.databaseOptions.sharedConnections ?? min(16, max(4, System.coreCount))
        // PostgreSQL often shares the processors.
        database.heavyConnections = configuration.databaseOptions.heavyStatements ?? max(1, System.coreCount / 2)
        // Rows take more while they come than the answer that is made of them.
        database.resultLimit = max(32 * 1024 * 1024, 4 * configuration.maxResponseSize)
        database.isBehindTransactionPooler = configuration.databaseOptions.transactionPooler
        // A lock of the process takes a connection beside the one that works.
        if database.isBehindTransactionPooler { database.exclusiveConnections = max(16, database.exclusiveConnections) }
        database.lockTimeout = .milliseconds(configuration.lockTimeout)
        database.transactionTimeout = .milliseconds(configuration.transactionTimeout)
        database.connectionWait = .milliseconds(configuration.connectionTimeout)
        database.applicationName = Self.applicationName
        client = PostgresClient(configuration: database, logger: logger)
        replica = configuration.readReplicaURI.map { uri in
            var database = database
            database.connectionString = uri
            // Who prefers the replica has the primary to turn to, and is not kept waiting for long.
            database.connectTimeout = .seconds(2)
            database.connectionWait = min(database.connectionWait, .seconds(2))
            return PostgresClient(configuration: database, logger: logger)
        }
        var probes: [any ReadinessProbe] = [
            DatabaseProbe("database", isNeeded: true, database, logger: logger)
        ]
        if let uri = configuration.readReplicaURI {
            var database = database
            database.connectionString = uri
            probes.append(DatabaseProbe("replica", isNeeded: false, database, logger: logger))
        }
        let catalog = SchemaCatalog(
            client: client, senderId: Identifiers.hexadecimal(32), refusesMixedMembership: configuration.preset >= 9,
            logger: logger)
        installer = DatabaseInstaller(client: client, catalog: catalog, logger: logger)
        indexer = DateIndexer(configuration: database, client: client, logger: logger)
        let store = ObjectStore(client: client, replica: replica, catalog: catalog, logger: logger)
        let caller = caller
        mailQueue = try configuration.accountMail.delivery.map {
            try MailQueue($0, configuration, caller: caller, meters: meters.mails, logger: logger)
        }
        if additions.mailer == nil { additions.mailer = mailQueue }
        if let push = configuration.push, let caller {
            pushQueue = PushQueue(
                push, services: try PushServices(push, caller: caller, logger: logger), logger: logger)
        } else {
            pushQueue = nil
        }
        if additions.pusher == nil { additions.pusher = pushQueue }
        let changes = configuration.liveQuery.isNeeded ? ChangeFeed(configuration.liveQuery, logger: logger) : nil
        if let changes { additions.observers.append(changes) }
        backend = Backend(
            configuration: configuration, store: store,
            passwords: Passwords(
                cost: passwordCost, threads: configuration.passwordHashingThreads,
                places: configuration.passwordHashingQueue, durations: meters.passwordHashes), logger: logger, log: log,
            extensions: additions, meters: meters)
        cloud.attach(try WebhookHost(configuration, backend: backend, logger: logger))
        let storage = extensions.files ?? DiskStorage(directory: filesDirectory)
        files = Deployment.files(storage, configuration)
        if let probe = files as? any ReadinessProbe { probes.append(probe) }
        monitoring = Monitoring(configuration.metrics, probes, logger: logger)
        let routes = ParseRoutes(backend: backend, cloud: cloud, logger: logger)
        cloud.serve(try InternalDispatcher(routes))
        var limits = HTTPServer.Limits()
        limits.connections = DescriptorLimit.connections(
            wanted: configuration.maximumConnections,
            database: (database.mostConnections) * (replica == nil ? 1 : 2))
        limits.transferMemory = configuration.transferMemory
        limits.drain = .seconds(configuration.drainTime)
        monitoringRoutes = monitoring.routes()
        let dispatcher = try Dispatcher(
            configuration, handler: routes,
            files: FileRoutes(storage: files, resolver: routes, configuration: configuration, logger: logger),
            pages: PageRoutes(beside: routes), monitoring: monitoringRoutes, logger: logger)
        if let changes {
            liveQueries = try LiveQueryServer(
                backend, changes, address: { dispatcher.address(of: $0) },
                mountURL: { dispatcher.mountURL(of: $0) }, logger: logger)
        } else {
            liveQueries = nil
        }
        var transport = extensions.http
        if transport.webSockets == nil { transport.webSockets = liveQueries }
        if configuration.metrics.isOn { transport.meters = meters.requests }
        traces = try TraceExport(configuration, logger: logger)
        transport.tracing = traces?.tracing
        transport.slowRequest = .milliseconds(configuration.slowRequest)
        certificate = try configuration.https.map {
            try ServerCertificate(certificateFile: $0.certificate, keyFile: $0.key)
        }
        http = HTTPServer(
            host: configuration.host, port: configuration.port, handler: dispatcher,
            crossOrigin: CrossOrigin(origins: configuration.allowOrigin, extraHeaders: configuration.allowHeaders),
            maximumBodySize: configuration.maxUploadSize, certificate: certificate, limits: limits,
            additions: transport, logger: logger)
        monitoring.show(
            MetricsPage(
                meters: meters, http: http, client: client, replica: replica, backend: backend,
                liveQueries: liveQueries, readiness: monitoring.readiness, eventLoops: monitoring.eventLoops,
                preset: configuration.preset, certificate: certificate, spans: traces?.exporter.outcomes))
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

    /// The port of `/metrics`, `/live` and `/ready`, once the server is being prepared; nil where there is none.
    public var monitoringPort: Int? {
        get async throws { try await monitoring.boundPort }
    }

    /// Opens the database, installs what it lacks, and makes the classes that the configuration names.
    ///
    /// - Throws: `PostgresError` when the database cannot be reached, `UnknownDefinitions` for a name of none,
    ///   `DeclaredSchemas.Failure` when classes that must be as declared cannot be.
    public func prepare() async throws {
        try await monitoring.start(monitoringRoutes)
        do {
            try await prepareAll()
        } catch {
            await monitoring.stop()
            throw error
        }
    }

    private func prepareAll() async throws {
        if let warning = certificate?.warning { logger.warning("\(warning)") }
        try await client.start()
        try await installer.install()
        await installer.indexLogins(of: configuration.auth.keys.filter { $0 != "anonymous" })
        if let name = configuration.classDefinitions {
            guard let definitions = Schema.classDefinitions(name) else { throw UnknownDefinitions(name: name) }
            try await installer.define(definitions)
        }
        await connectReplica()
        let declared = DeclaredSchemas(configuration, client: client, catalog: backend.catalog, logger: logger)
        try await declared?.apply()
        try await files.prepare()
        if mailQueue != nil { try await backend.store.mails.prepare() }
        if pushQueue != nil { try await backend.store.preparePushes() }
        await backend.triggers.prepareChanges()
        // Cloud code may declare limits later.
        if configuration.rateLimitStore == .database { try await backend.store.requests.prepareCounts() }
        try await cloud.start()
        if !backend.jobs.names.isEmpty { try await backend.jobRunner?.prepare() }
        if configuration.security.enableCheckLog, let report = backend.securityReport.make() {
            logger.notice("security report", metadata: ["report": "\(JSONValue.object(report).text)"])
        }
    }

    /// A replica that is out of reach keeps the server from nothing: the client goes on trying to reach it.
    private func connectReplica() async {
        do {
            try await replica?.start()
        } catch {
            logger.warning("the read replica cannot be reached", metadata: ["error": "\(error)"])
        }
    }

    /// Serves until the service is shut down; requests under way are finished.
    public func run() async throws {
        defer {
            Task { [client, replica, monitoring] in
                await monitoring.stop()
                await client.shutdown()
                await replica?.shutdown()
            }
        }
        // Mails that were sent are noted as sent before the database is left.
        let mails = mailQueue.map { queue in Task { await queue.run(backend.store) } }
        defer { mails?.cancel() }
        let pushes = Task { await runPushes() }
        defer { pushes.cancel() }
        let jobs = Task { await runJobs() }
        defer { jobs.cancel() }
        // Requests are served meanwhile: an index only makes them faster.
        async let _ = indexer.run()
        async let _ = backend.sweeps.run()
        async let _ = announceAddress()
        async let _ = liveQueries?.run()
        traces?.start()
        try await withGracefulShutdownHandler {
            try await serve(mails, pushes, jobs)
        } onGracefulShutdown: {
            monitoring.readiness.enter(.draining)
        }
    }

    /// Serves until the end, and then ends the parts in their order.
    private func serve(
        _ mails: Task<Void, Never>?, _ pushes: Task<Void, Never>, _ jobs: Task<Void, Never>
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await backend.caches.follow() }
            group.addTask { try await http.run() }
            // Following ends only with the server, so the first end is that of the server.
            try await group.next()
            mails?.cancel()
            pushes.cancel()
            await mails?.value
            await pushes.value
            // Jobs that end with the server are marked before the database is left.
            jobs.cancel()
            await jobs.value
            await backend.jobRunner?.stop()
            await cloud.shutdown()
            await caller?.shutdown()
            await traces?.stop()
            await monitoring.stop()
            await client.shutdown()
            await replica?.shutdown()
            group.cancelAll()
        }
    }

    /// Sends pushes that wait, until the task is cancelled.
    private func runPushes() async {
        await pushQueue?.run(backend.store) { [backend] in
            try backend.pushes.filter($0, now: backend.clock.now)
        } noteChange: { [backend] in
            await backend.pushes.noteChange(of: $0)
        }
    }

    /// Looks after the jobs of this process, and starts those that are due, until the task is cancelled.
    private func runJobs() async {
        async let runs: Void? = backend.jobRunner?.run()
        await backend.jobs.followSchedules()
        _ = await runs
    }

    /// What sends the mails of cloud code; nil where the configuration says no way.
    private static func codeMail(_ configuration: Configuration, _ caller: HTTPCaller?) throws -> NodeHost.SendMail? {
        guard let delivery = configuration.accountMail.delivery else { return nil }
        let mail = try CloudMail(delivery, configuration, caller: caller)
        return { try await mail.send($0) }
    }

    /// Cloud code uploads files by HTTP, as soon as there is a port. With TLS it does so at an address that the
    /// certificate can name.
    private func announceAddress() async {
        guard let port = try? await http.boundPort else { return }
        monitoring.readiness.enter(.serving)
        guard let nodeHost else { return }
        if configuration.https != nil {
            return nodeHost.serve(at: configuration.publicServerURL ?? configuration.serverURL)
        }
        let host = ["0.0.0.0", "::", ""].contains(configuration.host) ? "127.0.0.1" : configuration.host
        let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        nodeHost.serve(at: "http://\(name):\(port)\(configuration.mount)")
    }

    /// Class definitions that the binary does not have.
    public struct UnknownDefinitions: Error, CustomStringConvertible {
        let name: String
        /// The message for the operator.
        public var description: String { "option classDefinitions: there are no definitions named \(name)" }
    }
}

extension RoostServer: CustomStringConvertible {
    /// Nothing of what the server is made of: groups of services log their members, and the keys are among that.
    public var description: String { "RoostServer" }
}
