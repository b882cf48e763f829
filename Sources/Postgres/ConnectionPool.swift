/// What a connection is lent for. Each purpose has connections of its own, so that none starves another: slow reads of
/// some callers leave transactions theirs, and a row that somebody has locked keeps neither waiting.
enum ConnectionPool: Int, CaseIterable, Sendable {
    /// Changes of classes, installations, scripts.
    case administration
    /// Transactions of callers.
    case transactions
    /// Reads that can be slow.
    case slowReads
    /// Reads that can be slow, of callers who get little time for them.
    case limitedReads
    /// Reads that keep a processor of the server busy.
    case heavyReads
    /// Statements that met a lock on a shared connection.
    case lockWaits

    /// The pool that a lease is of.
    init(lease: Int) { self = Self.allCases[lease % Self.allCases.count] }
}

extension PostgresConfiguration {
    /// The most connections of a pool.
    func limit(of pool: ConnectionPool) -> Int {
        switch pool {
        // A lock may be held on one connection while a class is changed on another.
        case .administration: min(exclusiveConnections, max(2, exclusiveConnections / 4))
        case .transactions, .slowReads: max(1, exclusiveConnections / 2)
        case .limitedReads, .lockWaits: max(1, exclusiveConnections / 4)
        case .heavyReads: max(1, heavyConnections)
        }
    }

    /// How long a request waits for a connection of a pool.
    func patience(of pool: ConnectionPool) -> Duration {
        switch pool {
        case .administration: connectTimeout
        // Who waits for others' heavy statements waits for as long as one of its own may take.
        case .heavyReads: connectTimeout + statementTimeout
        case .transactions, .slowReads, .limitedReads, .lockWaits: min(connectionWait, connectTimeout)
        }
    }
}
