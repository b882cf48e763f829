public import CloudCode
import Encoding
public import FileStorage
public import HTTP
import Limits
import LocalPostgres
import Logging
import Logs
import NIOPosix
import NodeHost
public import Operations
import Platform
import ServerConfiguration
import ServiceLifecycle
import UnixSignals

/// A run of `roost serve`.
package struct Server {
    private let deployment: Deployment
    private let configuration: Configuration
    private let showsMails: Bool
    private let logger: Logger
    private let logWriter: LogWriter
    private let extensions: ServerExtensions

    /// Reads the configuration.
    ///
    /// - Parameters:
    ///   - app: The app's own index.js, used instead of a configuration file.
    ///   - extensions: Returns additions to the server. Receives the server's logger.
    /// - Throws: `ConfigurationError`.
    package init(
        arguments: [String], environment: [String: String], app: ServedApp? = nil,
        extensions: (Logger) -> ServerExtensions = { _ in ServerExtensions() }
    ) throws {
        deployment = try Deployment(arguments: arguments, environment: environment, app: app)
        var configuration = deployment.configuration
        // Allows password resets during development without a mail server.
        showsMails =
            configuration.databaseURI == nil && isatty(STDOUT_FILENO) == 1 && configuration.showMailsOnTerminal()
        self.configuration = configuration
        (logger, logWriter) = LogOutput.start(deployment.configuration)
        self.extensions = extensions(logger)
    }

    /// Serves until the server is stopped. The embedded PostgreSQL stops after the last request.
    package func run() async throws {
        defer { logWriter.flush() }
        if let file = deployment.configurationFile { logger.info("read \(file)") }
        for warning in deployment.warnings { logger.warning("\(warning)") }
        try deployment.makeDataFolder()
        guard let uri = configuration.databaseURI else {
            let database = LocalPostgres(dataFolder: deployment.postgresFolder, logger: logger)
            let connectionString = try await database.start()
            let supervisor = Task { await database.supervise() }
            return try await withCleanup {
                try await serve(connectionString)
            } cleanUp: {
                supervisor.cancel()
                await supervisor.value
                await database.stop()
            }
        }
        try await serve(uri)
    }

    private func serve(_ connectionString: String) async throws {
        var extensions = extensions
        extensions.deployment = deployment
        let server = try RoostServer(
            configuration: configuration, connectionString: connectionString,
            filesDirectory: deployment.filesDirectory, extensions: extensions, logger: logger)
        // A signal that comes before the services trap it must not leave an embedded PostgreSQL running.
        let interruption = await Interruption.ofProcess()
        let option = configuration.directDatabaseURI == nil ? "databaseURI" : "databaseURI or directDatabaseURI"
        try await interruption.guarding {
            try await DatabaseFailure.reporting(option: option) { try await server.prepare() }
        }
        var services: [ServiceGroupConfiguration.ServiceConfiguration] = [
            .init(service: server, successTerminationBehavior: .gracefullyShutdownGroup)
        ]
        if let certificate = server.certificate {
            services.append(.init(service: CertificateReload(certificate: certificate, logger: logger)))
        }
        // The service that starts last is shut down first.
        if let notices = SupervisorNotices(ProcessInfo.processInfo.environment, of: server, logger: logger) {
            services.append(.init(service: notices))
        }
        async let banner: Void? = configuration.silent ? nil : printBanner(server)
        try await interruption.run(services)
        _ = try? await banner
    }

    private func printBanner(_ server: RoostServer) async throws {
        let isTerminal = isatty(STDOUT_FILENO) == 1
        var banner = Banner(
            configuration: configuration, port: try await server.boundPort, dataFolder: deployment.dataFolder,
            filesFolder: deployment.filesDirectory,
            showsKeys: Banner.mayShowKeys(
                configurationFolder: deployment.configurationFolder, isTerminal: isTerminal),
            showsMails: showsMails)
        banner.featureLines = server.bannerLines(
            showsSecrets: Banner.mayShowTicket(configuration, isTerminal: isTerminal))
        try? OpenFile.standardOutput.write(banner.text.utf8)
    }
}

/// Reloads the TLS certificate on SIGHUP, which the program that renews it sends.
struct CertificateReload: Service {
    let certificate: ServerCertificate
    let logger: Logger

    func run() async {
        for await _ in await UnixSignalsSequence(trapping: .sighup).cancelOnGracefulShutdown() {
            do {
                // Reads files on a thread that doesn't serve connections.
                try await NIOThreadPool.singleton.runIfActive { try certificate.reload() }
                logger.notice("certificate reloaded")
                if let warning = certificate.warning { logger.warning("\(warning)") }
            } catch {
                logger.error("certificate not reloaded, keeping the old one", metadata: ["reason": "\(error)"])
            }
        }
    }
}

/// Additions to the server, and replacements for its parts.
public struct ServerExtensions: Sendable {
    /// Additions to the backend, such as triggers, observers and login providers.
    public var backend = BackendExtensions()
    /// Hosts of cloud code in addition to the server's own.
    public var cloudHosts: [any CloudHost] = []
    /// The file store, or nil to use the configured one.
    public var files: (any FileStorage)?
    /// Additions to the HTTP server, such as a WebSocket handler.
    public var http = HTTPServer.Additions()
    /// The deployment, for the console's backups and its sign-in command, or nil if unknown.
    package var deployment: Deployment?

    /// Creates extensions that change nothing.
    public init() {}
}
