import Synchronization

/// Who wants to know that the declared webhooks changed, in this process or another.
public final class HookChanges: Sendable {
    private let followers = Mutex<[@Sendable () async -> Void]>([])

    /// Has something called after each change.
    public func follow(_ follower: @escaping @Sendable () async -> Void) {
        followers.withLock { $0.append(follower) }
    }

    func notify() async {
        for follower in followers.withLock({ $0 }) { await follower() }
    }
}
