import Foundation
import Limits
import Logging
import Postgres
import Synchronization
import TestTools

/// A new database in the test cluster, with an open client.
struct TestDatabase: Sendable {
    let client: PostgresClient
    let uri: String

    static var cluster: String {
        ProcessInfo.processInfo.environment["ROOST_TEST_DATABASE_URI"] ?? "postgres://postgres@127.0.0.1/postgres"
    }

    static let logger: Logger = {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        return logger
    }()

    static func run<R: Sendable>(
        shared: Int = 2, exclusive: Int = 8, preparedStatements: Int = 512,
        statementTimeout: Duration = .seconds(30), connectTimeout: Duration = .seconds(10),
        configure: (inout PostgresConfiguration) -> Void = { _ in },
        _ body: @Sendable (TestDatabase) async throws -> R
    ) async throws -> R {
        var configuration = PostgresConfiguration(connectionString: "")
        configuration.sharedConnections = shared
        configuration.exclusiveConnections = exclusive
        configuration.preparedStatementLimit = preparedStatements
        configuration.statementTimeout = statementTimeout
        configuration.connectTimeout = connectTimeout
        configure(&configuration)
        return try await gate.run { [configuration] in try await runInside(configuration, body) }
    }

    func endAllConnections() async throws {
        try await client.execute(
            script: "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                + "WHERE datname = current_database() AND pid <> pg_backend_pid()")
    }

    private static let gate = Gate(capacity: 10)
    private static let administrator: PostgresClient = {
        var configuration = PostgresConfiguration(connectionString: cluster)
        (configuration.sharedConnections, configuration.exclusiveConnections) = (1, 10)
        return PostgresClient(configuration: configuration, logger: logger)
    }()

    private static func runInside<R: Sendable>(
        _ settings: PostgresConfiguration, _ body: @Sendable (TestDatabase) async throws -> R
    ) async throws -> R {
        let name = "roost_driver_" + UUID().uuidString.lowercased().replacing("-", with: "")
        try await administrator.execute(script: "CREATE DATABASE \(name)")
        var parts = URLComponents(string: cluster)
        parts?.path = "/" + name
        let uri = parts?.string ?? cluster
        var configuration = settings
        configuration.connectionString = uri
        let client = PostgresClient(configuration: configuration, logger: logger)
        let result = await Result.awaiting {
            try await client.start()
            return try await body(TestDatabase(client: client, uri: uri))
        }
        await client.shutdown()
        try? await administrator.execute(script: "DROP DATABASE IF EXISTS \(name) WITH (FORCE)")
        return try result.get()
    }

    /// Runs `body` while another client holds an advisory lock that ``waiting`` waits for.
    func whileLocked<R: Sendable>(_ body: @Sendable (PostgresSession) async throws -> R) async throws -> R {
        try await withSecondClient { second in
            try await second.exclusively { session in
                _ = try await session.query("SELECT pg_advisory_lock(77)")
                return try await body(session)
            }
        }
    }

    /// An SQL expression that waits while ``whileLocked(_:)`` runs.
    static let waiting = "pg_advisory_xact_lock_shared(77)::text"

    /// Returns one row per statement of the database that waits for an advisory lock.
    static let waiters = """
        SELECT 1 FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database
        WHERE NOT granted AND locktype = 'advisory' AND datname = current_database()
        """

    func withSecondClient<R: Sendable>(_ body: @Sendable (PostgresClient) async throws -> R) async throws -> R {
        var configuration = PostgresConfiguration(connectionString: uri)
        configuration.sharedConnections = 1
        configuration.applicationName = "second"
        let second = PostgresClient(configuration: configuration, logger: Self.logger)
        try await second.start()
        let result = await Result.awaiting { try await body(second) }
        await second.shutdown()
        return try result.get()
    }
}

func eventually(_ condition: @Sendable () async throws -> Bool) async throws -> Bool {
    let end = ContinuousClock.now + .seconds(30)
    while ContinuousClock.now < end {
        if try await condition() { return true }
        try await Task.sleep(for: .milliseconds(10))
    }
    return false
}

func failure(_ body: @Sendable () async throws -> some Sendable) async throws -> PostgresError? {
    do {
        _ = try await body()
        return nil
    } catch let error as PostgresError {
        return error
    }
}

extension PostgresClient {
    func isRunning(_ text: String) async throws -> Bool {
        let sql = """
            SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'active'
                AND query LIKE $1 AND pid <> pg_backend_pid()
            """
        return try await query(sql, [.text("%\(text)%")], readOnly: true).int(0, 0) ?? 0 > 0
    }
}

final class Counter: Sendable {
    private let number = Mutex(0)

    var value: Int { number.withLock { $0 } }

    @discardableResult
    func add(_ amount: Int) -> Int {
        number.withLock {
            $0 += amount
            return $0
        }
    }

    func raise(to value: Int) { number.withLock { $0 = max($0, value) } }
}
