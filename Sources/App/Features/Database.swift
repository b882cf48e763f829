import Logging
import NIOCore
import Operations
import ParseStorage
import Platform
import Postgres
import Schema
import ServerConfiguration
import Telemetry

/// The clients of the database and its replicas, not yet connected.
struct Database {
    let settings: PostgresConfiguration
    let client: PostgresClient
    /// The clients of the database and its replicas, with their names in metrics.
    let servers: [(name: String, client: PostgresClient)]
    let replicas: ReplicaSet?
    let store: ObjectStore
    let probes: [any ReadinessProbe]

    init(_ configuration: Configuration, connectionString: String, logger: Logger) {
        let settings = Self.settings(configuration, connectionString: connectionString)
        self.settings = settings
        client = PostgresClient(configuration: settings, logger: logger)
        let replicaSettings = configuration.replicas.map { uri in
            var replica = settings
            replica.connectionString = Self.inSchema(uri, configuration)
            return replica
        }
        let names = replicaSettings.indices.map { replicaSettings.count == 1 ? "replica" : "replica\($0 + 1)" }
        let replicaClients = replicaSettings.map { replica in
            var replica = replica
            replica.directConnectionString = nil
            replica.onlyReads = true
            // Reads that prefer a replica fall back to the primary, so they must not wait for long.
            replica.connectTimeout = .seconds(2)
            replica.connectionWait = min(replica.connectionWait, .seconds(2))
            replica.failsWhenRefused = true
            return PostgresClient(configuration: replica, logger: logger)
        }
        servers = [(name: "primary", client: client)] + zip(names, replicaClients).map { (name: $0, client: $1) }
        replicas =
            replicaClients.isEmpty
            ? nil : ReplicaSet(replicaClients, of: client, maxLag: configuration.maxReplicaLag, logger: logger)
        let catalog = SchemaCatalog(
            client: client, senderId: Identifiers.hexadecimal(32), refusesMixedMembership: configuration.preset >= 9,
            findNotes: configuration.indexAdvice == .off || configuration.readOnly ? nil : FindNotes(),
            distribution: configuration.distribution.map { Distribution($0) }, logger: logger)
        store = ObjectStore(client: client, replicas: replicas, catalog: catalog, logger: logger)
        let replicaProbes: [any ReadinessProbe] = zip(names, replicaSettings).map {
            DatabaseProbe($0, isNeeded: false, maxLag: configuration.maxReplicaLag, $1, logger: logger)
        }
        probes =
            [DatabaseProbe("database", isNeeded: true, settings, logger: logger)] + replicaProbes
            + [DatabaseWritesProbe(trouble: store.trouble)]
    }

    /// The maximum number of connections to the database and its replicas.
    var maxConnections: Int { settings.maxConnections * servers.count }

    private static func inSchema(_ text: String, _ configuration: Configuration) -> String {
        PostgresConfiguration.connectionString(text, schema: configuration.databaseSchema)
    }

    private static func settings(_ configuration: Configuration, connectionString: String) -> PostgresConfiguration {
        var settings = PostgresConfiguration(connectionString: inSchema(connectionString, configuration))
        settings.statementTimeout = .milliseconds(configuration.statementTimeout)
        // At least two: creating declared classes holds a lock on one connection while another makes the changes.
        settings.exclusiveConnections = max(2, configuration.databaseOptions.poolSize)
        settings.sharedConnections =
            configuration.databaseOptions.sharedConnections ?? min(16, max(4, System.coreCount))
        // Half of the cores, because PostgreSQL often runs on the same machine.
        settings.heavyConnections = configuration.databaseOptions.heavyStatements ?? max(1, System.coreCount / 2)
        // Rows take more memory while they arrive than in the response.
        settings.resultLimit = max(32 * 1024 * 1024, 4 * configuration.maxResponseSize)
        let pooler = configuration.databaseOptions.transactionPooler
        settings.isBehindTransactionPooler = pooler != .none
        settings.poolerKeepsStatements = pooler == .prepared
        if configuration.databaseURI != nil {
            settings.directConnectionString = configuration.directDatabaseURI.map {
                inSchema($0, configuration)
            }
        }
        // Without sessions, each lock of the process occupies a connection in addition to the one that does the work.
        if !settings.hasSessions { settings.exclusiveConnections = max(16, settings.exclusiveConnections) }
        settings.lockTimeout = .milliseconds(configuration.lockTimeout)
        settings.transactionTimeout = .milliseconds(configuration.transactionTimeout)
        settings.connectionWait = .milliseconds(configuration.connectionTimeout)
        settings.applicationName = applicationName
        settings.onlyReads = configuration.readOnly
        settings.changesInBlocks = configuration.distribution != nil
        // The embedded PostgreSQL has no standby that could be promoted.
        settings.checksTimeline = configuration.databaseURI != nil
        return settings
    }

    /// The name in `pg_stat_activity`, limited to 63 bytes by PostgreSQL.
    private static var applicationName: String {
        let host = ProcessInfo.processInfo.hostName.prefix { $0 != "." }
        return String("roost/\(Version.text) \(host):\(ProcessInfo.processInfo.processIdentifier)".prefix(63))
    }
}

/// Connects to the database, creates tables and maintains them.
struct DatabaseFeature: Feature {
    let configuration: Configuration
    let database: Database
    let backend: Backend
    let logger: Logger

    func prepare() async throws {
        try await start(database.client)
        if configuration.readOnly { try await load() } else { try await install() }
        try await backend.options.load()
        await database.replicas?.start()
    }

    private func start(_ client: PostgresClient) async throws {
        try await client.start(within: .milliseconds(configuration.connectionTimeout), logger)
    }

    /// Loads the classes of a database that another server has prepared.
    private func load() async throws {
        do {
            try await backend.catalog.reload()
        } catch let error as PostgresError where error.sqlState == "42P01" {
            let (place, option) =
                configuration.databaseSchema.map { ("database schema \($0)", "databaseSchema") }
                ?? ("database", "databaseURI")
            throw CommandFailure(
                "The \(place) isn't prepared: it has no table _SCHEMA, and a server with readOnly creates no tables. Start "
                    + "roost serve once without readOnly, on the primary if this is a standby, or correct \(option).")
        }
    }

    /// Creates missing tables and classes. All of them must exist before cloud code loads.
    private func install() async throws {
        if database.settings.directConnectionString != nil {
            // Connections for administration would retry a wrong password until their time limit.
            let isSame = try await DatabaseFailure.reporting(option: "directDatabaseURI") {
                try await PostgresClient.opened(
                    database.settings.forBuilding, logger: logger, start: start, database.client.sharesDatabase)
            }
            guard isSame else {
                throw CommandFailure("option directDatabaseURI: names another database than databaseURI")
            }
        }
        let installer = DatabaseInstaller(client: database.client, catalog: backend.catalog, logger: logger)
        try await installer.install()
        await installer.indexLogins(of: configuration.auth.keys.filter { $0 != "anonymous" })
        if let name = configuration.classDefinitions {
            guard let definitions = Schema.classDefinitions(name) else {
                throw RoostServer.UnknownDefinitions(name: name)
            }
            try await installer.define(definitions)
        }
        let declared = DeclaredSchemas(
            configuration, client: database.client, catalog: backend.catalog, logger: logger)
        try await declared?.apply()
        if configuration.accountMail.delivery != nil { try await backend.store.mails.prepare() }
        if configuration.push != nil { try await backend.pusher.prepare(backend.store) }
        await backend.triggers.prepareChanges()
        // Prepared even without configured limits, because cloud code may declare some later.
        if configuration.rateLimitStore == .database { try await backend.store.requests.prepareCounts() }
    }

    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await backend.caches.follow() }
            group.addTask { await database.replicas?.run() }
            guard !configuration.readOnly else { return }
            // In the background: indexes make requests faster but are not required.
            group.addTask {
                await DateIndexer(configuration: database.settings, client: database.client, logger: logger).run()
            }
            if configuration.indexAdvice == .build {
                group.addTask {
                    await AdvisedIndexBuilder(
                        configuration: database.settings, client: database.client,
                        maxPerClass: configuration.maximumAdvisedIndexes, logger: logger
                    ).run()
                }
            }
            group.addTask { await backend.indexAdvising.run() }
            group.addTask { await backend.sweeps.run() }
        }
    }

    func stop() async {
        await database.client.shutdown()
        await database.replicas?.shutdown()
    }
}

extension RoostServer {
    /// The error for an unknown name in the option `classDefinitions`.
    public struct UnknownDefinitions: Error, CustomStringConvertible {
        let name: String
        public var description: String { "option classDefinitions: there are no definitions named \(name)" }
    }
}
