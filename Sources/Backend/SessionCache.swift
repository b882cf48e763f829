import ParseModel
import Synchronization

/// Sessions that were looked up lately, so that most requests need no statement to know their user.
final class SessionCache: Sendable {
    /// A session as the database had it.
    struct Entry: Sendable {
        var user: SessionUser
        /// When the session ends, in milliseconds since 1970; nil for never.
        var expiresAt: Int64?
        /// When the session's row was last changed.
        var updatedAt: Int64
        /// When this was looked up.
        var loadedAt: Int64
        /// The user's own record, once it was asked for.
        var record: Record?
    }

    /// What a user reads of itself, as it is answered.
    struct Record: Sendable {
        var bytes: [UInt8]
        /// The URL under which the API was reached: links to files in it begin with that.
        var mountURL: String
        /// The version of the schema by which it was read.
        var schemaVersion: Int
    }

    private struct State {
        var entries: [String: Entry] = [:]
        var tokens: [String: Set<String>] = [:]
        /// Counts forgettings: an answer that was on its way meanwhile is not remembered.
        var generation = 0
    }

    private let state = Mutex(State())
    private let timeToLive: Int64
    private let capacity: Int

    /// - Parameter timeToLive: How long an entry counts, in milliseconds.
    init(timeToLive: Int64, capacity: Int) {
        self.timeToLive = timeToLive
        self.capacity = capacity
    }

    /// What is remembered of a token, unless it is too old.
    func find(_ token: String, now: Int64) -> Entry? {
        state.withLock {
            guard let entry = $0.entries[token], now - entry.loadedAt < timeToLive else { return nil }
            return entry
        }
    }

    /// The remembered record of a token's user, unless it is too old.
    func record(of token: String, now: Int64) -> Record? {
        state.withLock {
            guard let index = $0.entries.index(forKey: token),
                now - $0.entries.values[index].loadedAt < timeToLive
            else { return nil }
            return $0.entries.values[index].record
        }
    }

    /// To be read before a look-up and given to ``insert(_:generation:)`` after it.
    var generation: Int { state.withLock { $0.generation } }

    /// Remembers a session, unless something was forgotten since its look-up began.
    func insert(_ entry: Entry, generation: Int) {
        state.withLock {
            guard $0.generation == generation else { return }
            if $0.entries.count >= capacity {
                $0.entries.removeAll()
                $0.tokens.removeAll()
            }
            $0.entries[entry.user.token] = entry
            $0.tokens[entry.user.id, default: []].insert(entry.user.token)
        }
    }

    /// Records of more bytes are not remembered, as there may be many of them.
    static let largestRecord = 16 * 1024

    /// Remembers the record of a session's user, unless something was forgotten since it was read, or the user was looked
    /// up anew meanwhile, perhaps with other roles.
    func insert(_ record: Record, of user: SessionUser, generation: Int) {
        state.withLock {
            guard $0.generation == generation, $0.entries[user.token]?.user == user else { return }
            $0.entries[user.token]?.record = record
        }
    }

    /// Forgets all sessions of a user.
    func forget(user id: String) {
        state.withLock {
            $0.generation += 1
            for token in $0.tokens.removeValue(forKey: id) ?? [] { $0.entries[token] = nil }
        }
    }

    /// Forgets everything.
    func forgetAll() {
        state.withLock {
            $0.generation += 1
            $0.entries.removeAll()
            $0.tokens.removeAll()
        }
    }
}
