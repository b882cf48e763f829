public import Limits

extension PostgresClient {
    /// Options of a read that can return many rows.
    public struct Search: Sendable {
        /// The class that is read, or nil to keep no history of the caller's reads of the class.
        public var className: String?
        /// The maximum number of rows.
        public var maxRows: Int
        /// Whether the caller will read more for these rows, such as included objects, and count that with
        /// ``PostgresResult/hold(with:)``.
        public var leadsToMore: Bool
        /// The expected cost. A slow read never uses a shared connection. A size that the caller knows from an earlier
        /// read replaces the estimate from similar reads.
        public var cost: Cost
        /// The time limit on a separate connection, or nil to use ``PostgresConfiguration/statementTimeout``.
        public var timeLimit: Duration?
        /// Whether the caller sends a different query if the time limit expires. Such a read uses the same connections
        /// as reads without a time limit.
        public var isTrial: Bool

        public init(
            of className: String? = nil, maxRows: Int, leadsToMore: Bool = false, cost: Cost = Cost(),
            timeLimit: Duration? = nil, isTrial: Bool = false
        ) {
            self.className = className
            self.maxRows = maxRows
            self.leadsToMore = leadsToMore
            self.cost = cost
            self.timeLimit = timeLimit
            self.isTrial = isTrial
        }
    }

    /// The size in bytes above which searches and reads by key are stopped on a shared connection, to run again on a
    /// separate one.
    public static let maxSharedBytes = 1024 * 1024
    /// A row above this size in bytes makes later reads by key look up their history.
    private static let largeRow = 256 * 1024
    /// The number of stopped or rejected attempts after which a read reserves all memory for large results.
    private static let maxDetours = 3

    /// Runs a read whose duration and result size are unknown in advance.
    ///
    /// Reads that are known to be fast and small use a shared connection, and one unknown read at a time is tried
    /// there. All others use a separate connection, for which senders queue fairly. If a read on a shared connection
    /// turns out slow or large, it is stopped there and runs again on a separate one. After a slow read, similar reads
    /// and the caller's unknown reads of the class use separate connections for a minute.
    ///
    /// Reads that may return much first wait for memory (``RowBudget``), which they hold until the result is released
    /// or freed. If the caller leaves, the read is removed from the queue, or stopped on its separate connection.
    ///
    /// - Throws: `PostgresError`.
    public func search(_ statement: Statement, _ search: Search) async throws -> PostgresResult {
        let encoded = try EncodedStatement(statement)
        let shape = ReadShape(
            encoded.key, maxRows: search.maxRows, leadsToMore: search.leadsToMore,
            origin: search.className.map(ReadOrigin.init))
        return try await self.search(statement, encoded, search, shape)
    }

    private func search(_ statement: Statement, _ encoded: EncodedStatement, _ search: Search, _ shape: ReadShape)
        async throws -> PostgresResult
    {
        var detours = 0
        while true {
            var expected = history.expectation(of: shape, maxRows: search.maxRows, leadsToMore: search.leadsToMore)
            if detours == 0, search.cost.bytes > 0 { expected.bytes = search.cost.bytes }
            if detours > 0, rows.isOverfull { expected.bytes = max(expected.bytes, RowBudget.free + 1) }
            if detours >= Self.maxDetours { expected = ReadHistory.Expectation(bytes: .max, isSlow: true) }
            let isLent =
                search.cost.isSlow || encoded.isOneOff || expected.isSlow || expected.bytes > Self.maxSharedBytes
                || detours > 0
            // On separate connections, small results don't reserve memory. Their number is already limited, and a slow
            // read must not hold memory that fast reads need.
            let waits = expected.bytes > (isLent && !rows.isOverfull ? RowBudget.maxSmallBytes : RowBudget.free)
            let reservation = waits ? try await rows.reserve(expected.bytes) : nil
            do {
                let result: PostgresResult
                if isLent {
                    let bytes = expected.bytes
                    result = try await rows.reading(reservation) {
                        try await self.onLentConnection(statement, search, shape, bytes)
                    }
                } else {
                    result = try Self.last(
                        of: try await onSharedConnection(
                            [statement], [encoded], shape, isUnknown: expected.isUnknown))
                    if expected.isUnknown { history.record(isSlow: false, shape) }
                }
                record(reservation, for: result, of: shape, leadsToMore: search.leadsToMore)
                return result
            } catch let error as PostgresError where error.isDetour {
                detours += 1
            }
        }
    }

    /// Runs a statement that reads one row by its key.
    ///
    /// The read doesn't wait behind reads that can be slow, or for memory. It runs as ``search(_:_:)`` instead if the
    /// row is known to be slow or large or turns out to be, if the caller recently read large rows of the class, or if
    /// similar rows are large and memory is full.
    ///
    /// - Parameter className: The class of the row, or nil for rows outside classes.
    /// - Throws: `PostgresError`.
    public func row(_ statement: Statement, of className: String? = nil) async throws -> PostgresResult {
        let encoded = try EncodedStatement(statement)
        let shape = ReadShape(row: encoded, origin: className.map(ReadOrigin.init))
        // Most databases have no large rows, so most reads need no lookup.
        let isBarred =
            history.knowsLargeRows && history.isBarred(shape, isSearch: false, memoryIsFull: rows.isOverfull)
        if !isBarred {
            do {
                let result = try Self.last(
                    of: try await perform(
                        Request(.statements([encoded]), isReadOnly: true, shape: shape, sizeLimit: Self.maxSharedBytes),
                        [statement]))
                let size = result.size
                if size > Self.largeRow { history.recordLargeRow() }
                if size > RowBudget.free || history.knowsLargeRows {
                    record(nil, for: result, of: shape, leadsToMore: false)
                }
                return result
            } catch let error as PostgresError where error.isDetour {
                history.recordLargeRow()
            }
        }
        return try await search(statement, encoded, Search(maxRows: 1), shape)
    }

    /// Reads the rows that already-read rows refer to, such as included objects, in one round trip. Tries a shared
    /// connection unless such reads were slow or large before, and doesn't wait for memory, because the first rows
    /// already hold some.
    ///
    /// - Parameter maxRows: The maximum number of rows of all results together.
    /// - Returns: One result per statement.
    /// - Throws: `PostgresError`.
    public func searchMore(_ statements: [Statement], maxRows: Int) async throws -> [PostgresResult] {
        let encoded = try statements.map { try EncodedStatement($0) }
        guard let first = encoded.first else { return [] }
        let shape = ReadShape(first.key, maxRows: maxRows, leadsToMore: false)
        var results: [PostgresResult]?
        if !history.isBarred(shape, isSearch: true, memoryIsFull: false) {
            do {
                results = try await onSharedConnection(statements, encoded, shape)
            } catch let error as PostgresError where error.isDetour {}
        }
        if results == nil {
            let (found, isSlow) = try await read(statements, in: .slowReads)
            history.record(isSlow: isSlow, shape)
            results = found
        }
        let found = results ?? []
        history.record(bytes: found.reduce(0) { $0 + $1.size }, of: shape)
        return found
    }

    static func last(of results: [PostgresResult]) throws -> PostgresResult {
        guard let result = results.last else { throw PostgresError.noResult }
        return result
    }

    private func onSharedConnection(
        _ statements: @autoclosure () -> [Statement], _ encoded: [EncodedStatement], _ shape: ReadShape,
        isUnknown: Bool = false
    ) async throws -> [PostgresResult] {
        try await perform(
            Request(
                .statements(encoded), isReadOnly: true, shape: shape, isSearch: true, isUnknown: isUnknown,
                sizeLimit: Self.maxSharedBytes),
            statements())
    }

    private func onLentConnection(_ statement: Statement, _ search: Search, _ shape: ReadShape, _ expected: Int)
        async throws -> PostgresResult
    {
        do {
            let statements = search.timeLimit.map { [.limitingTime(to: $0), statement] } ?? [statement]
            let (results, isSlow) = try await read(
                statements, in: search.timeLimit == nil || search.isTrial ? .slowReads : .limitedReads,
                sizeLimit: Self.sizeLimit(expected))
            if !search.cost.isSlow { history.record(isSlow: isSlow, shape) }
            return try Self.last(of: results)
        } catch let error as PostgresError where error.isDetour {
            history.recordOutgrown(shape)
            throw error
        } catch let error as PostgresError where error.isOverdue && search.timeLimit == nil {
            history.record(isSlow: true, shape)
            throw error
        }
    }

    /// Returns the number of received bytes above which a result on a separate connection is stopped: twice the
    /// expected size but at least 4 MB, or no limit if the read reserved all memory for large results.
    private static func sizeLimit(_ expected: Int) -> Int {
        expected >= RowBudget.capacity ? .max : 2 * max(expected, RowBudget.maxSmallBytes)
    }

    private func record(
        _ reservation: RowReservation?, for result: PostgresResult, of shape: ReadShape, leadsToMore: Bool
    ) {
        let size = result.size
        history.record(bytes: size, of: shape)
        guard reservation != nil || size > RowBudget.free || leadsToMore else { return }
        let reservation = reservation ?? rows.reservation()
        reservation.resize(to: size)
        result.own(reservation) { [history] in history.record(bytes: $0, of: shape) }
    }
}
