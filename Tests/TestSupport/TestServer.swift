import App
import AsyncHTTPClient
import Foundation
import JSON
import Limits
import Logging
import NIOCore
import Postgres
import ServerConfiguration
import ServiceLifecycle
import TestTools

/// A Roost server for one test, with a new database in the test cluster and a free loopback port.
public struct TestServer: Sendable {
    public let url: String
    public let databaseURI: String

    /// Describes a server that the test started elsewhere with the keys of this type.
    public init(url: String, databaseURI: String) {
        self.url = url
        self.databaseURI = databaseURI
    }

    public static let applicationID = "testApp"
    public static let masterKey = "testMaster"
    public static let maintenanceKey = "testMaintenance"
    public static let restKey = "testRest"

    /// The address of the test cluster, `ROOST_TEST_DATABASE_URI`, which `make test` sets.
    public static var cluster: String {
        ProcessInfo.processInfo.environment["ROOST_TEST_DATABASE_URI"] ?? "postgres://postgres@127.0.0.1/postgres"
    }

    public static let quietLogger: Logger = {
        var logger = Logger(label: "test")
        logger.logLevel = .error
        return logger
    }()

    /// Starts a server, runs `body` with it, and stops it.
    ///
    /// - Parameters:
    ///   - options: Options of the configuration file in addition to the keys.
    ///   - passwordCost: The bcrypt cost of password hashes. In production it is 10.
    ///   - configure: Changes the loaded configuration.
    public static func run<R: Sendable>(
        _ options: JSONObject? = nil, passwordCost: Int = 4, extensions: ServerExtensions = ServerExtensions(),
        logger: Logger = quietLogger, configure: @escaping @Sendable (inout Configuration) -> Void = { _ in },
        _ body: @escaping @Sendable (TestServer) async throws -> R
    ) async throws -> R {
        try await gate.run {
            // Copying a template takes a fraction of the time that a first start takes.
            let copy = try await TestTemplate.copy()
            return try await withDatabase(options: copy) {
                try await serve($0, options, passwordCost, logger, extensions, configure: configure, body)
            }
        }
    }

    /// Starts a server on a database created by a script, runs `body` with it, and stops it.
    ///
    /// - Parameters:
    ///   - layout: The statements that create the database's initial state.
    ///   - options: Options of the configuration file in addition to the keys.
    public static func run<R: Sendable>(
        inPlaceOf layout: String, _ options: JSONObject? = nil, logger: Logger = quietLogger,
        _ body: @escaping @Sendable (TestServer) async throws -> R
    ) async throws -> R {
        try await gate.run {
            try await withDatabase { uri in
                try await execute(layout, on: uri)
                return try await serve(uri, options, 4, logger, ServerExtensions(), body)
            }
        }
    }

    /// Starts a server on a database outside the test cluster, runs `body` with it, and stops it.
    public static func run<R: Sendable>(
        on uri: String, _ options: JSONObject? = nil, _ body: @escaping @Sendable (TestServer) async throws -> R
    ) async throws -> R {
        try await gate.run { try await serve(uri, options, 4, quietLogger, ServerExtensions(), body) }
    }

    public func alongside<R: Sendable>(
        _ options: JSONObject? = nil, extensions: ServerExtensions = ServerExtensions(),
        logger: Logger = quietLogger,
        _ body: @escaping @Sendable (TestServer) async throws -> R
    ) async throws -> R {
        try await Self.serve(databaseURI, options, 4, logger, extensions, body)
    }

    private struct Overdue: Error, CustomStringConvertible {
        var description: String { "a test took more than six minutes with its server" }
    }

    /// The number of tests that run servers concurrently. More than the number of processors, since many of them wait.
    private static let gate = Gate(capacity: min(2 + 2 * ProcessInfo.processInfo.activeProcessorCount, 12))

    private static func serve<R: Sendable>(
        _ uri: String, _ options: JSONObject?, _ passwordCost: Int, _ logger: Logger,
        _ extensions: ServerExtensions, configure: @Sendable (inout Configuration) -> Void = { _ in },
        _ body: @escaping @Sendable (TestServer) async throws -> R
    ) async throws -> R {
        var file: JSONObject = [
            "appId": .string(applicationID), "masterKey": .string(masterKey),
            "maintenanceKey": .string(maintenanceKey), "restAPIKey": .string(restKey), "host": "127.0.0.1",
            "port": 0, "allowClientClassCreation": true, "enforcePrivateUsers": false,
            "databaseOptions": ["sharedConnections": 2],
            // The machine is busy with many concurrent tests.
            "connectionTimeout": 20_000,
        ]
        for (name, value) in options ?? [:] { file[name] = value }
        var (read, _) = try Configuration.load(file: file.serialized(), environment: [:], flags: [])
        configure(&read)
        let configuration = read
        let folder = FileManager.default.temporaryDirectory.path + "/roost-test-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let server = try RoostServer(
            configuration: configuration, connectionString: uri, filesDirectory: folder,
            passwordCost: passwordCost, extensions: extensions, logger: logger)
        try await server.prepare()
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [.init(service: server, successTerminationBehavior: .gracefullyShutdownGroup)],
                logger: logger))
        return try await withThrowingTaskGroup(of: R?.self) { tasks in
            tasks.addTask {
                try await group.run()
                return nil
            }
            tasks.addTask {
                let port = try await server.boundPort
                let mount = configuration.mount
                let test = TestServer(url: "http://127.0.0.1:\(port)\(mount)", databaseURI: uri)
                let result = await Result.awaiting { try await body(test) }
                await group.triggerGracefulShutdown()
                return try result.get()
            }
            // The time limit starts here, after waiting at the gate.
            tasks.addTask {
                try await Task.sleep(for: .seconds(360))
                throw Overdue()
            }
            var value: R?
            for _ in 0..<2 { value = try await tasks.next().flatMap { $0 } ?? value }
            tasks.cancelAll()
            guard let value else { throw CancellationError() }
            return value
        }
    }

    private static let administrator: PostgresClient = {
        var configuration = PostgresConfiguration(connectionString: cluster)
        (configuration.sharedConnections, configuration.exclusiveConnections) = (1, 16)
        return PostgresClient(configuration: configuration, logger: Logger(label: "test"))
    }()

    /// Creates a database, runs `body` with it, and drops it.
    ///
    /// - Parameter options: The text after the name in CREATE DATABASE.
    public static func withDatabase<R: Sendable>(
        options: String = "", _ body: @Sendable (String) async throws -> R
    ) async throws -> R {
        let name = "roost_test_" + UUID().uuidString.lowercased().replacing("-", with: "")
        try await administrator.execute(script: "CREATE DATABASE \(name) \(options)")
        let uri = databaseURI(name)
        let result = await Result.awaiting { try await body(uri) }
        try? await administrator.execute(script: "DROP DATABASE IF EXISTS \(name) WITH (FORCE)")
        return try result.get()
    }

    static func databaseURI(_ name: String) -> String {
        guard var parts = URLComponents(string: cluster) else { return cluster }
        parts.path = "/" + name
        return parts.string ?? cluster
    }
}
