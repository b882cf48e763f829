import JSON
import Logging
import ParseModel
import ParseStorage
import Platform
import Postgres
import ServerConfiguration

/// Applies the option `schema`: creates and updates the classes as declared in the configuration.
public struct DeclaredSchemas: Sendable {
    private let configuration: Configuration
    private let options: Configuration.DeclaredSchemas
    private let client: PostgresClient
    private let catalog: SchemaCatalog
    private let logger: Logger

    /// Returns nil if the configuration declares no schemas.
    public init?(_ configuration: Configuration, client: PostgresClient, catalog: SchemaCatalog, logger: Logger) {
        guard let options = configuration.schema else { return nil }
        self.configuration = configuration
        self.options = options
        self.client = client
        self.catalog = catalog
        self.logger = logger
    }

    /// The error that keeps the server from starting.
    public struct Failure: Error, CustomStringConvertible {
        /// The message for the operator.
        public let description: String
    }

    /// Creates and updates the declared classes. Processes that start at the same time run one after the other.
    ///
    /// Each class changes in its own transaction. If one fails, others still change, but `afterMigration` doesn't run.
    ///
    /// - Throws: `Failure` if something failed and the option `strict` is set.
    public func apply() async throws {
        let failures: [String]
        do {
            failures = try await ProcessLock.declaredSchemas.hold(client) { _ in try await migrate() }
        } catch {
            failures = [Self.text(error)]
        }
        for failure in failures { logger.error("Failed to run migrations: \(failure)") }
        if options.strict, let first = failures.first {
            throw Failure(description: "Failed to run migrations: \(first)")
        }
    }

    private func migrate() async throws -> [String] {
        logger.info("Running Migrations")
        try await run(options.beforeMigration)
        try await catalog.reload()
        var failures: [String] = []
        for definition in options.definitions {
            do {
                try await make(SchemaDefinition(definition, configuration, options))
            } catch {
                let name = definition["className"]?.stringValue ?? ""
                failures.append("Error during update of schema for type \(name): \(Self.text(error))")
            }
        }
        warnOfOthers()
        do {
            try await closeOthers()
        } catch {
            failures.append(Self.text(error))
        }
        guard failures.isEmpty else { return failures }
        try await run(options.afterMigration)
        logger.info("Running Migrations Completed")
        return []
    }

    private func make(_ definition: SchemaDefinition) async throws {
        var checked = definition
        _ = try checked.applied(to: catalog.schema(definition.name))
        for warning in checked.warnings { logger.warning("\(warning)") }
        try await catalog.change(definition.name) { current in
            var definition = definition
            return try definition.applied(to: current)
        }
    }

    private var others: [ClassSchema] {
        let declared = Set(options.definitions.compactMap { $0["className"]?.stringValue })
        return catalog.snapshot.classes.values
            .filter { !declared.contains($0.name) && !SystemClass.volatileNames.contains($0.name) }
            .sorted { $0.name < $1.name }
    }

    private func warnOfOthers() {
        let names = others.map(\.name).filter { !SystemClass.names.contains($0) }
        guard options.strict, !names.isEmpty else { return }
        logger.warning(
            """
            The following schemas are currently present in the database, but not explicitly defined in a schema: \
            "\(names.joined(separator: "\", \""))"
            """)
    }

    /// Denies clients `addField` on the classes that aren't declared.
    private func closeOthers() async throws {
        for schema in others {
            try await catalog.change(schema.name) { current in
                var schema = current ?? schema
                schema.permissions = SchemaDefinition.closed(
                    schema.effectivePermissions, unless: schema.permissions)
                return schema
            }
        }
    }

    private func run(_ paths: [String]) async throws {
        for path in paths {
            do {
                let script = String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
                try await client.execute(script: script)
            } catch {
                throw Failure(description: "\(path): \(Self.text(error))")
            }
        }
    }

    private static func text(_ error: any Error) -> String {
        (error as? ParseError)?.message ?? (error as? PostgresError)?.message ?? "\(error)"
    }
}
