import CloudCode
import ParseStorage
import ServerConfiguration
import Synchronization

/// The limits on requests that cloud code declares, which may change while the server runs.
final class DeclaredLimits: Sendable {
    private struct State {
        var changes = 0
        var limiter: RateLimiter?
    }

    private let cloud: CloudEngine
    private let configuration: Configuration
    private let store: ObjectStore
    private let state = Mutex(State())

    /// - Parameters:
    ///   - configuration: Where it is counted.
    ///   - store: Where the counts are kept that all processes share.
    init(of cloud: CloudEngine, _ configuration: Configuration, _ store: ObjectStore) {
        self.cloud = cloud
        self.configuration = configuration
        self.store = store
    }

    /// What counts for the limits that are in force; nil where there are none, which costs next to nothing to find out.
    var limiter: RateLimiter? {
        let changes = cloud.rateLimitChanges
        guard changes != 0 else { return nil }
        return state.withLock { state in
            if state.changes != changes {
                state.limiter = RateLimiter(cloud.rateLimits, configuration, store)
                state.changes = changes
            }
            return state.limiter
        }
    }
}
