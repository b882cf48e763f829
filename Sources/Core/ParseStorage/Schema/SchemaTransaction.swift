import Postgres
import Synchronization

/// A transaction that changes tables.
///
/// A change of a table waits for all statements that use it, and later ones wait behind it: beside a backup, reads of
/// the class would stand still for as long as the backup takes. So a change waits for a moment only, lets the others
/// pass, and comes again, until its own time is over.
package struct SchemaTransaction {
    let client: PostgresClient
    /// Where it waits for other changes of this process; nil where there are none.
    let gate: SchemaChangeGate?
    /// For how long it comes again.
    let retryDuration: Duration

    /// Milliseconds for which one attempt may block others.
    private static let lockTimeout = 100

    /// Makes a transaction.
    ///
    /// - Parameter retryDuration: For how long it comes again; as long as other transactions may take if nothing is
    ///   said.
    package init(client: PostgresClient, gate: SchemaChangeGate? = nil, retryDuration: Duration? = nil) {
        self.client = client
        self.gate = gate
        self.retryDuration = retryDuration ?? client.transactionTimeout
    }

    /// Runs `body` in a transaction, under the lock by which every Roost process changes classes.
    ///
    /// - Parameter body: Is run again when a table was in use. It must not leave traces elsewhere.
    /// - Throws: What `body` throws; `PostgresError` 55P03 when a table was in use all the time.
    func run<R: Sendable>(_ body: @Sendable (PostgresSession) async throws -> R) async throws -> R {
        try await retrying {
            try await client.transaction(purpose: .administration) { session in
                try await Self.lock(session)
                return try await body(session)
            }
        }
    }

    /// Runs `attempt` again, with growing pauses of random length, for as long as it finds something locked.
    ///
    /// - Throws: What `attempt` throws; `PostgresError` 55P03 when the time is over.
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

    /// Takes the lock of changes for the transaction that a session is in, and lets nothing in it wait for long.
    static func lock(_ session: PostgresSession) async throws {
        _ = try await session.group([
            // Another process that changes a class keeps only this one waiting.
            Statement("SELECT set_config('lock_timeout', '2000', true)"),
            Statement("SELECT pg_advisory_xact_lock(\(ProcessLock.schemaChange.key))"),
            Statement("SELECT set_config('lock_timeout', $1, true)", [.text("\(lockTimeout)")]),
        ])
    }

    /// Runs one statement that changes a table beside other work, in a transaction of its own, without the lock.
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

    /// What stands in a script so that none of its statements waits for long.
    static let scriptSetting = "SET LOCAL lock_timeout = \(lockTimeout);"
}

/// Lets one change of classes through at a time, and none for a while after one that found a table in use.
///
/// Changes that wait here hold no connection, and however many there are, those who use a table wait behind one of them
/// for a small part of the time.
package final class SchemaChangeGate: Sendable {
    private struct State {
        var isBusy = false
        var closedUntil = ContinuousClock.now
    }

    private let state = Mutex(State())

    /// Pause after a table was in use: three times as long as others waited for it.
    private static let rest: Duration = .milliseconds(300)

    /// Waits until the change may go on; ``leave(tableWasInUse:)`` ends it.
    ///
    /// - Returns: False when that did not come before `end`.
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

    /// Lets the next change through.
    func leave(tableWasInUse: Bool) {
        state.withLock { state in
            state.isBusy = false
            if tableWasInUse { state.closedUntil = ContinuousClock.now + Self.rest }
        }
    }
}
