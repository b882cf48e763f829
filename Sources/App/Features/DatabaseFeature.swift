import Logging
import Operations
import ParseStorage
import Schema
import ServerConfiguration

/// The connection to the database, its tables, and their upkeep.
struct DatabaseFeature: Feature {
    let configuration: Configuration
    let database: Database
    let backend: Backend
    let logger: Logger

    func prepare() async throws {
        try await database.client.start(within: .milliseconds(configuration.connectionTimeout), logger)
        if configuration.readOnly { try await backend.catalog.reload() } else { try await install() }
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

    func stop() async { await database.client.shutdown() }
}

extension RoostServer {
    /// Class definitions that the binary does not have.
    public struct UnknownDefinitions: Error, CustomStringConvertible {
        let name: String
        /// The message for the operator.
        public var description: String { "option classDefinitions: there are no definitions named \(name)" }
    }
}
