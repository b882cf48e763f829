import Postgres
import Synchronization

/// A transaction that changes tables without blocking their users for long.
///
/// Changing a table waits for all statements that use it, and later statements queue behind the change. During a
/// backup, reads of the class would block until the backup ends. So each attempt waits only briefly and then lets the
/// other statements pass. Attempts are repeated until the time is up.
package struct SchemaTransaction {
    let client: PostgresClient
    /// The gate that serializes the schema changes of this process, or nil if they needn't be serialized.
    let gate: SchemaChangeGate?
    /// The time for which an attempt is repeated while a table is in use.
    let retryDuration: Duration

    /// The milliseconds that an attempt may wait for a lock. Meanwhile it blocks other statements.
    private static let lockTimeout = 100

    /// - Parameter retryDuration: The time for which an attempt is repeated while a table is in use. Defaults to the
    ///   client's transaction timeout.
    package init(client: PostgresClient, gate: SchemaChangeGate? = nil, retryDuration: Duration? = nil) {
        self.client = client
        self.gate = gate
        self.retryDuration = retryDuration ?? client.transactionTimeout
    }

    /// Runs `body` in a transaction under the schema-change lock.
    ///
    /// - Parameter body: Runs again if a table was in use, so it must not have effects outside the transaction.
    /// - Throws: `PostgresError` 55P03 if a table or the schema-change lock stayed in use, or an error of `body`.
    func run<R: Sendable>(_ body: @Sendable (PostgresSession) async throws -> R) async throws -> R {
        try await retrying {
            try await client.transaction(purpose: .administration) { session in
                try await Self.lock(session)
                return try await body(session)
            }
        }
    }

    /// Repeats `attempt`, with growing random pauses, while it fails because a table is locked.
    ///
    /// - Throws: `PostgresError` 55P03 if the time is up, or an error of `attempt`.
    func retrying<R>(_ attempt: () async throws -> R) async throws -> R {
        let end = ContinuousClock.now + retryDuration
        var longest = 20
        while true {
            if let gate, try await !gate.enter(before: end) {
                throw PostgresError(.server, "waited too long for another schema change", sqlState: "55P03")
            }
            do {
                let result = try await attempt()
                gate?.leave(tableWasInUse: false)
                return result
            } catch {
                let isInUse = (error as? PostgresError)?.sqlState == "55P03"
                gate?.leave(tableWasInUse: isInUse)
                guard isInUse, ContinuousClock.now < end else { throw error }
            }
            try await Task.sleep(for: .milliseconds(Int.random(in: 5...longest)))
            longest = min(longest * 2, 500)
        }
    }

    /// Acquires the schema-change lock for the session's transaction, and limits all further lock waits in it.
    static func lock(_ session: PostgresSession) async throws {
        _ = try await session.group([
            // Waiting for another process's schema change blocks nobody else, so it may take longer.
            Statement("SELECT set_config('lock_timeout', '2000', true)"),
            Statement("SELECT pg_advisory_xact_lock(\(ProcessLock.schemaChange.key))"),
            Statement("SELECT set_config('lock_timeout', $1, true)", [.text("\(lockTimeout)")]),
        ])
    }

    /// Runs one statement that changes a table in a separate transaction, without the schema-change lock.
    package func run(_ sql: String) async throws {
        try await retrying {
            _ = try await client.transaction(purpose: .administration) { session in
                try await session.group([
                    Statement("SELECT set_config('lock_timeout', $1, true)", [.text("\(Self.lockTimeout)")]),
                    Statement(sql),
                ])
            }
        }
    }

    /// The setting that limits the lock waits of a script's statements.
    static let scriptSetting = "SET LOCAL lock_timeout = \(lockTimeout);"
}

/// Admits one schema change of this process at a time, and none for 300 ms after a change that found a table in use.
///
/// Waiting changes hold no connection. Regardless of their number, they block the statements that use a table for only
/// a small part of the time.
package final class SchemaChangeGate: Sendable {
    private struct State {
        var isBusy = false
        var closedUntil = ContinuousClock.now
    }

    private let state = Mutex(State())

    /// Pause after a table was in use: three times as long as others waited for it.
    private static let rest: Duration = .milliseconds(300)

    /// Waits until the change is admitted. If it is, ``leave(tableWasInUse:)`` must follow.
    ///
    /// - Returns: False if it wasn't admitted before `end`.
    func enter(before end: ContinuousClock.Instant) async throws -> Bool {
        var longest = 8
        while !tryEnter() {
            guard ContinuousClock.now < end else { return false }
            try await Task.sleep(for: .milliseconds(Int.random(in: 2...longest)))
            longest = min(longest * 2, 100)
        }
        return true
    }

    private func tryEnter() -> Bool {
        state.withLock { state in
            guard !state.isBusy, state.closedUntil <= ContinuousClock.now else { return false }
            state.isBusy = true
            return true
        }
    }

    /// Ends a change. The next one can enter, after a short pause if a table was in use.
    func leave(tableWasInUse: Bool) {
        state.withLock { state in
            state.isBusy = false
            if tableWasInUse { state.closedUntil = ContinuousClock.now + Self.rest }
        }
    }
}
