import Foundation
import LocalPostgres
import Logging
import ParseHTTP
import ServerConfiguration
import ServiceLifecycle

/// One run of `roost serve`, from its arguments to its end.
struct Server {
    private let configuration: Configuration
    private let warnings: [String]
    private let dataFolder: String
    private let logger: Logger
    private let logWriter: LogWriter

    /// Reads the configuration.
    ///
    /// - Throws: `ConfigurationError`, or what kept the file from being read.
    init(arguments: [String], environment: [String: String]) throws {
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
        let data = configuration.dataDir ?? folder + "/.roost"
        dataFolder = URL(fileURLWithPath: data).standardizedFileURL.path
        (logger, logWriter) = LogOutput.start(configuration)
    }

    /// Serves until it is told to stop; the private PostgreSQL outlives the last request.
    func run() async throws {
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
        let port = try await server.boundPort
        let host = configuration.host == "0.0.0.0" || configuration.host == "::" ? "127.0.0.1" : configuration.host
        let url = "http://\(host):\(port)\(configuration.mountPath)"
        let clientKeys = [
            ("clientKey", "X-Parse-Client-Key", configuration.clientKey),
            ("javascriptKey", "X-Parse-Javascript-Key", configuration.javascriptKey),
            ("restAPIKey", "X-Parse-REST-API-Key", configuration.restAPIKey),
            ("dotNetKey", "X-Parse-Windows-Key", configuration.dotNetKey),
        ]
        var lines = [
            "", "Roost \(Version.text) is serving", "  URL             \(url)",
            "  application id  \(configuration.appId)", "  master key      \(configuration.masterKey)",
        ]
        for (name, _, key) in clientKeys {
            if let key { lines.append("  \(name.padding(toLength: 16, withPad: " ", startingAt: 0))\(key)") }
        }
        lines.append("  data folder     \(dataFolder)")
        let key = clientKeys.first { $0.2 != nil }.map { " -H '\($0.1): \($0.2 ?? "")'" } ?? ""
        lines += [
            "", "Try it:",
            "  curl -H 'X-Parse-Application-Id: \(configuration.appId)'\(key) -H 'Content-Type: application/json' "
                + "-d '{\"title\":\"My first object\"}' \(url)/classes/Playlist", "",
        ]
        FileHandle.standardOutput.write(Data((lines.joined(separator: "\n") + "\n").utf8))
    }
}
