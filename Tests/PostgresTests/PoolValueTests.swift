import Postgres
import Testing

@Suite("Group commits, back-off and pool limits, without a server")
struct PoolValueTests {
    private let start = MonotonicInstant.now

    private static func change(_ key: String) -> Request {
        Request(.statements([]), conflictKey: key, sharesTransaction: true)
    }

    @Test("Groups up to 32 changes in key order and leaves out those whose caller stopped waiting")
    func groups() {
        var queue = GroupCommitQueue()
        let requests = (0..<40).map { Self.change("Song:\($0)") }
        for request in requests { queue.append(request) }
        requests[3].fail(.cancelled)
        let first = queue.next()?.members ?? []
        #expect(first.count == 31)
        let keys = first.compactMap(\.conflictKey)
        #expect(keys == keys.sorted())
        queue.putBack([requests[0]])
        let second = queue.next()?.members ?? []
        #expect(second.count == 9)
        #expect(second.contains { $0 === requests[0] })
        #expect(queue.isEmpty)
    }

    @Test("Sends a lone change without a group, and none whose caller stopped waiting")
    func singleChanges() {
        var queue = GroupCommitQueue()
        let (one, gone) = (Self.change("a"), Self.change("b"))
        gone.fail(.cancelled)
        queue.append(one)
        queue.append(gone)
        let next = queue.next()
        #expect(next === one)
        queue.append(gone)
        let none = queue.next()
        #expect(none == nil)
    }

    @Test("Recent entries are forgotten after one second")
    func recentEntries() {
        var entries = RecentEntries<String>()
        entries.record("a", at: start)
        entries.record(nil, at: start)
        let found = [("a", 0), ("b", 0), ("a", 1000), ("a", 1001), ("a", 0)].map { key, milliseconds in
            entries.include(key, at: start.after(.milliseconds(milliseconds)))
        }
        #expect(found == [true, false, true, false, false])
    }

    @Test("Doubles the pause between reconnects from 50 ms up to two seconds")
    func backOff() {
        var backOff = BackOff()
        let pauses = (0..<8).map { _ in backOff.next().milliseconds }
        #expect(pauses == [50, 100, 200, 400, 800, 1600, 2000, 2000])
    }

    @Test("Replaces connections to a read-only server, less often while it remains read-only")
    func renewal() {
        var renewal = ConnectionRenewal()
        /// Reports that a newly opened connection was refused.
        func refuse(_ milliseconds: Int) -> Bool {
            let now = start.after(.milliseconds(milliseconds))
            return renewal.recordRefusal(openedAt: now, at: now)
        }
        let isRenewed = [0, 999, 1000, 2999, 3000, 6999, 7000].map(refuse)
        #expect(isRenewed == [true, false, true, false, true, false, true])
        #expect(renewal.concerns(openedAt: start))
        #expect(!renewal.concerns(openedAt: start.after(.seconds(7))))
        // After a while without refusals, the pauses are short again.
        let isRenewedLater = [100_000, 100_999, 101_000].map(refuse)
        #expect(isRenewedLater == [true, false, true])
    }

    @Test("Limits connections per purpose, and one sender to three quarters of the larger pools")
    func limits() {
        var configuration = PostgresConfiguration(connectionString: "")
        configuration.exclusiveConnections = 8
        let numbers = PoolPurpose.allCases.map { [configuration.limit(of: $0), configuration.share(of: $0)] }
        #expect(numbers == [[2, 2], [4, 3], [4, 3], [4, 3], [2, 2], [1, 1], [4, 3], [4, 3], [2, 2]])
    }

    @Test(
        "Rejects statements on shared connections that would affect other requests",
        arguments: [
            ("SELECT 1", true), ("begin", false), (" \n Commit", false), ("SAVEPOINT a", false), ("SET a = 1", true),
            ("DEALLOCATE ALL", false), ("UPDATE t SET a = 1", true), ("LISTENER", true), ("COPY t FROM STDIN", false),
        ])
    func statements(sql: String, isTaken: Bool) {
        let isRefused = (try? SharedPoolRules.check(sql)) == nil
        #expect(isRefused == !isTaken)
    }
}
