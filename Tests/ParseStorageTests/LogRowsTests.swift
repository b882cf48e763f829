import ParseModel
import ParseStorage
import TestSupport
import Testing

/// The table of the log of all processes.
@Suite("Lines of the log in the database")
struct LogRowsTests {
    /// The days that there is room for.
    private static func days(_ test: TestStore) async throws -> [String] {
        try await TestServer.texts(
            """
            SELECT relname::text FROM pg_inherits JOIN pg_class ON oid = inhrelid
            WHERE inhparent = '"_roost_log"'::regclass ORDER BY 1
            """, on: test.uri
        ).map { String($0.dropFirst("_roost_log_".count)) }
    }

    private static func line(_ time: String) throws -> LogRows.Line {
        let moment = try #require(ParseDate(iso: time)).milliseconds
        return LogRows.Line(moment: moment, isError: false, text: #"{"message":"\#(time)"}"#)
    }

    private static func texts(_ test: TestStore) async throws -> [String] {
        let all = LogRows.Range(from: 0, until: 4_102_444_800_000, onlyErrors: false, isAscending: true)
        return try await test.store.log.lines(all, skip: 0, limit: 100).map { String($0.text.dropFirst(12).prefix(10)) }
    }

    @Test(
        "A day's lines go when the day is kept no longer, also where no process ran for a while, and a day can be made again"
    )
    func kept() async throws {
        try await TestStore.run { test in
            let log = test.store.log
            for day in ["2026-02-27", "2026-02-28", "2026-03-01"] {
                try await log.prepare(day: day, kept: 2)
                try await log.prepare(day: day, kept: 2)
                try await log.add(
                    [try Self.line("\(day)T00:00:00.000Z"), try Self.line("\(day)T23:59:59.999Z")], day: day)
            }
            #expect(try await Self.days(test) == ["2026_02_28", "2026_03_01", "2026_03_02"])
            #expect(try await Self.texts(test) == ["2026-02-28", "2026-02-28", "2026-03-01", "2026-03-01"])
            // A process whose clock is behind takes nothing away.
            try await log.prepare(day: "2026-02-28", kept: 2)
            #expect(try await Self.texts(test).count == 4)
            try await log.prepare(day: "2026-03-20", kept: 2)
            #expect(try await Self.days(test) == ["2026_03_20", "2026_03_21"])
            #expect(try await Self.texts(test).isEmpty)
            try await log.add(
                [try Self.line("2026-03-20T12:00:00.000Z"), try Self.line("2026-03-21T00:00:00.000Z")],
                day: "2026-03-20")
            #expect(try await Self.texts(test).count == 2)
        }
    }

    @Test("Lines of a day that is kept no longer, and of a clock that was wrong, keep no others from being stored")
    func withoutRoom() async throws {
        try await TestStore.run { test in
            let log = test.store.log
            // The last lines of a day are sent when the next has begun.
            try await log.prepare(day: "2026-02-28", kept: 1)
            try await log.prepare(day: "2026-03-01", kept: 1)
            let times = [
                "2026-02-28T23:59:59.900Z", "2026-03-01T00:00:00.100Z", "1970-01-01T00:00:05.000Z",
                "2031-01-01T00:00:00.000Z",
            ]
            try await log.add(try times.map { try Self.line($0) }, day: "2026-03-01")
            #expect(try await Self.texts(test) == ["2026-02-28", "1970-01-01", "2026-03-01", "2031-01-01"])
            #expect(try await Self.days(test) == ["2026_03_01", "2026_03_02"])
        }
    }

    @Test("Processes that begin a day at once do not disturb each other")
    func atOnce() async throws {
        try await TestStore.run { test in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        try await test.store.log.prepare(day: "2026-03-01", kept: 1)
                        try await test.store.log.add(
                            [try Self.line("2026-03-01T12:00:00.000Z")], day: "2026-03-01")
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await Self.texts(test).count == 8)
            #expect(try await test.store.log.latest() == 8)
        }
    }
}
