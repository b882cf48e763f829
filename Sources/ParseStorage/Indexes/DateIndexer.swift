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

    /// Builds the indexes that are missing, one after the other, while the tables are read and written.
    ///
    /// It never fails: what could not be built is tried again at the next start. When several processes start at once,
    /// one of them builds.
    public func run() async {
        // Building takes a session of its own for hours, which a pooler of transactions does not give.
        guard configuration.hasSessions else { return }
        do {
            guard !(try await Self.missing(client.slowQuery(Statement(Self.search)))).isEmpty else { return }
            try await build()
        } catch let error as PostgresError where error.kind == .cancelled || error.kind == .shutdown {
            // The server stops.
        } catch {
            logger.warning("indexes by date are not built", metadata: ["error": "\(error)"])
        }
    }

    /// A class without an index that begins with `createdAt`.
    private struct Missing {
        var className: String
        /// Whether the table is divided into parts.
        var isDivided: Bool
        /// An index that an interrupted building left behind, which nothing uses.
        var leftover: String?
    }

    private static let search = """
        SELECT s."className"::text, (
            SELECT l.relname::text FROM pg_index i JOIN pg_class l ON l.oid = i.indexrelid
            WHERE i.indrelid = t.oid AND NOT i.indisvalid AND starts_with(l.relname::text, 'roost_created:') LIMIT 1
        ), t.relkind = 'p'
        FROM "_SCHEMA" s
        JOIN pg_class t ON t.oid = to_regclass(quote_ident(s."className")) AND t.relkind IN ('r', 'p')
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

    private func build() async throws {
        var configuration = configuration.direct
        configuration.sharedConnections = 1
        configuration.exclusiveConnections = 1
        configuration.statementTimeout = .zero
        try await PostgresClient.opened(configuration, logger: logger) { builder in
            try await builder.exclusively { session in
                // The lock ends with the connection. Who does not get it leaves the building to who has it.
                let lock = try await session.query(
                    "SELECT pg_try_advisory_lock($1)", [.int(ProcessLock.dateIndexes.rawValue)])
                guard lock.bool(0, 0) == true else { return }
                for missing in Self.missing(try await session.query(Statement(Self.search))) {
                    try await build(missing, session)
                }
            }
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
            logger.info("an index by date was built", metadata: ["class": "\(missing.className)"])
        } catch let error as PostgresError where error.kind == .server {
            // One table that cannot be indexed does not keep the others from it.
            logger.warning(
                "an index by date could not be built",
                metadata: ["class": "\(missing.className)", "error": "\(error)"])
        }
    }
}
