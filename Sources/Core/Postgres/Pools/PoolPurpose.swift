/// The purposes for which connections are lent. Each has its own pool, so that none starves another: slow reads and row
/// locks don't take connections from transactions.
public enum PoolPurpose: Int, CaseIterable, Sendable {
    /// Class changes, the installation of Roost's tables, scripts, and other work that needs a server session. Its
    /// transactions have no time limit.
    case administration
    /// Requests that need several statements.
    case transactions
    /// Several requests of a caller that must take effect together.
    case batches
    case slowReads
    /// Slow reads with a separate time limit, such as clients' finds with regular expressions.
    case limitedReads
    /// Aggregations and distinct queries, which may keep one CPU of the database server busy.
    case heavyReads
    /// Statements that timed out waiting for a lock on a shared connection, or would have.
    case lockWaits
    /// Writes that are large, change parts of large values, or were too slow for a shared connection.
    case slowWrites
    /// Finds whose results are streamed for an export, which last as long as the client reads, without a time limit.
    case exports

    /// Whether transactions have no time limit.
    var isEndless: Bool { self == .administration || self == .exports }

    /// Whether writes can commit without explicit transactions. False for pools that serve only transactions or only
    /// reads.
    var keepsWrites: Bool { [.administration, .lockWaits, .slowWrites].contains(self) }

    /// Whether leases are never stopped for others, who wait longer instead.
    fileprivate var isPatient: Bool { [.administration, .heavyReads, .exports].contains(self) }

    /// Whether a lease of the sender with the most time is stopped if others have waited too long. Lock waits take no
    /// CPU time from others.
    package var stopsHeaviest: Bool { !isPatient && self != .lockWaits }
}

extension PostgresConfiguration {
    package func limit(of purpose: PoolPurpose) -> Int {
        switch purpose {
        // At least two, because one connection may hold a lock while another one changes a class.
        case .administration: min(exclusiveConnections, max(2, exclusiveConnections / 4))
        case .transactions, .batches, .slowReads, .lockWaits, .slowWrites: max(1, exclusiveConnections / 2)
        case .exports: min(exclusiveConnections, 2)
        case .limitedReads: max(1, exclusiveConnections / 4)
        case .heavyReads: max(1, heavyConnections)
        }
    }

    /// Returns the maximum number of a pool's connections that a sender other than the server can hold. A quarter,
    /// rounded down, is left to others, except for administration, heavy reads and exports.
    package func share(of purpose: PoolPurpose) -> Int {
        let limit = limit(of: purpose)
        return purpose.isPatient ? limit : limit - limit / 4
    }

    /// Returns how long a request waits for a connection before it fails.
    func waitLimit(of purpose: PoolPurpose) -> Duration {
        guard purpose.isPatient else { return connectionWait }
        // A heavy statement of another caller may run for the whole statement timeout.
        return purpose == .heavyReads ? connectTimeout + statementTimeout : connectTimeout
    }

    package func parameters(of purpose: PoolPurpose) -> ConnectionParameters {
        switch purpose {
        // No lock timeout, because building an index concurrently waits for all transactions that use the table.
        // Session state, such as process locks, needs a direct connection.
        case .administration, .exports: ConnectionParameters(direct)
        // The client ends transactions that take too long. The server ends idle ones if the client can't.
        case .transactions, .batches:
            ConnectionParameters(self, lockTimeout: lockTimeout, idleTimeout: transactionTimeout)
        case .lockWaits, .slowWrites: ConnectionParameters(self, lockTimeout: lockTimeout)
        // Limits each statement to one CPU of the server.
        case .slowReads, .limitedReads, .heavyReads:
            ConnectionParameters(self, lockTimeout: lockTimeout, isParallel: false)
        }
    }
}
