/// A statement that is, or is being, prepared on the server.
package final class PreparedStatement {
    let key: StatementKey
    /// The name on the server.
    let name: String
    /// The sequence number of the request that prepares it.
    let sequence: UInt64
    fileprivate(set) var lastUse: UInt64

    fileprivate init(key: StatementKey, number: UInt64, sequence: UInt64) {
        self.key = key
        self.sequence = sequence
        name = "s\(number)"
        lastUse = sequence
    }
}

/// The prepared statements of one connection. Their number and the total size of their SQL are limited, because on the
/// server each takes about 50 times the memory of its SQL.
package struct StatementCache {
    private let limit: Int
    private let byteLimit: Int
    private var statements: [StatementKey: PreparedStatement] = [:]
    private var lastNumber: UInt64 = 0
    /// Names evicted here but still prepared on the server.
    private(set) var dropped: [String] = []

    private var bytes = 0

    package init(limit: Int, byteLimit: Int = 1024 * 1024) {
        self.limit = max(1, limit)
        self.byteLimit = byteLimit
    }

    package var count: Int { statements.count }

    package mutating func find(_ key: StatementKey, sequence: UInt64) -> PreparedStatement? {
        guard let statement = statements[key] else { return nil }
        statement.lastUse = sequence
        return statement
    }

    /// Adds a statement, which the caller must prepare. Evicts the least recently used ones if the cache is full.
    package mutating func insert(_ key: StatementKey, sequence: UInt64) -> PreparedStatement {
        while statements.count >= limit || bytes + key.sql.utf8.count > byteLimit {
            // A linear search is cheap compared to preparing a statement.
            guard let oldest = statements.values.min(by: { $0.lastUse < $1.lastUse }) else { break }
            forget(oldest)
            dropped.append(oldest.name)
        }
        lastNumber += 1
        let statement = PreparedStatement(key: key, number: lastNumber, sequence: sequence)
        statements[key] = statement
        bytes += key.sql.utf8.count
        return statement
    }

    private mutating func forget(_ statement: PreparedStatement) {
        guard statements.removeValue(forKey: statement.key) != nil else { return }
        bytes -= statement.key.sql.utf8.count
    }

    mutating func remove(_ statement: PreparedStatement) {
        if statements[statement.key] === statement { forget(statement) }
    }

    /// Evicts an outdated statement, unless it was prepared again after the request that failed.
    package mutating func drop(_ key: StatementKey, upTo sequence: UInt64) {
        guard let statement = statements[key], statement.sequence <= sequence else { return }
        forget(statement)
        dropped.append(statement.name)
    }

    /// Returns the names of evicted statements once, to deallocate them on the server.
    package mutating func drainDropped() -> [String] {
        defer { dropped = [] }
        return dropped
    }

    /// Removes everything, because the server has lost its statements.
    package mutating func removeAll() {
        statements.removeAll()
        bytes = 0
        dropped.removeAll()
    }
}
