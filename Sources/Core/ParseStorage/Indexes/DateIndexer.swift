public import Logging
import ParseModel
public import Postgres

/// Adds the date index (`createdAt`, `objectId`) to tables that parse-server created. New classes have it from the
/// start.
///
/// Lists are sorted newest first, and tools that copy apps read objects in windows of `createdAt`. Without the index,
/// each page of a large class scans the whole table. The index isn't recorded in `_SCHEMA`, so the schemas API doesn't
/// list it.
public struct DateIndexer: Sendable {
    private let configuration: PostgresConfiguration
    private let client: PostgresClient
    private let logger: Logger

    /// - Parameters:
    ///   - configuration: The database to connect to. Builds use a separate connection without a time limit.
    ///   - client: Connections for finding missing indexes.
    public init(configuration: PostgresConfiguration, client: PostgresClient, logger: Logger) {
        self.configuration = configuration
        self.client = client
        self.logger = logger
    }

    /// Builds missing indexes one after another, without blocking reads or writes, and drops incomplete ones that
    /// killed processes left behind.
    ///
    /// Never fails: a failed build is retried at the next start. Builds nothing behind a transaction pooler if no
    /// direct connection to the server is configured. If several processes start at once, one of them builds while the
    /// others wait until all indexes exist.
    public func run() async {
        async let clearing: Void = attempt("can't drop incomplete indexes") {
            try await IndexBuild(client: client, logger: logger).clear()
        }
        // A build can need its session for hours, which a transaction pooler doesn't provide.
        if configuration.hasSessions { await attempt("can't build indexes on createdAt") { try await buildMissing() } }
        await clearing
    }

    private func attempt(_ failure: Logger.Message, _ body: () async throws -> Void) async {
        do {
            try await body()
        } catch let error as PostgresError where error.kind == .cancelled || error.kind == .shutdown {
            // The server is stopping.
        } catch is CancellationError {
        } catch {
            logger.warning(failure, metadata: ["error": "\(error)"])
        }
    }

    private func buildMissing() async throws {
        while true {
            let classes = try await client.slowQuery(Self.classes)
            guard !Self.missing(try await client.slowQuery(Self.search(classes))).isEmpty, try await !build() else {
                return
            }
            // Another process is building, or was killed and its session hasn't ended yet.
            try await Task.sleep(for: .seconds(5))
        }
    }

    /// A class without the index: whether its table is partitioned, and the invalid index that an interrupted build
    /// left behind, if any.
    private typealias Missing = (className: String, isDivided: Bool, leftover: String?)

    private static let classes = Statement("SELECT \"className\"::text FROM \"_SCHEMA\"")

    /// Returns the query for classes without the index. It takes the class names as a parameter, because with Citus a
    /// statement can't read distributed tables and the catalog together.
    private static func search(_ classes: PostgresResult) -> Statement {
        Statement(search, [.textArray((0..<classes.rowCount).compactMap { classes.string($0, 0) })])
    }

    private static let search = """
        SELECT s.name, (
            SELECT l.relname::text FROM pg_index i JOIN pg_class l ON l.oid = i.indexrelid
            WHERE i.indrelid = t.oid AND NOT i.indisvalid AND starts_with(l.relname::text, 'roost_created:') LIMIT 1
        ), t.relkind = 'p'
        FROM unnest($1::text[]) s(name)
        JOIN pg_class t ON t.oid = to_regclass(quote_ident(s.name)) AND t.relkind IN ('r', 'p')
        JOIN pg_attribute a ON a.attrelid = t.oid AND a.attname = 'createdAt' AND NOT a.attisdropped
        WHERE NOT EXISTS (
            SELECT FROM pg_index i
            WHERE i.indrelid = t.oid AND i.indisvalid AND i.indpred IS NULL AND i.indkey[0] = a.attnum
        )
        ORDER BY 1
        """

    private static func missing(_ rows: PostgresResult) -> [Missing] {
        (0..<rows.rowCount).compactMap { row in
            rows.string(row, 0).map { ($0, rows.bool(row, 2) == true, rows.string(row, 1)) }
        }
    }

    /// Builds the indexes of all classes that lack one. Returns false if another process holds the lock.
    private func build() async throws -> Bool {
        try await PostgresClient.opened(configuration.forBuilding, logger: logger) { builder in
            let built: Void? = try await ProcessLock.dateIndexes.attempt(builder) { session in
                let classes = try await session.query(Self.classes)
                for missing in Self.missing(try await session.query(Self.search(classes))) {
                    try await build(missing, session)
                }
            }
            return built != nil
        }
    }

    private func build(_ missing: Missing, _ session: PostgresSession) async throws {
        do {
            if missing.isDivided {
                return try await buildPartitions(of: missing.className, session)
            }
            if let leftover = missing.leftover {
                _ = try await session.query("DROP INDEX CONCURRENTLY IF EXISTS \(SQL.identifier(leftover))", [])
            }
            _ = try await session.query(
                "CREATE INDEX CONCURRENTLY IF NOT EXISTS \(SQL.identifier(TableLayout.dateIndex(of: missing.className)))"
                    + " ON \(SQL.identifier(missing.className)) (\"createdAt\", \"objectId\")", [])
            logger.info("index on createdAt built", metadata: ["class": "\(missing.className)"])
        } catch let error as PostgresError where error.kind == .server {
            // A table that can't be indexed doesn't stop the others.
            logger.warning(
                "can't build an index on createdAt",
                metadata: ["class": "\(missing.className)", "error": "\(error)"])
        }
    }

    /// The table and its partitions, each after its parent.
    private static let tree = """
        SELECT p.relid::regclass::text, c.relname::text, p.parentrelid::regclass::text, p.isleaf
        FROM pg_partition_tree($1::text::regclass) p JOIN pg_class c ON c.oid = p.relid ORDER BY p.level, 1
        """

    /// Builds the index of a partitioned table. PostgreSQL can't build it concurrently, so each partition's index is
    /// built concurrently and then attached.
    ///
    /// - Throws: `PostgresError`. Indexes built before the error are kept and reused the next time.
    private func buildPartitions(of className: String, _ session: PostgresSession) async throws {
        let rows = try await session.query(Self.tree, [.text(SQL.identifier(className))])
        var indexes: [String: String] = [:]
        for row in 0..<rows.rowCount {
            guard let table = rows.string(row, 0), let name = rows.string(row, 1) else { continue }
            let index = SQL.identifier(TableLayout.dateIndex(of: name))
            indexes[table] = index
            let columns = "(\"createdAt\", \"objectId\")"
            if rows.bool(row, 3) == true {
                try await dropBroken(index, session)
                _ = try await session.query("CREATE INDEX CONCURRENTLY IF NOT EXISTS \(index) ON \(table) \(columns)")
            } else {
                _ = try await session.query("CREATE INDEX IF NOT EXISTS \(index) ON ONLY \(table) \(columns)")
            }
        }
        for row in (0..<rows.rowCount).reversed() {
            guard let table = rows.string(row, 0), let index = indexes[table],
                let whole = rows.string(row, 2).flatMap({ indexes[$0] })
            else { continue }
            _ = try await session.query("ALTER INDEX \(whole) ATTACH PARTITION \(index)")
        }
        logger.info("index on createdAt built", metadata: ["class": "\(className)"])
    }

    private func dropBroken(_ index: String, _ session: PostgresSession) async throws {
        let isBroken = try await session.query(
            "SELECT EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass($1) AND NOT indisvalid)", [.text(index)]
        )
        guard isBroken.bool(0, 0) == true else { return }
        _ = try await session.query("DROP INDEX CONCURRENTLY IF EXISTS \(index)")
    }
}
