import Synchronization
import Tasks

/// When callers last wrote, so that they do not read from a replica that has not got so far.
final class OwnWrites: Sendable {
    /// How many callers are remembered.
    private static let capacity = 100_000
    /// For how many milliseconds a write is remembered: a replica that is further behind is of little use.
    private static let memory: Int64 = 60_000
    /// The same where it is not known how far replicas are.
    private static let shortMemory: Int64 = 5_000

    /// By hashes of the callers, of whom installations name themselves as they like. Two of one hash read on the primary
    /// now and then for nothing.
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
