import Postgres
import Testing

@Suite("Responses in the shared pool, without a server")
struct SharedPoolAnswerTests {
    enum Fate: Sendable, Equatable {
        case results, again, alone
        case refused(PostgresError.Kind, isDetour: Bool = false)
    }

    /// A response and the expected fate.
    struct Course: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var error: PostgresError?
        var isReadOnly = false
        var attempts = 1
        var strikes = 0
        var isSearch = false
        var wasStopped = false
        var wasSlow = false
        var isStopping = false
        var fate: Fate
    }

    private static func error(_ sqlState: String, isStale: Bool = false) -> PostgresError {
        var error = PostgresError(.server, "it failed", sqlState: sqlState)
        error.isStaleStatement = isStale
        return error
    }

    private static let stale = error("26000", isStale: true)
    private static let refused = Fate.refused(.server)

    private static let courses = [
        Course(testDescription: "results", fate: .results),
        Course(testDescription: "an error of the request itself", error: error("23505"), fate: refused),
        Course(testDescription: "a stale statement", error: stale, attempts: 3, fate: .again),
        Course(testDescription: "a statement that stays stale", error: stale, attempts: 4, fate: refused),
        Course(testDescription: "a deadlock", error: error("40P01"), attempts: 5, fate: .again),
        Course(testDescription: "a conflict that persists", error: error("40001"), attempts: 6, fate: refused),
        Course(testDescription: "a conflict during shutdown", error: error("40001"), isStopping: true, fate: refused),
        Course(testDescription: "a write that was stopped", error: error("57014"), wasStopped: true, fate: refused),
        Course(
            testDescription: "a slow search that was stopped", error: error("57014"), isReadOnly: true, isSearch: true,
            wasStopped: true, wasSlow: true, fate: .refused(.server, isDetour: true)),
        Course(
            testDescription: "a search that was stopped instead of another", error: error("57014"),
            isReadOnly: true, isSearch: true, wasStopped: true, fate: .alone),
        Course(testDescription: "a read that timed out", error: error("57014"), isReadOnly: true, fate: refused),
        Course(
            testDescription: "a read that was stopped instead of another", error: error("57014"),
            isReadOnly: true, strikes: 1, wasStopped: true, fate: .alone),
        Course(
            testDescription: "a read that was stopped instead of others too often", error: error("57014"),
            isReadOnly: true, strikes: 2,
            wasStopped: true, fate: refused),
        Course(testDescription: "a read-only server", error: error("25006"), attempts: 3, fate: .again),
        Course(
            testDescription: "a server that stays read-only", error: error("25006"), attempts: 4,
            fate: .refused(.connectionLost)),
    ]

    @Test("Answers a request, resends it, or sends it alone", arguments: courses)
    func fates(course: Course) async throws {
        let context = LoopContext.unthreaded()
        let pool = SharedPool(context)
        // Later than the connections were opened.
        context.now = MonotonicInstant.now.after(.seconds(1))
        context.isStopping = course.isStopping
        pool.connections[0].stoppedAt = course.wasStopped ? context.now : nil
        let shape = ReadShape(try EncodedStatement(Statement("SELECT 1")).key, maxRows: 1, leadsToMore: false)
        let request = Request(
            .statements([]), isReadOnly: course.isReadOnly, shape: course.isSearch ? shape : nil,
            isSearch: course.isSearch)
        request.attempts = course.attempts
        request.strikes = course.strikes
        request.wasSlow = course.wasSlow
        if let error = course.error { request.sending.receiveFailure(error) }
        pool.didFinish(request, on: pool.connections[0])
        let isOver = request.isOver
        // No connection is open, so a resent request waits.
        #expect(pool.waiting == (isOver ? 0 : 1))
        let fate: Fate
        if !isOver {
            fate = request.travelsAlone ? .alone : .again
        } else {
            let refusal = await request.refusal
            fate = refusal.map { Fate.refused($0.kind, isDetour: $0.isDetour) } ?? .results
        }
        #expect(fate == course.fate)
        let isBarred = context.history.isBarred(shape, isSearch: true, memoryIsFull: false)
        #expect(isBarred == (fate == .refused(.server, isDetour: true)))
        #expect(request.preparesAnew == (course.fate == .again && course.error?.isStaleStatement == true))
    }

    @Test("Sends a request alone after it was skipped because of another's error")
    func skipped() {
        let pool = SharedPool(LoopContext.unthreaded())
        let request = Request(.statements([]), isReadOnly: true)
        request.sending.receiveFailure(nil)
        pool.didFinish(request, on: pool.connections[0])
        #expect(request.travelsAlone)
        #expect(pool.waiting == 1)
    }

    @Test("Resends only the failing change of a group alone, and after four failures every change")
    func members() {
        let pool = SharedPool(LoopContext.unthreaded())
        let members = (0..<3).map { Request(.statements([]), conflictKey: "\($0)", sharesTransaction: true) }
        for round in 1...4 {
            let together = Request(together: members)
            for _ in members {
                together.sending.addStatement()
                together.sending.endMember()
            }
            _ = together.sending.receiveResult()
            together.sending.receiveFailure(Self.error("23505"))
            pool.didFinish(together, on: pool.connections[0])
            #expect(members.map(\.travelsAlone) == (round < 4 ? [false, true, false] : [true, true, true]))
            #expect(members.map(\.undoings) == [round, round, round])
        }
        #expect(members.allSatisfy { !$0.isOver })
    }

    @Test("A lock timeout also rejects the row's next changes for a second")
    func locks() async {
        let context = LoopContext.unthreaded()
        let pool = SharedPool(context)
        func change() -> Request { Request(.statements([]), conflictKey: "Song:1", sharesTransaction: true) }
        let first = change()
        first.sending.receiveFailure(Self.error("55P03"))
        pool.didFinish(first, on: pool.connections[0])
        let next = change()
        pool.submit(next)
        let refusals = [await first.refusal, await next.refusal].map { $0?.isLockTimeout }
        #expect(refusals == [true, true])
        context.now = context.now.after(.milliseconds(1001))
        let last = change()
        pool.submit(last)
        #expect(!last.isOver)
        #expect(pool.waiting == 1)
    }

    @Test("Resends reads of broken connections twice, and fails writes as connectionLost")
    func losses() async {
        let pool = SharedPool(LoopContext.unthreaded())
        let (read, write) = (Request(.statements([]), isReadOnly: true), Request(.statements([])))
        let reason = PostgresError(.unavailable, "it broke")
        pool.didBreak(pool.connections[0], losing: [read, write], because: reason)
        #expect(!read.isOver)
        let lost = await write.refusal
        #expect(lost?.kind == .connectionLost)
        pool.didBreak(pool.connections[0], losing: [read], because: reason)
        #expect(!read.isOver)
        pool.didBreak(pool.connections[0], losing: [read], because: reason)
        let refusal = await read.refusal
        #expect(refusal?.kind == .connectionLost)
    }

    @Test("A request that waits for a connection fails as unavailable after the connect timeout")
    func waiting() async {
        let context = LoopContext.unthreaded { $0.connectTimeout = .seconds(7) }
        let pool = SharedPool(context)
        for connection in pool.connections { connection.reopening = nil }
        let request = Request(.statements([]))
        pool.submit(request)
        #expect(pool.nextDeadline == context.now.after(.seconds(7)))
        context.now = context.now.after(.seconds(6))
        pool.tick()
        #expect(pool.waiting == 1)
        context.now = context.now.after(.seconds(1))
        pool.tick()
        #expect(pool.waiting == 0)
        let refusal = await request.refusal
        #expect(refusal?.kind == .unavailable)
    }
}

extension Request {
    fileprivate var isOver: Bool { promise.isFulfilled }

    /// The error that the caller gets, or nil if it gets results.
    var refusal: PostgresError? {
        get async {
            do {
                _ = try await promise.value { true }
                return nil
            } catch {
                return error as? PostgresError
            }
        }
    }
}
