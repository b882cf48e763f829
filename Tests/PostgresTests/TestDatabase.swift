import Foundation
import Logging
import Testing

@testable import Postgres

/// A database of one test's own, on the server that ROOST_TEST_DATABASE_URI names.
struct TestDatabase: Sendable {
    /// Why there is no database to test with.
    struct Missing: Error, CustomStringConvertible {
        let description = "ROOST_TEST_DATABASE_URI must name a PostgreSQL server on which databases can be made"
    }

    let name: String
    let connectionString: String
    private let server: String

    /// Makes a database for `body` and drops it afterwards.
    static func use(_ body: (TestDatabase) async throws -> Void) async throws {
        guard let server = ProcessInfo.processInfo.environment["ROOST_TEST_DATABASE_URI"],
            var components = URLComponents(string: server)
        else { throw Missing() }
        await gate.enter()
        let name = "postgres_tests_\(UInt64.random(in: 0...UInt64.max))"
        components.path = "/" + name
        let database = TestDatabase(name: name, connectionString: components.string ?? server, server: server)
        do {
            try await database.administer("CREATE DATABASE \(name) TEMPLATE template0 ENCODING 'UTF8'")
            try await body(database)
            try await database.administer("DROP DATABASE \(name) WITH (FORCE)")
            await gate.leave()
        } catch {
            try? await database.administer("DROP DATABASE IF EXISTS \(name) WITH (FORCE)")
            await gate.leave()
            throw error
        }
    }

    /// Makes a database and a client of it for `body`.
    static func withClient(_ body: (PostgresClient, TestDatabase) async throws -> Void) async throws {
        try await configured { _ in }.withClient(body)
    }

    /// Clients with other settings than the usual ones.
    static func configured(_ configure: @escaping @Sendable (inout PostgresConfiguration) -> Void) -> TestSetup {
        TestSetup(configure: configure)
    }

    /// A client of the database; two shared connections, so that many tests fit on one server.
    func client(_ configure: (inout PostgresConfiguration) -> Void = { _ in }) -> PostgresClient {
        var configuration = PostgresConfiguration(connectionString: connectionString)
        configuration.sharedConnections = 2
        configure(&configuration)
        return PostgresClient(configuration: configuration, logger: Self.logger)
    }

    /// Runs a statement on the server's own database, as one that closes connections to this one.
    func administer(_ sql: String) async throws {
        var configuration = PostgresConfiguration(connectionString: server)
        configuration.sharedConnections = 1
        let client = PostgresClient(configuration: configuration, logger: Self.logger)
        do {
            _ = try await client.query(sql)
        } catch {
            await client.shutdown()
            throw error
        }
        await client.shutdown()
    }

    /// Breaks all connections to the database.
    func terminateConnections() async throws {
        try await administer(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '\(name)'")
    }

    static let logger = Logger(label: "PostgresTests", factory: { _ in SwiftLogNoOpLogHandler() })
    private static let gate = Gate(width: 6)
}

/// A database and a client with settings of the test's own.
struct TestSetup: Sendable {
    let configure: @Sendable (inout PostgresConfiguration) -> Void

    /// Makes a database and a client of it for `body`.
    func withClient(_ body: (PostgresClient, TestDatabase) async throws -> Void) async throws {
        try await TestDatabase.use { database in
            let client = database.client(configure)
            do {
                try await client.start()
                try await body(client, database)
            } catch {
                await client.shutdown()
                throw error
            }
            await client.shutdown()
        }
    }
}

/// Lets a few in at a time: servers have a limit of connections.
private actor Gate {
    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(width: Int) { free = width }

    func enter() async {
        if free > 0 {
            free -= 1
        } else {
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    func leave() {
        if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
    }
}

/// Where a number of tasks wait for each other; who comes later passes through.
actor Meeting {
    private var missing: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(of count: Int) { missing = count }

    func arrive() async {
        missing -= 1
        if missing > 0 {
            await withCheckedContinuation { waiting.append($0) }
        } else {
            for waiter in waiting { waiter.resume() }
            waiting.removeAll()
        }
    }
}

extension PostgresClient {
    /// Whether the server is at work on a statement that contains a text.
    func isRunning(_ text: String) async throws -> Bool {
        let sql = """
            SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'active'
                AND query LIKE $1 AND pid <> pg_backend_pid()
            """
        return try await query(sql, [.text("%\(text)%")], readOnly: true).int(0, 0) ?? 0 > 0
    }
}

/// Waits until something holds, at most ten seconds.
func eventually(_ condition: () async throws -> Bool) async throws -> Bool {
    let deadline = ContinuousClock.now + .seconds(10)
    while ContinuousClock.now < deadline {
        if try await condition() { return true }
        try await Task.sleep(for: .milliseconds(10))
    }
    return false
}

/// The error that a request fails with; a failure of the test when it succeeds.
func postgresError<R>(_ body: () async throws -> R) async throws -> PostgresError {
    do {
        _ = try await body()
    } catch let error as PostgresError {
        return error
    }
    throw NoError()
}

/// A request succeeded that should have failed.
struct NoError: Error {}
