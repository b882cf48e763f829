public import JSON
import Synchronization

/// Who wants to know that something about a user changed, in this process or another: fields, roles, sessions that ended.
public final class UserChanges: Sendable {
    private struct Follower: Sendable {
        let note: @Sendable (Name) -> Void
        let settle: @Sendable (Name) async -> Void
    }

    private let followers = Mutex<[Follower]>([])

    /// Has something called after each change.
    ///
    /// - Parameters:
    ///   - note: Is given the id of the user. It only takes note: the change waits for it.
    ///   - settle: Returns when what was noted of a user had its effect, or after a short time.
    public func follow(_ note: @escaping @Sendable (Name) -> Void, settle: @escaping @Sendable (Name) async -> Void) {
        followers.withLock { $0.append(Follower(note: note, settle: settle)) }
    }

    func notify(_ userId: String) {
        for follower in followers.withLock({ $0 }) { follower.note(Name(userId)) }
    }

    /// Waits until what was noted of a user had its effect, for a short time at most.
    func settle(_ userId: String) async {
        for follower in followers.withLock({ $0 }) { await follower.settle(Name(userId)) }
    }
}
