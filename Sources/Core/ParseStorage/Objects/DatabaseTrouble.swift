import Postgres
import Synchronization

/// PostgreSQL's words about why it could not write, until a write succeeds.
public final class DatabaseTrouble: Sendable {
    private let message = Mutex<String?>(nil)
    private let isSet = Atomic(false)

    /// No trouble yet.
    public init() {}

    /// The words about the last failure, or nil if writes succeed.
    public var lastFailure: String? { message.withLock { $0 } }

    /// Whether an error stands for missing room or a broken disk. Its message quotes nothing that clients sent.
    static func isTrouble(_ error: PostgresError) -> Bool {
        error.kind == .server && ["53", "58"].contains(where: error.sqlState.hasPrefix)
    }

    func record(_ error: PostgresError) {
        message.withLock { $0 = error.message }
        isSet.store(true, ordering: .relaxed)
    }

    /// Forgets the last failure after a successful write.
    public func clear() {
        guard isSet.load(ordering: .relaxed) else { return }
        isSet.store(false, ordering: .relaxed)
        message.withLock { $0 = nil }
    }
}
