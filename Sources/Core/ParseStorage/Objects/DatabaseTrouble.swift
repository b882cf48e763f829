import Postgres
import Synchronization

/// PostgreSQL's last message about a lack of resources or a failed disk, until a write succeeds.
public final class DatabaseTrouble: Sendable {
    private let message = Mutex<String?>(nil)
    private let isSet = Atomic(false)

    public init() {}

    /// The last message, or nil if there was none since the last successful write.
    public var lastFailure: String? { message.withLock { $0 } }

    /// Whether PostgreSQL lacks resources or its disk or system failed. Such a message never quotes client data.
    static func isTrouble(_ error: PostgresError) -> Bool {
        error.kind == .server && ["53", "58"].contains(where: error.sqlState.hasPrefix)
    }

    func record(_ error: PostgresError) {
        message.withLock { $0 = error.message }
        isSet.store(true, ordering: .relaxed)
    }

    /// Clears the message after a successful write.
    public func clear() {
        guard isSet.load(ordering: .relaxed) else { return }
        isSet.store(false, ordering: .relaxed)
        message.withLock { $0 = nil }
    }
}
