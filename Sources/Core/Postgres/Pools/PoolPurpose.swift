/// What a connection is lent for. Each purpose has connections of its own, so that none starves another: slow reads of
/// some callers leave transactions theirs, and a locked row keeps neither waiting.
package enum PoolPurpose: Int, CaseIterable, Sendable {
    /// Changes of classes, installations, scripts.
    case administration
    case transactions
    case batches
    case slowReads
    /// Reads that can be slow, of callers that get little time for them.
    case limitedReads
    /// Reads that keep a processor of the server busy.
    case heavyReads
    /// Statements that met a lock on a shared connection.
    case lockWaits
    /// Changes inside large values, each of which reads and writes all of one, and writes that are large, or turned out to
    /// take long on a shared connection.
    case slowWrites
    /// Reads that go on for as long as a client takes what they give.
    case exports

    /// Whether what a statement wrote stays without more being said, since its connection is not lent for a
    /// transaction.
    var keepsWrites: Bool {
        switch self {
        case .administration, .lockWaits, .slowWrites: true
        case .transactions, .batches, .slowReads, .limitedReads, .heavyReads, .exports: false
        }
    }

    /// Whether the heaviest sender's work is stopped if others have waited too long. A statement that waits for a lock
    /// takes nothing from others, and administrators' requests are never stopped.
    package var stopsHeaviest: Bool {
        switch self {
        case .transactions, .batches, .slowReads, .limitedReads, .slowWrites: true
        case .administration, .heavyReads, .lockWaits, .exports: false
        }
    }

    /// Derived from the lease's number.
    package init(lease: Int) { self = Self.allCases[lease % Self.allCases.count] }
}

extension PostgresConfiguration {
    package func limit(of purpose: PoolPurpose) -> Int {
        switch purpose {
        // A lock may be held on one connection while a class is changed on another.
        case .administration: min(exclusiveConnections, max(2, exclusiveConnections / 4))
        case .transactions, .batches, .slowReads, .lockWaits, .slowWrites: max(1, exclusiveConnections / 2)
        case .exports: min(exclusiveConnections, 2)
        case .limitedReads: max(1, exclusiveConnections / 4)
        case .heavyReads: max(1, heavyConnections)
        }
    }

    /// The most connections of a pool that one sender of requests has at a time: where each can be held for as long as a
    /// statement or a transaction may take, some are left to others.
    package func share(of purpose: PoolPurpose) -> Int {
        let limit = limit(of: purpose)
        return switch purpose {
        case .transactions, .slowReads, .limitedReads, .batches, .lockWaits, .slowWrites: limit - limit / 4
        case .administration, .heavyReads, .exports: limit
        }
    }

    /// How long a request waits for a connection of the pool for a purpose.
    func waitLimit(of purpose: PoolPurpose) -> Duration {
        switch purpose {
        case .administration, .exports: connectTimeout
        // A request that waits for others' heavy statements waits for as long as one of its own may take.
        case .heavyReads: connectTimeout + statementTimeout
        case .transactions, .batches, .slowReads, .limitedReads, .lockWaits, .slowWrites: connectionWait
        }
    }

    package func parameters(of purpose: PoolPurpose) -> ConnectionParameters {
        switch purpose {
        // Building an index beside a table waits for all statements that use the table.
        // What is kept in a session, as locks of processes are, needs one.
        case .administration, .exports: ConnectionParameters(direct)
        // The client ends a transaction that takes too long; the server does if the client cannot.
        case .transactions, .batches:
            ConnectionParameters(self, lockTimeout: lockTimeout, idleTimeout: transactionTimeout)
        case .lockWaits, .slowWrites: ConnectionParameters(self, lockTimeout: lockTimeout)
        // One statement gets one processor of the server.
        case .slowReads, .limitedReads, .heavyReads:
            ConnectionParameters(self, lockTimeout: lockTimeout, isParallel: false)
        }
    }
}
