public import Logging
import ParseModel
public import Postgres

/// Gives tables that parse-server made the index by date that new classes have from the start.
///
/// Lists are read newest first and apps are copied in windows of `createdAt`: without the index each page of a large
/// class reads the whole table. The index is no part of `_SCHEMA`, so that no listing shows it.
public struct DateIndexer: Sendable {
    private let configuration: PostgresConfiguration
    private let client: PostgresClient
    private let logger: Logger

    /// Makes an indexer.
    ///
    /// - Parameters:
    ///   - configuration: How the database is reached; the building has a connection of its own, without a time limit.
    ///   - client: The connections by which is found out what is missing.
    public init(configuration: PostgresConfiguration, client: PostgresClient, logger: Logger) {
        self.configuration = configuration
        self.client = client
        self.logger = logger
    }

    /// Builds the indexes that are missing, one after the other, while the tables are read and written, and drops what
    /// killed processes left half built.
    ///
    /// It never fails: what could not be built is tried again at the next start. When several processes start at once,
    /// one of them builds, and the others look after it until all is there.
    public func run() async {
        async let clearing: Void = attempt("incomplete indexes were not dropped") {
            try await IndexBuild(client: client, logger: logger).clear()
        }
        // Building takes a session of its own for hours, which a pooler of transactions does not give.
        if configuration.hasSessions { await attempt("date indexes were not built") { try await buildMissing() } }
        await clearing
    }

    private func attempt(_ failure: Logger.Message, _ body: () async throws -> Void) async {
        do {
            try await body()
        } catch let error as PostgresError where error.kind == .cancelled || error.kind == .shutdown {
            // The server stops.
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
            // Another process builds, or was killed and its session has not ended yet.
            try await Task.sleep(for: .seconds(5))
        }
    }

    private struct Missing {
        var className: String
        /// Whether the table is divided into parts.
        var isDivided: Bool
        /// An index that an interrupted building left behind, which nothing uses.
        var leftover: String?
    }

    private static let classes = Statement("SELECT \"className\"::text FROM \"_SCHEMA\"")

    /// Takes class names as a parameter: a statement can't read distributed tables and the catalogue together.
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
            rows.string(row, 0).map {
                Missing(className: $0, isDivided: rows.bool(row, 2) == true, leftover: rows.string(row, 1))
            }
        }
    }

    /// - Returns: Whether this process got the lock to build.
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
                return try await PartitionIndex(className: missing.className).build(session, logger)
            }
            if let leftover = missing.leftover {
                _ = try await session.query("DROP INDEX CONCURRENTLY IF EXISTS \(SQL.identifier(leftover))", [])
            }
            _ = try await session.query(
                "CREATE INDEX CONCURRENTLY IF NOT EXISTS \(SQL.identifier(TableLayout.dateIndex(of: missing.className)))"
                    + " ON \(SQL.identifier(missing.className)) (\"createdAt\", \"objectId\")", [])
            logger.info("date index built", metadata: ["class": "\(missing.className)"])
        } catch let error as PostgresError where error.kind == .server {
            // One table that cannot be indexed does not keep the others from it.
            logger.warning(
                "date index could not be built",
                metadata: ["class": "\(missing.className)", "error": "\(error)"])
        }
    }
}

/// The index by date of a table that is divided into parts, which PostgreSQL cannot build beside other work as a whole:
/// that of each part is built so, and then made a part of the whole one.
struct PartitionIndex {
    let className: String

    /// The table and its partitions, each after its parent.
    private static let tree = """
        SELECT p.relid::regclass::text, c.relname::text, p.parentrelid::regclass::text, p.isleaf
        FROM pg_partition_tree($1::text::regclass) p JOIN pg_class c ON c.oid = p.relid ORDER BY p.level, 1
        """

    /// Builds what is missing, and leaves what is there.
    ///
    /// - Throws: `PostgresError`; what was built until then stays, and is used the next time.
    func build(_ session: PostgresSession, _ logger: Logger) async throws {
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
        logger.info("date index built", metadata: ["class": "\(className)"])
    }

    private func dropBroken(_ index: String, _ session: PostgresSession) async throws {
        let isBroken = try await session.query(
            "SELECT EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass($1) AND NOT indisvalid)", [.text(index)]
        )
        guard isBroken.bool(0, 0) == true else { return }
        _ = try await session.query("DROP INDEX CONCURRENTLY IF EXISTS \(index)")
    }
}
