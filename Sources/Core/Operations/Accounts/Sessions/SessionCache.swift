import JSON
import ParseModel
import Rules
import Synchronization
import Tasks

/// Sessions that were looked up lately, so that most requests need no statement to know their user.
package final class SessionCache: Sendable {
    package struct Entry: Sendable {
        var user: SessionUser
        /// When the session ends, in milliseconds since 1970; nil for never.
        var expiresAt: Int64?
        /// When the session's row was last changed.
        var updatedAt: Int64
        /// When this was looked up.
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
        /// Counts forgettings: an answer that was on its way meanwhile is not remembered.
        var generation = 0

        /// Keeps an entry. One whose user has many roles takes the place of several.
        mutating func keep(_ entry: Entry) {
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
    /// How many roles a session has that takes no more room than one.
    package static let rolesOfOne = 20

    /// - Parameters:
    ///   - timeToLive: How long an entry counts, in milliseconds.
    ///   - capacity: How many are remembered: those that were asked for last.
    package init(timeToLive: Int64, capacity: Int) {
        self.timeToLive = timeToLive
        let capacity = max(capacity, 1)
        state = Mutex(State(capacity: capacity, entries: BoundedTable(capacity: capacity)))
    }

    /// What is remembered of a token, unless it is too old.
    package func find(_ token: String, now: Int64) -> Entry? {
        state.withLock {
            guard let entry = $0.entries.value(of: Name(token)), now - entry.loadedAt < timeToLive else { return nil }
            return entry
        }
    }

    /// To be read before a look-up and given to ``insert(_:generation:)`` after it.
    package var generation: Int { state.withLock { $0.generation } }

    /// Remembers a session, unless something was forgotten since its look-up began.
    package func insert(_ entry: Entry, generation: Int) {
        state.withLock {
            guard $0.generation == generation else { return }
            $0.tokens[Name(entry.user.id), default: []].insert(Name(entry.user.token))
            $0.keep(entry)
        }
    }

    /// Whether a caller is the one to extend a session: of all requests that see at once that it is due, the first.
    ///
    /// - Parameter moment: The session is due when it was changed before.
    package func claimExtension(of token: String, changedBefore moment: Int64, now: Int64) -> Bool {
        state.withLock {
            guard var entry = $0.entries.peek(Name(token)) else { return true }
            guard entry.updatedAt < moment else { return false }
            entry.updatedAt = now
            $0.keep(entry)
            return true
        }
    }

    /// Forgets the sessions of a user who was changed. Requests that are under way keep the record that they have: as with
    /// parse-server, triggers get the user who sent the request.
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
