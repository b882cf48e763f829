public import JSON
import Synchronization

/// Who wants to know that something about a user changed, in this process or another: fields, roles, sessions that ended.
public final class UserChanges: Sendable {
    private let followers = Mutex<[@Sendable (Name) -> Void]>([])

    /// Has something called after each change, with the id of the user. It only takes note: the change waits for it.
    public func follow(_ follower: @escaping @Sendable (Name) -> Void) {
        followers.withLock { $0.append(follower) }
    }

    func tell(_ userId: String) {
        for follower in followers.withLock({ $0 }) { follower(Name(userId)) }
    }
}
