import Tasks

extension PostgresClient {
    /// How a read is done that gives as many rows as its caller asks for.
    public struct Search: Sendable {
        /// The class that is read, or nil if it reads no class.
        public var className: String?
        /// How many rows are asked for.
        public var mostRows: Int
        /// Whether more is read for the rows; ``PostgresResult/hold(with:)`` then counts it.
        public var leadsToMore: Bool
        /// Whether it never shares a connection, however quick it is.
        public var isApart: Bool
        /// How long it may take, where that is less than ``PostgresConfiguration/statementTimeout``.
        public var timeLimit: Duration?
        /// Whether the caller asks in another way when the time limit is over: such a read waits for its connection
        /// among those without one.
        public var isTrial: Bool
        /// How many bytes its rows took before, where the caller knows that; nil for what reads like it took.
        public var expectedBytes: Int?

        /// Describes a read.
        public init(
            of className: String? = nil, mostRows: Int, leadsToMore: Bool = false, isApart: Bool = false,
            timeLimit: Duration? = nil, isTrial: Bool = false, expectedBytes: Int? = nil
        ) {
            self.className = className
            self.mostRows = mostRows
            self.leadsToMore = leadsToMore
            self.isApart = isApart
            self.timeLimit = timeLimit
            self.isTrial = isTrial
            self.expectedBytes = expectedBytes
        }
    }

    /// How many bytes of a result may come on a shared connection.
    public static let mostShared = 1024 * 1024
    /// Rows larger than this, in bytes, are recorded.
    private static let largeRow = 256 * 1024
    /// Failed attempts after which a read gets all of the memory.
    private static let mostDetours = 3

    /// Runs a statement that reads what a caller asks for: how long it takes, and how many bytes its
    /// rows are, shows only as it runs.
    ///
    /// It is sent on a shared connection as long as statements like it are quick and their results small; one unknown
    /// statement at a time is tried there. Any other is stopped there or not sent, and is carried out on a connection of
    /// its own, for which there is a fair queue; so are the next of a slow kind, and the caller's next unknown ones of
    /// the class. Where rows are many bytes, it waits
    /// until there is memory for them (``RowBudget``), and has that until the result is gone. When the caller leaves, it
    /// waits no longer and is stopped on the server.
    ///
    /// - Throws: `PostgresError`.
    public func search(_ statement: Statement, _ search: Search) async throws -> PostgresResult {
        let encoded = try EncodedStatement(statement)
        let shape = ReadShape(
            encoded.key, mostRows: search.mostRows, leadsToMore: search.leadsToMore,
            origin: search.className.map(ReadOrigin.init))
        return try await self.search(statement, encoded, search, shape)
    }

    private func search(_ statement: Statement, _ encoded: EncodedStatement, _ search: Search, _ shape: ReadShape)
        async throws -> PostgresResult
    {
        var detours = 0
        while true {
            var expected = history.expectation(of: shape, mostRows: search.mostRows, leadsToMore: search.leadsToMore)
            if detours == 0, let known = search.expectedBytes { expected.bytes = known }
            if detours > 0, rows.isOverfull { expected.bytes = max(expected.bytes, RowBudget.free + 1) }
            if detours >= Self.mostDetours { expected = ReadHistory.Expectation(bytes: .max, isSlow: true) }
            let isLent =
                search.isApart || encoded.isOneOff || expected.isSlow || expected.bytes > Self.mostShared || detours > 0
            // Lent connections already bound small results, so a slow read must not hold memory that quick ones need.
            let waits = expected.bytes > (isLent && !rows.isOverfull ? RowBudget.mostSmall : RowBudget.free)
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
                    if expected.isUnknown { history.note(isSlow: false, shape) }
                }
                keep(reservation, for: result, of: shape, leadsToMore: search.leadsToMore)
                return result
            } catch let error as PostgresError where error.isDetour {
                detours += 1
            }
        }
    }

    /// Runs a statement that reads one row by its key. It finds its connection before reads that may take long, and waits for
    /// nothing as long as it is not known to be large, or others like it are while there is no memory; then it is a
    /// ``search(_:_:)``.
    ///
    /// - Throws: `PostgresError`.
    public func row(_ statement: Statement) async throws -> PostgresResult {
        let encoded = try EncodedStatement(statement)
        // Most servers have no large rows: then nothing is looked up.
        let shape = history.knowsLargeRows ? ReadShape(row: encoded) : nil
        let isBarred = shape.map { history.isBarred($0, isSearch: false, memoryIsFull: rows.isOverfull) } ?? false
        if !isBarred {
            do {
                let result = try Self.last(
                    of: try await perform(
                        Request(.statements([encoded]), isReadOnly: true, shape: shape, sizeLimit: Self.mostShared),
                        [statement]))
                let size = result.size
                if size > RowBudget.free || shape != nil {
                    let shape = shape ?? ReadShape(row: encoded)
                    if size > Self.largeRow { history.noteLargeRow() }
                    keep(nil, for: result, of: shape, leadsToMore: false)
                }
                return result
            } catch let error as PostgresError where error.isDetour {
                history.noteLargeRow()
                if shape == nil { history.noteOutgrown(ReadShape(row: encoded)) }
            }
        }
        return try await search(statement, encoded, Search(mostRows: 1), shape ?? ReadShape(row: encoded))
    }

    /// Runs statements that read more for rows that are there already, in one round trip. They find their connection as
    /// ``search(_:_:)`` does, and wait for no memory: the rows that they are for hold some.
    ///
    /// - Parameter mostRows: How many rows are asked for.
    /// - Returns: A result for each statement.
    /// - Throws: `PostgresError`.
    public func searchMore(_ statements: [Statement], mostRows: Int) async throws -> [PostgresResult] {
        let encoded = try statements.map { try EncodedStatement($0) }
        guard let first = encoded.first else { return [] }
        let shape = ReadShape(first.key, mostRows: mostRows, leadsToMore: false)
        var results: [PostgresResult]?
        if !history.isBarred(shape, isSearch: true, memoryIsFull: false) {
            do {
                results = try await onSharedConnection(statements, encoded, shape)
            } catch let error as PostgresError where error.isDetour {}
        }
        if results == nil {
            let (found, isSlow) = try await read(statements, in: .slowReads)
            history.note(isSlow: isSlow, shape)
            results = found
        }
        let found = results ?? []
        history.note(bytes: found.reduce(0) { $0 + $1.size }, of: shape)
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
                sizeLimit: Self.mostShared),
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
            if !search.isApart { history.note(isSlow: isSlow, shape) }
            return try Self.last(of: results)
        } catch let error as PostgresError where error.isDetour {
            history.noteOutgrown(shape)
            throw error
        } catch let error as PostgresError where error.isOverdue && search.timeLimit == nil {
            history.note(isSlow: true, shape)
            throw error
        }
    }

    /// The size at which a result on a lent connection is stopped, to stay in its ``RowBudget`` lane. Twice the
    /// expected size, because the measured process memory grows by more than the rows (``ResultWatch``).
    private static func sizeLimit(_ expected: Int) -> Int {
        expected >= RowBudget.capacity ? .max : 2 * max(expected, RowBudget.mostSmall)
    }

    private func keep(
        _ reservation: RowReservation?, for result: PostgresResult, of shape: ReadShape, leadsToMore: Bool
    ) {
        let size = result.size
        history.note(bytes: size, of: shape)
        guard reservation != nil || size > RowBudget.free || leadsToMore else { return }
        let reservation = reservation ?? rows.reservation()
        reservation.resize(to: size)
        result.own(reservation) { [history] in history.note(bytes: $0, of: shape) }
    }
}
