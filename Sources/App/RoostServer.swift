import CloudCode
import FileStorage
import FileStores
public import HTTP
import JSON
import Limits
import LiveQuery
public import Logging
import Mail
import NIOCore
import Operations
import Outgoing
import Postgres
internal import Push
import REST
public import ServerConfiguration
public import ServiceLifecycle
import SignIn
import Telemetry

/// The complete server of an app: database, storage, rules, routes and HTTP.
public struct RoostServer: Service {
    private let http: HTTPServer
    /// The TLS certificate, or nil for plain HTTP.
    public let certificate: ServerCertificate?
    private let backend: Backend
    private let monitoring: Monitoring
    /// All parts except HTTP in start order. They stop in reverse order.
    private let features: [any Feature]
    private let configuration: Configuration
    private let logger: Logger

    /// Creates the server without opening connections.
    ///
    /// - Parameters:
    ///   - connectionString: The database address in libpq's format.
    ///   - filesDirectory: The folder of uploaded files.
    ///   - passwordCost: The bcrypt cost of new password hashes. Values below 10 are for tests only.
    ///   - extensions: Additions to the server, and replacements for its parts.
    /// - Throws: Errors of the configuration, such as `ConfigurationError` for an unknown login provider and
    ///   `ServerCertificate.Unusable` for invalid files in `https`.
    public init(
        configuration: Configuration, connectionString: String, filesDirectory: String, passwordCost: Int = 10,
        extensions: ServerExtensions = ServerExtensions(), logger: Logger
    ) throws {
        self.configuration = configuration
        var additions = extensions.backend
        let asksOthers =
            configuration.auth.keys.contains { $0 != "anonymous" }
            || configuration.accountMail.delivery?.transport.isHTTP == true
        let caller = asksOthers ? try HTTPCaller(configuration.outgoing) : nil
        if let caller { additions.addProviders(SignInProviders.all(configuration, caller)) }
        let meters = Meters(
            requests: RequestMeters(routes: MeasuredRoutes.rows, shards: System.coreCount),
            providers: configuration.auth.keys.map(\.text), limits: configuration.rateLimits.count)
        let log = LogRing(meters: meters.logLines)
        let logger = log.recording(logger)
        self.logger = logger
        let writer = try configuration.accountMail.delivery.map { try MailWriter($0, configuration) }
        let cloud = try CloudFeature(
            configuration, hosts: extensions.cloudHosts, mails: writer, caller: caller, meters: meters.cloud,
            &additions, logger: logger)
        for warning in try additions.checkProviders(configuration) { logger.warning("\(warning)") }
        let database = Database(configuration, connectionString: connectionString, logger: logger)
        let mails = try writer.map {
            try MailQueue(
                configuration, $0, caller: caller, adapter: cloud.mailAdapter, meters: meters.mails, logger: logger)
        }
        if additions.mailer == nil { additions.mailer = mails }
        let pushes = try configuration.push.map {
            let services = try PushServices($0, outgoing: configuration.outgoing, logger: logger)
            return PushQueue($0, services: services, logger: logger)
        }
        if additions.pusher == nil { additions.pusher = Pushes(queue: pushes) }
        let storage =
            try extensions.files
            ?? FileStoreFactory.storage(
                configuration, folder: filesDirectory, database: connectionString, meters: meters.files, logger: logger)
        let files = Deployment.files(storage, configuration)
        let changes = configuration.liveQuery.isNeeded ? ChangeFeed(configuration.liveQuery, logger: logger) : nil
        if let changes { additions.observers.append(changes) }
        let backend = Backend(
            configuration: configuration, store: database.store, files: files,
            passwords: Passwords(
                cost: passwordCost, threads: configuration.passwordHashingThreads,
                capacity: configuration.passwordHashingQueue, durations: meters.passwordHashes), logger: logger,
            log: log,
            extensions: additions, meters: meters)
        self.backend = backend
        monitoring = Monitoring(
            configuration.metrics, database.probes + FileStoreProbe.all(of: files, configuration), logger: logger)
        let routes = ParseRoutes(backend: backend, cloud: cloud.engine, logger: logger)
        try cloud.connect(routes)
        let monitoringRoutes = monitoring.routes()
        let audit = try KeyAudit(routes)
        let fileRoutes = FileRoutes(beside: routes, audit: audit)
        // During development, the console's charts show requests even if no metrics are configured.
        let countsRequests = configuration.metrics.isOn || configuration.console.signIn == .thisMachine
        let console = try ConsoleFeature(
            routes, files: fileRoutes, monitoring: monitoringRoutes, countsRequests: countsRequests,
            deployment: extensions.deployment, filesFolder: (storage as? DiskStorage)?.directory, logger: logger)
        let dispatcher = try Dispatcher(
            configuration, handler: routes, files: fileRoutes, pages: PageRoutes(beside: routes),
            monitoring: monitoringRoutes, site: console?.site, app: cloud.proxy(), audit: audit, logger: logger)
        let liveQueries = try changes.map {
            try LiveQueryServer(
                backend, $0, address: { dispatcher.address(of: $0) }, mountURL: { dispatcher.mountURL(of: $0) },
                logger: logger)
        }
        let traces = try TraceExport(configuration, logger: logger)
        var transport = extensions.http
        if transport.webSockets == nil { transport.webSockets = liveQueries }
        if countsRequests { transport.meters = meters.requests }
        transport.tracer = traces?.tracer
        transport.slowRequest = .milliseconds(configuration.slowRequest)
        certificate = try configuration.https.map {
            try ServerCertificate(certificateFile: $0.certificate, keyFile: $0.key)
        }
        http = HTTPServer(
            host: configuration.host, port: configuration.port, handler: dispatcher,
            crossOrigin: CrossOrigin(origins: configuration.allowOrigin, extraHeaders: configuration.allowHeaders),
            certificate: certificate, limits: Self.limits(configuration, database), additions: transport,
            logger: logger)
        let page = MetricsPage(
            http: http, database: database, backend: backend, liveQueries: liveQueries,
            readiness: monitoring.readiness, eventLoops: monitoring.eventLoops, certificate: certificate,
            spans: traces?.exporter.outcomes)
        monitoring.show(page)
        console?.show(liveQueries, page)
        let parts: [(any Feature)?] = [
            MonitoringFeature(monitoring: monitoring, routes: monitoringRoutes),
            DatabaseFeature(configuration: configuration, database: database, backend: backend, logger: logger),
            traces, FileFeature(files: files, folder: storage as? DiskStorage, backend: backend, logger: logger),
            console, liveQueries, caller, cloud, JobFeature(backend: backend),
            QueueFeature(mails: mails, pushes: pushes, backend: backend),
        ]
        features = parts.compactMap { $0 }
    }

    private static func limits(_ configuration: Configuration, _ database: Database) -> HTTPServer.Limits {
        var limits = HTTPServer.Limits()
        limits.connections = DescriptorLimit.connections(
            wanted: configuration.maximumConnections, database: database.maxConnections)
        limits.body = configuration.maxUploadSize
        limits.transferMemory = configuration.transferMemory
        limits.drain = .seconds(configuration.drainTime)
        return limits
    }

    /// The port that the server listens on. Reading it waits until the server listens.
    public var boundPort: Int {
        get async throws { try await http.boundPort }
    }

    /// Whether all event loops run.
    var isLive: Bool { monitoring.eventLoops.isLive }

    /// Returns the features' lines for the banner, once the server listens.
    ///
    /// - Parameter showsSecrets: Whether the lines may contain secrets, such as a ticket that signs in.
    func bannerLines(showsSecrets: Bool) -> [(name: String, value: String)] {
        features.flatMap { $0.bannerLines(showsSecrets: showsSecrets) }
    }

    /// Connects to the database, creates missing tables and the configured classes, and loads cloud code.
    ///
    /// - Throws: The error that prevents the server from starting, such as `PostgresError` if the database is
    ///   unavailable, `UnknownDefinitions`, or `DeclaredSchemas.Failure`.
    public func prepare() async throws {
        if let warning = certificate?.warning { logger.warning("\(warning)") }
        do {
            for feature in features { try await feature.prepare() }
            // Some steps finish even if they are cancelled.
            try Task.checkCancellation()
        } catch {
            await stop(features.map { ($0, nil) })
            throw error
        }
        if configuration.security.enableCheckLog, let report = backend.securityReport.make() {
            logger.notice("security report", metadata: ["report": "\(JSONValue.object(report).text)"])
        }
    }

    /// Serves requests until the service is shut down. Requests in progress can complete within a time limit.
    public func run() async throws {
        let running: [Running] = features.map { feature in (feature, Task { await feature.run() }) }
        try await withGracefulShutdownHandler {
            try await withCleanup {
                try await listen()
            } cleanUp: {
                await stop(running)
            }
        } onGracefulShutdown: {
            monitoring.readiness.enter(.draining)
        }
    }

    private typealias Running = (feature: any Feature, work: Task<Void, Never>?)

    /// Stops the features in reverse order. Cancelling the caller doesn't interrupt this.
    private func stop(_ running: [Running]) async {
        await Task {
            for (feature, work) in running.reversed() {
                work?.cancel()
                await work?.value
                await feature.stop()
            }
        }.value
    }

    private func listen() async throws {
        do {
            // The port is known before the first request: the console rejects requests for any other port.
            try await http.run { port in for feature in features { feature.listening(on: port) } }
        } catch let error where !(error is CancellationError) {
            throw ListenFailure(error, host: configuration.host, port: configuration.port, option: "port")
        }
    }
}

extension RoostServer: CustomStringConvertible {
    /// Only the name, because service groups log their members, and a default description would contain keys.
    public var description: String { "RoostServer" }
}
