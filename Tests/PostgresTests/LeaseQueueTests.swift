import Limits
import Postgres
import Testing

@Suite("Lease queue, without a server")
struct LeaseQueueTests {
    private static func request(_ key: String? = nil, of sender: Sender = .server) -> LeaseRequest {
        CallerPresence.$current.withValue(CallerPresence(sender: sender)) {
            LeaseRequest(purpose: .transactions, conflictKey: key.map(ConflictKey.init))
        }
    }

    private static func connect(_ pool: ExclusivePool) {
        let connection = Connection(pool.context, pool: pool, pool.context.configuration.parameters(of: .transactions))
        connection.state = .ready
        pool.didConnect(connection)
    }

    /// Enqueues requests in a pool that opens no connections itself. The test adds them.
    private static func pool(_ requests: [LeaseRequest]) -> ExclusivePool {
        let context = LoopContext.unthreaded()
        let pool = ExclusivePool(context, purpose: .transactions)
        // The pool starts to open connections only after the time of its creation.
        context.now = context.now.after(.milliseconds(-1))
        for request in requests { pool.lease(request) }
        return pool
    }

    private static func lent(_ requests: [LeaseRequest]) -> [Bool] { requests.map { $0.promise.isFulfilled } }

    private static func lease(of request: LeaseRequest) async throws -> Lease {
        try await request.promise.value { true }
    }

    @Test("Requests for the same row get a connection one at a time, and other requests overtake them")
    func conflicts() async throws {
        let requests = [Self.request("row"), Self.request("row"), Self.request("row"), Self.request()]
        let pool = Self.pool(requests)
        #expect(pool.waiting == 4)
        for _ in 0..<3 { Self.connect(pool) }
        #expect(Self.lent(requests) == [true, false, false, true])
        #expect(pool.idleConnections == 1)
        let first = try await Self.lease(of: requests[0])
        pool.abandon(requests[1])
        pool.release(first, nil)
        pool.tick()
        #expect(Self.lent(requests) == [true, false, true, true])
        #expect(pool.waiting == 0)
    }

    @Test("Limits one sender to three quarters of the connections")
    func shares() {
        let (one, other) = (Sender(address: "192.0.2.1"), Sender(address: "192.0.2.2"))
        let requests = (0..<5).map { _ in Self.request(of: one) } + [Self.request(of: other)]
        let pool = Self.pool(requests)
        for _ in 0..<5 { Self.connect(pool) }
        #expect(Self.lent(requests) == [true, true, true, false, false, true])
        #expect(pool.idleConnections == 1)
    }

    private static func senders(_ count: Int) -> [Sender] { (1...count).map { Sender(address: "192.0.2.\($0)") } }

    @Test("Leases go first to the sender that has held connections for the least time")
    func leastTime() async throws {
        let senders = Self.senders(3)
        let first = Self.request(of: senders[0])
        let pool = Self.pool([first])
        Self.connect(pool)
        let requests = [senders[0], senders[0], senders[1], senders[2]].map { Self.request(of: $0) }
        for request in requests { pool.lease(request) }
        var lent = first
        for next in [2, 3, 0, 1] {
            pool.context.now = pool.context.now.after(.milliseconds(lent === first ? 20 : 5))
            pool.release(try await Self.lease(of: lent), nil)
            let isLent = requests[next].promise.isFulfilled
            #expect(isLent, "\(next)")
            lent = requests[next]
        }
    }

    @Test("Cancels the lease of the sender with the most connection time after others waited for a second")
    func heaviest() async throws {
        let senders = Self.senders(5)
        let requests = senders.dropLast().map { Self.request(of: $0) }
        let pool = Self.pool([])
        for request in requests {
            pool.lease(request)
            Self.connect(pool)
            pool.context.now = pool.context.now.after(.milliseconds(10))
        }
        #expect(Self.lent(requests) == [true, true, true, true])
        let (own, other) = (Self.request(of: senders[0]), Self.request(of: senders[4]))
        pool.lease(own)
        pool.context.now = pool.context.now.after(.milliseconds(500))
        pool.lease(other)
        // If the heaviest sender waits for itself, nothing is cancelled.
        for pause in [Duration.milliseconds(600), .milliseconds(300)] {
            pool.context.now = pool.context.now.after(pause)
            pool.tick()
            #expect(Self.lent([own, other]) == [false, false])
        }
        pool.context.now = pool.context.now.after(.milliseconds(200))
        pool.tick()
        #expect(Self.lent([own, other]) == [false, true])
        let stopped = Request(.statements([]))
        pool.submit(stopped, on: try await Self.lease(of: requests[0]))
        #expect(await stopped.refusal?.sqlState == "57014")
        let another = Request(.statements([]))
        pool.submit(another, on: try await Self.lease(of: requests[1]))
        #expect(await another.refusal?.kind == .connectionLost)
    }

    @Test("Never cancels leases for administration, heavy reads, lock waits or exports in favor of others")
    func patience() {
        let stopped = PoolPurpose.allCases.filter(\.stopsHeaviest)
        #expect(stopped == [.transactions, .batches, .slowReads, .limitedReads, .slowWrites])
    }

    @Test("Requests that wait too long fail as busy, including those queued for the same row")
    func timeouts() async {
        let requests = [Self.request("row"), Self.request("row")]
        let pool = Self.pool(requests)
        pool.context.now = pool.context.now.after(pool.context.configuration.connectionWait)
        pool.tick()
        #expect(pool.timeouts == 2)
        #expect(pool.isIdle)
        for request in requests {
            let error = await #expect(throws: PostgresError.self) { try await Self.lease(of: request) }
            #expect(error?.kind == .busy)
        }
    }
}
