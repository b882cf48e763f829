/// The purposes for which connections are lent. Each has its own pool, so that slow reads and row locks don't take
/// connections from transactions.
package enum PoolPurpose: Int, CaseIterable, Sendable {
    /// Class changes, the installation of Roost's tables, scripts, and other work that needs a server session.
    case administration
    case transactions
    case batches
    case slowReads
    /// Slow reads with a short time limit.
    case limitedReads
    /// Reads that keep one CPU of the database server busy.
    case heavyReads
    /// Statements that timed out waiting for a lock on a shared connection, or would have.
    case lockWaits
    /// Writes that are large, change parts of large values, or were too slow for a shared connection.
    case slowWrites
    /// Reads that last as long as the client keeps reading.
    case exports

    /// Whether writes can commit without explicit transactions. False for pools that serve only transactions or only
    /// reads.
    var keepsWrites: Bool {
        switch self {
        case .administration, .lockWaits, .slowWrites: true
        case .transactions, .batches, .slowReads, .limitedReads, .heavyReads, .exports: false
        }
    }

    /// Whether a lease of the sender with the most time is stopped if others have waited too long. Lock waits take no
    /// CPU time from others. Administration, heavy reads and exports are allowed to finish.
    package var stopsHeaviest: Bool {
        switch self {
        case .transactions, .batches, .slowReads, .limitedReads, .slowWrites: true
        case .administration, .heavyReads, .lockWaits, .exports: false
        }
    }

    /// Derives the purpose from a lease number.
    package init(lease: Int) { self = Self.allCases[lease % Self.allCases.count] }
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

    /// Returns the maximum number of a pool's connections that one sender can hold. A quarter, rounded down, is left to
    /// other senders, except for administration, heavy reads and exports.
    package func share(of purpose: PoolPurpose) -> Int {
        let limit = limit(of: purpose)
        return switch purpose {
        case .transactions, .slowReads, .limitedReads, .batches, .lockWaits, .slowWrites: limit - limit / 4
        case .administration, .heavyReads, .exports: limit
        }
    }

    /// Returns how long a request waits for a connection before it fails.
    func waitLimit(of purpose: PoolPurpose) -> Duration {
        switch purpose {
        case .administration, .exports: connectTimeout
        // A heavy statement of another caller may run for the whole statement timeout.
        case .heavyReads: connectTimeout + statementTimeout
        case .transactions, .batches, .slowReads, .limitedReads, .lockWaits, .slowWrites: connectionWait
        }
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
