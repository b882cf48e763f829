import Foundation
import LocalPostgres
import Logging
import Logs
import ServerConfiguration
import ServiceLifecycle

/// One run of `roost serve`, from its arguments to its end.
package struct Server {
    private let configuration: Configuration
    private let warnings: [String]
    private let dataFolder: String
    /// Where the configuration file is; nil when there is none.
    private let configurationFolder: String?
    private let logger: Logger
    private let logWriter: LogWriter

    /// Reads the configuration.
    ///
    /// - Throws: `ConfigurationError`, or what kept the file from being read.
    package init(arguments: [String], environment: [String: String]) throws {
        var flags = arguments
        var file: [UInt8]?
        var folder = FileManager.default.currentDirectoryPath
        if let path = flags.first, !path.hasPrefix("--") {
            flags.removeFirst()
            file = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
            folder = URL(fileURLWithPath: path).standardizedFileURL.deletingLastPathComponent().path
        }
        var (configuration, warnings) = try Configuration.load(file: file, environment: environment, flags: flags)
        configuration.resolvePaths(in: folder)
        self.configuration = configuration
        self.warnings = warnings
        configurationFolder = file == nil ? nil : folder
        let data = configuration.dataDir ?? folder + "/.roost"
        dataFolder = URL(fileURLWithPath: data).standardizedFileURL.path
        (logger, logWriter) = LogOutput.start(configuration)
    }

    /// Serves until it is told to stop; the private PostgreSQL outlives the last request.
    package func run() async throws {
        defer { logWriter.flush() }
        for warning in warnings { logger.warning("\(warning)") }
        try FileManager.default.createDirectory(atPath: dataFolder, withIntermediateDirectories: true)
        guard let uri = configuration.databaseURI else {
            let database = LocalPostgres(dataFolder: dataFolder + "/postgres", logger: logger)
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
        let files = configuration.filesDirectory ?? "files"
        let server = try RoostServer(
            configuration: configuration, connectionString: connectionString,
            filesDirectory: files.hasPrefix("/") ? files : "\(dataFolder)/\(files)", logger: logger)
        try await server.prepare()
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [.init(service: server, successTerminationBehavior: .gracefullyShutdownGroup)],
                gracefulShutdownSignals: [.sigterm, .sigint], logger: LogOutput.quiet))
        async let banner: Void = printBanner(server)
        try await group.run()
        _ = try? await banner
    }

    private func printBanner(_ server: RoostServer) async throws {
        let banner = Banner(
            configuration: configuration, port: try await server.boundPort, dataFolder: dataFolder,
            showsKeys: Banner.mayShowKeys(
                configurationFolder: configurationFolder, isTerminal: isatty(STDOUT_FILENO) == 1))
        FileHandle.standardOutput.write(Data(banner.text.utf8))
    }
}
