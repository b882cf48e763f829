import Synchronization
import Tasks

/// When callers last wrote, so that they do not read from a replica that has not got so far.
final class OwnWrites: Sendable {
    /// Maximum remembered callers.
    private static let capacity = 100_000
    /// Milliseconds for which a write counts. A replica further behind is of little use.
    private static let memory: Int64 = 60_000
    /// The same if the lag of replicas is unknown.
    private static let shortMemory: Int64 = 5_000

    /// By hashes of the callers, because installations choose their own names. A collision only causes some reads on
    /// the primary.
    private let instants = Mutex(BoundedTable<Int, Int64>(capacity: capacity))

    /// Notes that the caller of this task wrote something, which is committed.
    func note() {
        guard let writer = WritingCaller.current else { return }
        let now = ReplicaClock.now
        _ = instants.withLock { $0.set(now, for: writer.hashValue) }
    }

    /// What a replica must know for the caller of this task to find what it wrote; nil for nothing.
    ///
    /// - Parameter isMeasured: Whether it is known how far replicas are.
    func last(isMeasured: Bool) -> Int64? {
        guard let writer = WritingCaller.current, let instant = instants.withLock({ $0.peek(writer.hashValue) }) else {
            return nil
        }
        return ReplicaClock.now - instant <= (isMeasured ? Self.memory : Self.shortMemory) ? instant : nil
    }
}

/// Whose request a task is for, where reads may go to replicas.
public enum WritingCaller {
    /// A user, or an installation without one; nil for callers that are not known again.
    @TaskLocal public static var current: String?
}
