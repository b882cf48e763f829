import Limits
import Synchronization

/// The times of callers' recent writes, so that their reads skip replicas that lack these writes.
final class OwnWrites: Sendable {
    private static let capacity = 100_000
    /// The time in milliseconds after a write during which the caller's reads skip replicas that lack it.
    private static let memory: Int64 = 60_000
    /// Like ``memory``, for replicas whose lag is unknown.
    private static let shortMemory: Int64 = 5_000

    /// The times of the last writes, by hash of the caller, because clients choose installation ids of any length. A
    /// collision only causes some reads on the primary.
    private let instants = Mutex(BoundedTable<Int, Int64>(capacity: capacity))

    /// Records a write of the current task's caller that has been or may have been committed.
    func record() {
        guard let writer = WritingCaller.current else { return }
        let now = ReplicaClock.now
        _ = instants.withLock { $0.set(now, for: writer.hashValue) }
    }

    /// Returns the instant that a replica must have reached to contain the caller's last write, or nil if the caller
    /// hasn't written recently.
    ///
    /// - Parameter isMeasured: Whether the lag of replicas is known.
    func last(isMeasured: Bool) -> Int64? {
        guard let writer = WritingCaller.current, let instant = instants.withLock({ $0.peek(writer.hashValue) }) else {
            return nil
        }
        return ReplicaClock.now - instant <= (isMeasured ? Self.memory : Self.shortMemory) ? instant : nil
    }
}

/// The caller whose request a task handles, for reads on replicas, which must contain the caller's own writes.
public enum WritingCaller {
    /// The user's id or else the installation id, or nil if there is neither or no replicas are configured.
    @TaskLocal public static var current: String?
}
