import Postgres
import Testing

@Suite("Choice of a shared connection, without a server")
struct SharedPoolChoiceTests {
    /// Requests in progress on a connection.
    enum Kind: Sendable {
        case read, search, write
        case slow
        case down
    }

    private static func pool(_ connections: [[Kind]], isFlushed: Bool) -> SharedPool {
        let context = LoopContext.unthreaded { $0.sharedConnections = connections.count }
        let pool = SharedPool(context)
        let before = context.now
        context.now = before.after(.milliseconds(30))
        for (connection, kinds) in zip(pool.connections, connections) {
            connection.state = kinds.contains(.down) ? .closed : .ready
            for kind in kinds where kind != .down {
                let isRead = kind == .read || kind == .search
                connection.inFlight.append(
                    Request(.statements([]), isReadOnly: isRead, isSearch: kind == .search), sequence: 1,
                    sharesSync: isRead, at: kind == .slow ? before : context.now)
            }
            if isFlushed { _ = connection.inFlight.endBatch() }
        }
        return pool
    }

    private static func place(_ connection: Connection?, in pool: SharedPool) -> Int? {
        pool.connections.firstIndex { $0 === connection }
    }

    @Test(
        "Reads avoid connections with a batch in flight, and those with writes unless all have writes",
        arguments: [
            ([[], []], 0), ([[.write], []], 1), ([[.write, .write], [.write]], 1), ([[.read], []], 1),
            ([[.read], [.search]], nil), ([[.read], [.write]], nil), ([[.down], []], 1), ([[.down], [.down]], nil),
            ([[.slow], [.write, .write]], 1),
        ] as [([[Kind]], Int?)])
    func reads(connections: [[Kind]], expected: Int?) {
        let pool = Self.pool(connections, isFlushed: true)
        #expect(Self.place(pool.connectionForReads(), in: pool) == expected)
    }

    @Test("A read joins only an unflushed batch of its kind")
    func batches() {
        let pool = Self.pool([[.search], [.read]], isFlushed: false)
        #expect(Self.place(pool.connectionForReads(), in: pool) == 1)
        #expect(Self.place(pool.connectionForSearches(), in: pool) == 0)
    }

    @Test(
        "Potentially slow reads leave the first of several connections to others",
        arguments: [
            ([[]], 0), ([[], []], 1), ([[.down], [], []], 2), ([[], [.search]], nil), ([[], [.read], [.write]], 2),
        ] as [([[Kind]], Int?)])
    func searches(connections: [[Kind]], expected: Int?) {
        let pool = Self.pool(connections, isFlushed: true)
        #expect(Self.place(pool.connectionForSearches(), in: pool) == expected)
    }

    @Test(
        "A read of unknown cost uses the last open connection, unless a potentially slow read is on it",
        arguments: [
            ([[]], 0), ([[], []], 1), ([[], [], [.down]], 1), ([[], [.search], [.write]], 2),
            ([[], [], [.search]], nil),
        ] as [([[Kind]], Int?)])
    func unknown(connections: [[Kind]], expected: Int?) {
        let pool = Self.pool(connections, isFlushed: true)
        #expect(Self.place(pool.connectionForUnknown, in: pool) == expected)
    }

    @Test("A potentially slow read with its own sync joins no batch")
    func alone() {
        for (connections, expected) in [([[], [.search], []], 2), ([[], [.search]], nil), ([[], [.read]], nil)]
            as [([[Kind]], Int?)]
        {
            let pool = Self.pool(connections, isFlushed: false)
            #expect(Self.place(pool.connectionForSearches(isAlone: true), in: pool) == expected)
        }
    }

    @Test(
        "Writes leave the first connection to others, too, and avoid slow or potentially slow requests",
        arguments: [
            ([[]], 0), ([[.write]], 0), ([[], [.write, .write]], 1), ([[], [.write], []], 2),
            ([[], [.search], [.write, .write]], 2), ([[], [.slow], [.search]], 2), ([[], [.down]], 0),
        ] as [([[Kind]], Int?)])
    func writes(connections: [[Kind]], expected: Int?) {
        let pool = Self.pool(connections, isFlushed: true)
        #expect(Self.place(pool.leastBusyForWrites(), in: pool) == expected)
    }

    @Test("The I/O thread doesn't wake for reads while every connection has a batch in flight")
    func wakeCondition() {
        let all = Self.pool([[], []], isFlushed: true).wakeCondition
        #expect((all.reads, all.searches, all.changes) == (true, true, true))
        let batched = Self.pool([[.read], [.search]], isFlushed: true).wakeCondition
        #expect((batched.reads, batched.searches, batched.changes) == (false, false, true))
        let down = Self.pool([[.down]], isFlushed: true).wakeCondition
        #expect((down.reads, down.searches, down.changes) == (true, true, true))
    }
}

extension LoopContext {
    /// A loop context on the test's own thread.
    static func unthreaded(_ change: (inout PostgresConfiguration) -> Void = { _ in }) -> LoopContext {
        var configuration = PostgresConfiguration(connectionString: "")
        change(&configuration)
        return LoopContext(
            configuration: configuration, logger: TestDatabase.logger, commandQueue: CommandQueue(),
            history: ReadHistory(), rows: RowBudget())
    }
}
