import Limits
import Postgres
import Testing

@Suite("Memory budget for rows")
struct RowBudgetTests {
    private static func asSender<R: Sendable>(
        _ address: String, _ body: @Sendable () async throws -> R
    ) async throws -> R {
        try await CallerPresence.$current.withValue(CallerPresence(sender: Sender(address: address)), operation: body)
    }

    @Test("Small results get memory even while large ones are read or waiting", .timeLimit(.minutes(1)))
    func lanes() async throws {
        let budget = RowBudget()
        let large = try await budget.reserve(RowBudget.capacity)
        let waits = (1...32).map { number in
            Task {
                try await Self.asSender("192.0.2.\(number)") { try await budget.reserve(RowBudget.capacity).release() }
            }
        }
        for _ in 0..<100 { try await Self.asSender("198.51.100.1") { try await budget.reserve(100 * 1024).release() } }
        let small = try await budget.reserve(RowBudget.maxSmallBytes)
        #expect(budget.used == RowBudget.capacity + RowBudget.maxSmallBytes)
        small.release()
        large.release()
        for wait in waits { try await wait.value }
        #expect(budget.used == 0)
    }

    @Test("A reservation that grows leaves the lane for small results, and can't grow after its release")
    func changes() async throws {
        let budget = RowBudget()
        let grown = try await budget.reserve(RowBudget.maxSmallBytes)
        grown.resize(to: 64 * 1024 * 1024)
        #expect(!budget.isOverfull)
        grown.resize(to: 1_000_000)
        #expect(budget.used == 1_000_000)
        grown.release()
        grown.resize(to: 5)
        #expect(budget.used == 0)
    }

    @Test("Stops a large read, but no small one, once another sender has waited too long", .timeLimit(.minutes(1)))
    func stop() async throws {
        let budget = RowBudget(shortestRead: .zero, patience: .milliseconds(10))
        @Sendable func read(_ address: String, _ bytes: Int = RowBudget.capacity) -> Task<Void, any Error> {
            Task {
                try await Self.asSender(address) {
                    let reservation = try await budget.reserve(bytes)
                    try await budget.reading(reservation) {
                        do {
                            try await Task.sleep(for: .seconds(600))
                        } catch {
                            throw PostgresError.cancelled
                        }
                    }
                }
            }
        }
        let small = read("192.0.2.3", RowBudget.maxSmallBytes)
        #expect(try await eventually { budget.used == RowBudget.maxSmallBytes })
        let first = read("192.0.2.1")
        #expect(try await eventually { budget.used == RowBudget.maxSmallBytes + RowBudget.capacity })
        let own = read("192.0.2.1")
        let other = read("192.0.2.2")
        let error = try await failure { try await first.value }
        #expect(error?.sqlState == "57014" && error?.isTimeout == false)
        // Then the other one is stopped in favor of the first sender's waiting reads.
        #expect(try await failure { try await other.value }?.sqlState == "57014")
        own.cancel()
        #expect(try await failure { try await own.value }?.kind == .cancelled)
        #expect(try await eventually { budget.used == RowBudget.maxSmallBytes })
        small.cancel()
        #expect(try await failure { try await small.value }?.kind == .cancelled)
        #expect(try await eventually { budget.used == 0 })
    }
}
