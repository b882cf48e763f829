import JSON
import Limits
import ParseModel
import Rules
import Synchronization

/// A cache of recently used sessions. Most requests need no query to identify their user.
package final class SessionCache: Sendable {
    package struct Entry: Sendable {
        var user: SessionUser
        /// The session's expiry in milliseconds since 1970, or nil if it doesn't expire.
        var expiresAt: Int64?
        /// The time of the row's last change, in milliseconds since 1970.
        var updatedAt: Int64
        /// The time of the lookup, in milliseconds since 1970.
        var loadedAt: Int64

        package init(user: SessionUser, expiresAt: Int64? = nil, updatedAt: Int64, loadedAt: Int64) {
            self.user = user
            self.expiresAt = expiresAt
            self.updatedAt = updatedAt
            self.loadedAt = loadedAt
        }
    }

    private struct State {
        let capacity: Int
        var entries: BoundedTable<Name, Entry>
        var tokens: [Name: Set<Name>] = [:]
        /// Incremented by each invalidation, so that lookups begun before it aren't cached.
        var generation = 0

        /// Stores an entry. A user with many roles counts as several entries.
        mutating func store(_ entry: Entry) {
            let weight = min(1 + entry.user.roles.count / SessionCache.rolesOfOne, capacity)
            for dropped in entries.set(entry, for: Name(entry.user.token), weight: weight) { removeToken(dropped.user) }
        }

        mutating func removeToken(_ user: SessionUser) {
            let id = Name(user.id)
            tokens[id]?.remove(Name(user.token))
            if tokens[id]?.isEmpty == true { tokens[id] = nil }
        }
    }

    private let state: Mutex<State>
    private let timeToLive: Int64
    /// The number of roles that count as one more entry.
    package static let rolesOfOne = 20

    /// - Parameters:
    ///   - timeToLive: The maximum age of an entry in milliseconds.
    ///   - capacity: The maximum number of entries. The least recently used are evicted.
    package init(timeToLive: Int64, capacity: Int) {
        self.timeToLive = timeToLive
        let capacity = max(capacity, 1)
        state = Mutex(State(capacity: capacity, entries: BoundedTable(capacity: capacity)))
    }

    /// Returns the entry for a token if it is recent enough.
    package func find(_ token: String, now: Int64) -> Entry? {
        state.withLock {
            guard let entry = $0.entries.value(of: Name(token)), now - entry.loadedAt < timeToLive else { return nil }
            return entry
        }
    }

    /// The number of invalidations so far. Read it before a lookup, and pass it to ``insert(_:generation:)``
    /// afterward.
    package var generation: Int { state.withLock { $0.generation } }

    /// Stores a session, unless an invalidation has happened since its lookup began.
    package func insert(_ entry: Entry, generation: Int) {
        state.withLock {
            guard $0.generation == generation else { return }
            $0.tokens[Name(entry.user.id), default: []].insert(Name(entry.user.token))
            $0.store(entry)
        }
    }

    /// Whether the caller should extend the session. If it is cached, only one of several concurrent requests should.
    ///
    /// - Parameter moment: A time in milliseconds since 1970. The session is due if its last change was earlier.
    package func claimExtension(of token: String, changedBefore moment: Int64, now: Int64) -> Bool {
        state.withLock {
            guard var entry = $0.entries.peek(Name(token)) else { return true }
            guard entry.updatedAt < moment else { return false }
            entry.updatedAt = now
            $0.store(entry)
            return true
        }
    }

    /// Evicts a user's sessions. As in parse-server, running requests keep the record they started with.
    package func invalidate(user id: String) {
        state.withLock {
            $0.generation += 1
            for token in $0.tokens.removeValue(forKey: id) ?? [] { $0.entries.remove(token) }
        }
    }

    package func invalidateAll() {
        state.withLock {
            $0.generation += 1
            $0.entries.removeAll()
            $0.tokens.removeAll()
        }
    }
}
