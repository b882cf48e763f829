import Logging
import NIOCore
import Operations
import ParseStorage
import Postgres
import Schema
import ServerConfiguration
import Telemetry

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The database and its replicas as the configuration describes them. Nothing is connected yet.
struct Database {
    let settings: PostgresConfiguration
    let client: PostgresClient
    let replicaClients: [PostgresClient]
    /// The replicas, or nil if there are none.
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
        replicaClients = replicaSettings.map { replica in
            var replica = replica
            replica.directConnectionString = nil
            replica.onlyReads = true
            // Who prefers a replica has the primary to turn to, and is not kept waiting for long.
            replica.connectTimeout = .seconds(2)
            replica.connectionWait = min(replica.connectionWait, .seconds(2))
            replica.failsWhenRefused = true
            return PostgresClient(configuration: replica, logger: logger)
        }
        replicas =
            replicaClients.isEmpty
            ? nil : ReplicaSet(replicaClients, of: client, maxLag: configuration.maxReplicaLag, logger: logger)
        let catalog = SchemaCatalog(
            client: client, senderId: Identifiers.hexadecimal(32), refusesMixedMembership: configuration.preset >= 9,
            findNotes: configuration.indexAdvice == .off || configuration.readOnly ? nil : FindNotes(),
            distribution: configuration.distribution.map { Distribution($0) }, logger: logger)
        store = ObjectStore(client: client, replicas: replicas, catalog: catalog, logger: logger)
        let replicaProbes: [any ReadinessProbe] = replicaSettings.enumerated().map { index, replica in
            DatabaseProbe(
                MetricsPage.name(ofReplica: index, of: replicaSettings.count), isNeeded: false,
                mostLag: configuration.maxReplicaLag, replica, logger: logger)
        }
        probes =
            [DatabaseProbe("database", isNeeded: true, settings, logger: logger)] + replicaProbes
            + [DatabaseWritesProbe(trouble: store.trouble)]
    }

    /// The most connections to the database and its replicas together.
    var mostConnections: Int { settings.mostConnections * (1 + replicaClients.count) }

    private static func inSchema(_ text: String, _ configuration: Configuration) -> String {
        PostgresConfiguration.connectionString(text, schema: configuration.databaseSchema)
    }

    private static func settings(_ configuration: Configuration, connectionString: String) -> PostgresConfiguration {
        var settings = PostgresConfiguration(connectionString: inSchema(connectionString, configuration))
        settings.statementTimeout = .milliseconds(configuration.statementTimeout)
        // Declared classes are made under a lock that is a connection's, and so are the changes themselves.
        settings.exclusiveConnections = max(2, configuration.databaseOptions.poolSize)
        settings.sharedConnections =
            configuration.databaseOptions.sharedConnections ?? min(16, max(4, System.coreCount))
        // PostgreSQL often shares the processors.
        settings.heavyConnections = configuration.databaseOptions.heavyStatements ?? max(1, System.coreCount / 2)
        // Rows take more while they come than the answer that is made of them.
        settings.resultLimit = max(32 * 1024 * 1024, 4 * configuration.maxResponseSize)
        let pooler = configuration.databaseOptions.transactionPooler
        settings.isBehindTransactionPooler = pooler != .none
        settings.poolerKeepsStatements = pooler == .prepared
        if configuration.databaseURI != nil {
            settings.directConnectionString = configuration.directDatabaseURI.map {
                inSchema($0, configuration)
            }
        }
        // A lock of the process takes a connection beside the one that works.
        if !settings.hasSessions { settings.exclusiveConnections = max(16, settings.exclusiveConnections) }
        settings.lockTimeout = .milliseconds(configuration.lockTimeout)
        settings.transactionTimeout = .milliseconds(configuration.transactionTimeout)
        settings.connectionWait = .milliseconds(configuration.connectionTimeout)
        settings.applicationName = applicationName
        settings.onlyReads = configuration.readOnly
        settings.changesInBlocks = configuration.distribution != nil
        // The private PostgreSQL has no other server that could take its place.
        settings.checksTimeline = configuration.databaseURI != nil
        return settings
    }

    /// The name in `pg_stat_activity`: PostgreSQL keeps 63 bytes.
    private static var applicationName: String {
        let host = ProcessInfo.processInfo.hostName.prefix { $0 != "." }
        return String("roost/\(Version.text) \(host):\(ProcessInfo.processInfo.processIdentifier)".prefix(63))
    }
}

/// The connections to the database and its replicas, the tables, and their upkeep.
struct DatabaseFeature: Feature {
    let configuration: Configuration
    let database: Database
    let backend: Backend
    let logger: Logger

    func prepare() async throws {
        try await database.client.start(within: .milliseconds(configuration.connectionTimeout), logger)
        if configuration.readOnly { try await backend.catalog.reload() } else { try await install() }
        await database.replicas?.start()
    }

    /// Makes what the database lacks. Cloud code may use all tables while it loads.
    private func install() async throws {
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
        if configuration.push != nil { try await backend.store.pushes.prepare() }
        await backend.triggers.prepareChanges()
        // Cloud code may declare limits later.
        if configuration.rateLimitStore == .database { try await backend.store.requests.prepareCounts() }
    }

    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await backend.caches.follow() }
            group.addTask { await database.replicas?.run() }
            guard !configuration.readOnly else { return }
            // Requests are served meanwhile: an index only makes them faster.
            group.addTask {
                await DateIndexer(configuration: database.settings, client: database.client, logger: logger).run()
            }
            if configuration.indexAdvice == .build {
                group.addTask {
                    await AdvisedIndexBuilder(
                        configuration: database.settings, client: database.client,
                        mostPerClass: configuration.maximumAdvisedIndexes, logger: logger
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
    /// Class definitions that the binary does not have.
    public struct UnknownDefinitions: Error, CustomStringConvertible {
        let name: String
        /// The message for the operator.
        public var description: String { "option classDefinitions: there are no definitions named \(name)" }
    }
}
