import App
import AsyncHTTPClient
import Foundation
import JSON
import Logging
import NIOCore
import Postgres
import ServerConfiguration
import ServiceLifecycle
import TestTools

/// A Roost server of a test's own: a fresh database on the test cluster, HTTP on a free port of loopback.
public struct TestServer: Sendable {
    /// The URL of the interface.
    public let url: String
    /// The connection string of the server's database.
    public let databaseURI: String

    /// A server that runs elsewhere, with the keys below.
    public init(url: String, databaseURI: String) {
        self.url = url
        self.databaseURI = databaseURI
    }

    public static let applicationID = "testApp"
    public static let masterKey = "testMaster"
    public static let maintenanceKey = "testMaintenance"
    public static let restKey = "testRest"

    /// Where tests find their PostgreSQL: `ROOST_TEST_DATABASE_URI`, as `make test` sets it.
    public static var cluster: String {
        ProcessInfo.processInfo.environment["ROOST_TEST_DATABASE_URI"] ?? "postgres://postgres@127.0.0.1/postgres"
    }

    /// A logger that keeps a test's output short.
    public static let quietLogger: Logger = {
        var logger = Logger(label: "test")
        logger.logLevel = .error
        return logger
    }()

    /// Starts a server, runs `body` with it, and stops it.
    ///
    /// - Parameters:
    ///   - options: Options besides the keys, as the configuration file has them.
    ///   - passwordCost: The cost of hashes of passwords; a server that is not tested has 10.
    ///   - extensions: What is added to the server.
    ///   - logger: Where the server logs.
    ///   - configure: Changes the configuration after it was read.
    public static func run<R: Sendable>(
        _ options: JSONObject? = nil, passwordCost: Int = 4, extensions: ServerExtensions = ServerExtensions(),
        logger: Logger = quietLogger, configure: @escaping @Sendable (inout Configuration) -> Void = { _ in },
        _ body: @escaping @Sendable (TestServer) async throws -> R
    ) async throws -> R {
        try await gate.enter {
            // What a server makes at its first start is copied: that takes a fraction of the time.
            let copy = try await TestTemplate.copy()
            return try await withDatabase(options: copy) {
                try await serve($0, options, passwordCost, logger, extensions, configure: configure, body)
            }
        }
    }

    /// Starts a server on a database that a script made, runs `body` with it, and stops it.
    ///
    /// - Parameters:
    ///   - layout: The statements that make the database what it is before the server starts.
    ///   - options: Options besides the keys, as the configuration file has them.
    public static func run<R: Sendable>(
        inPlaceOf layout: String, _ options: JSONObject? = nil, logger: Logger = quietLogger,
        _ body: @escaping @Sendable (TestServer) async throws -> R
    ) async throws -> R {
        try await gate.enter {
            try await withDatabase { uri in
                try await execute(layout, on: uri)
                return try await serve(uri, options, 4, logger, ServerExtensions(), body)
            }
        }
    }

    /// Starts a server on a database outside of the test cluster, runs `body` with it, and stops it.
    ///
    /// - Parameters:
    ///   - uri: The connection string of the database.
    ///   - options: Options besides the keys, as the configuration file has them.
    public static func run<R: Sendable>(
        on uri: String, _ options: JSONObject? = nil, _ body: @escaping @Sendable (TestServer) async throws -> R
    ) async throws -> R {
        try await gate.enter { try await serve(uri, options, 4, quietLogger, ServerExtensions(), body) }
    }

    /// Starts another server on the same database, runs `body` with it, and stops it.
    public func alongside<R: Sendable>(
        _ options: JSONObject? = nil, extensions: ServerExtensions = ServerExtensions(),
        logger: Logger = quietLogger,
        _ body: @escaping @Sendable (TestServer) async throws -> R
    ) async throws -> R {
        try await Self.serve(databaseURI, options, 4, logger, extensions, body)
    }

    /// Why a test is given up.
    private struct Overdue: Error, CustomStringConvertible {
        var description: String { "a test took more than six minutes with its server" }
    }

    /// How many tests run servers at the same time: more than there are processors, since many wait for what takes its time.
    private static let gate = Gate(places: min(2 + 2 * ProcessInfo.processInfo.activeProcessorCount, 12))

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
            // Many tests at once keep a machine busy for longer than a server should keep its clients waiting.
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
                let result = await Result { try await body(test) }
                await group.triggerGracefulShutdown()
                return try result.get()
            }
            // Counted from here on, and not while the test waits at the gate.
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

    /// Makes a database for `body` alone, and drops it afterwards.
    ///
    /// - Parameter options: What stands behind the name in CREATE DATABASE.
    public static func withDatabase<R: Sendable>(
        options: String = "", _ body: @Sendable (String) async throws -> R
    ) async throws -> R {
        let name = "roost_test_" + UUID().uuidString.lowercased().replacing("-", with: "")
        var configuration = PostgresConfiguration(connectionString: cluster)
        configuration.sharedConnections = 1
        let administrator = PostgresClient(configuration: configuration, logger: Logger(label: "test"))
        try await administrator.execute(script: "CREATE DATABASE \(name) \(options)")
        let uri = databaseURI(name)
        let result = await Result { try await body(uri) }
        try? await administrator.execute(script: "DROP DATABASE IF EXISTS \(name) WITH (FORCE)")
        return try result.get()
    }

    /// The cluster's connection string with another database.
    static func databaseURI(_ name: String) -> String {
        guard var parts = URLComponents(string: cluster) else { return cluster }
        parts.path = "/" + name
        return parts.string ?? cluster
    }
}

extension Result where Failure == any Error {
    /// Catches what an asynchronous call gives or throws.
    fileprivate init(_ body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}
