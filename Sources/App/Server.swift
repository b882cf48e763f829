public import CloudCode
package import Console
import Encoding
public import FileStorage
public import HTTP
import LocalPostgres
import Logging
import Logs
import NIOPosix
import NodeHost
public import Operations
import ServerConfiguration
import ServiceLifecycle
import UnixSignals

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// One run of `roost serve`, from its arguments to its end.
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
    ///   - app: An app's own index.js, which takes the place of a configuration file.
    ///   - extensions: What is added to the server, given its log.
    /// - Throws: `ConfigurationError`, or what kept the file from being read.
    package init(
        arguments: [String], environment: [String: String], app: ServedApp? = nil,
        extensions: (Logger) -> ServerExtensions = { _ in ServerExtensions() }
    ) throws {
        deployment = try Deployment(arguments: arguments, environment: environment, app: app)
        var configuration = deployment.configuration
        // On a laptop a password can be reset before there is a mail server.
        showsMails =
            configuration.databaseURI == nil && isatty(STDOUT_FILENO) == 1 && configuration.showMailsOnTerminal()
        self.configuration = configuration
        (logger, logWriter) = LogOutput.start(deployment.configuration)
        self.extensions = extensions(logger)
    }

    /// Serves until it is stopped; the private PostgreSQL outlives the last request.
    package func run() async throws {
        defer { logWriter.flush() }
        if let file = deployment.configurationFile { logger.info("read \(file)") }
        for warning in deployment.warnings { logger.warning("\(warning)") }
        try deployment.makeDataFolder()
        guard let uri = configuration.databaseURI else {
            let database = LocalPostgres(dataFolder: deployment.postgresFolder, logger: logger)
            let connectionString = try await database.start()
            let supervisor = Task { await database.supervise() }
            let result = await outcome { try await serve(connectionString) }
            supervisor.cancel()
            _ = await supervisor.value
            await database.stop()
            return try result.get()
        }
        try await serve(uri)
    }

    private func outcome(_ body: () async throws -> Void) async -> Result<Void, any Error> {
        do {
            return .success(try await body())
        } catch {
            return .failure(error)
        }
    }

    private func serve(_ connectionString: String) async throws {
        var extensions = extensions
        extensions.backups = try Backup.maker(deployment, logger: logger)
        let server = try RoostServer(
            configuration: configuration, connectionString: connectionString,
            filesDirectory: deployment.filesDirectory, extensions: extensions, logger: logger)
        // A signal that comes before the services trap it must not leave a private PostgreSQL running.
        try await Interruption.guarding { try await DatabaseFailure.reporting { try await server.prepare() } }
        var services: [ServiceGroupConfiguration.ServiceConfiguration] = [
            // The first to begin is the last to hear of the end: it waits for as long as the server does.
            .init(service: SecondSignal()),
            .init(service: server, successTerminationBehavior: .gracefullyShutdownGroup),
        ]
        if let certificate = server.certificate {
            services.append(.init(service: CertificateReload(certificate: certificate, logger: logger)))
        }
        // The last to begin is the first to hear of the end.
        if let notices = SupervisorNotices(ProcessInfo.processInfo.environment, of: server, logger: logger) {
            services.append(.init(service: notices))
        }
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: services,
                gracefulShutdownSignals: [.sigterm, .sigint], logger: LogOutput.quiet))
        async let banner: Void? = configuration.silent ? nil : printBanner(server)
        try await group.run()
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
        banner.consoleAddress = try? await server.consoleAddress(
            hasTicket: Banner.mayShowTicket(configuration, isTerminal: isTerminal))
        try? OpenFile.standardOutput.write(banner.text.utf8)
    }
}

/// Ends the server at once at the second signal to end: requests under way are not waited for any more.
struct SecondSignal: Service {
    func run() async throws {
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        for await _ in signals.dropFirst().cancelOnGracefulShutdown() { throw Interruption.Signalled() }
    }
}

/// Reads the certificate of the server anew at each SIGHUP, which the program that renews it sends.
struct CertificateReload: Service {
    let certificate: ServerCertificate
    let logger: Logger

    func run() async {
        for await _ in await UnixSignalsSequence(trapping: .sighup).cancelOnGracefulShutdown() {
            do {
                // Files are read where no connection waits for it.
                try await NIOThreadPool.singleton.runIfActive { try certificate.reload() }
                logger.notice("certificate reloaded")
                if let warning = certificate.warning { logger.warning("\(warning)") }
            } catch {
                logger.error("certificate not reloaded, keeping the old one", metadata: ["reason": "\(error)"])
            }
        }
    }
}

/// What a deployment adds to the server, or puts in place of its parts.
public struct ServerExtensions: Sendable {
    /// Triggers, observers, providers.
    public var backend = BackendExtensions()
    /// Where cloud code runs, besides the hosts that the server has by itself.
    public var cloudHosts: [any CloudHost] = []
    /// Where uploaded files are; nil for the folder of the server.
    public var files: (any FileStorage)?
    /// WebSocket connections, figures about requests.
    public var http = HTTPServer.Additions()
    /// How the console makes backups; nil for no way.
    package var backups: BackupMaker?

    /// Adds nothing.
    public init() {}
}
