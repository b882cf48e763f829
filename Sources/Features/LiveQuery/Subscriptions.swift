import JSON
import Operations
import Tasks

/// What one connection follows, and the room that it takes.
package struct Subscriptions {
    typealias RequestID = LiveQueryMessage.RequestID

    /// One query that a client is subscribed to.
    struct Subscription {
        /// Which of the subscriptions that had the same number it is.
        let serial: Int
        /// The token of the session whose rights it has; nil for none.
        let sessionToken: String?
        /// What it takes, in bytes: its message, and what was made of its condition.
        var size: Int
        /// What it wants, and what was learned of that.
        var query: LiveQuery
    }

    private static let most = 1000
    /// The most sessions whose rights they have: with each change each is looked for, if not long ago.
    private static let mostSessions = 100
    /// The most bytes that all of them take.
    private static let mostBytes = 1024 * 1024

    private let server: LiveQueryServer
    private let sender: Sender
    private let inbox: ChangeInbox
    private(set) var all: [RequestID: Subscription] = [:]
    private var topics: [ChangeFeed.Topic: Int] = [:]
    /// The session of the client itself.
    package var ownSession: String?
    /// The users of the sessions, whose changes are followed.
    package private(set) var users: [Name: Name] = [:]
    private var bytes = 0
    private var lastSerial = 0

    package init(of server: LiveQueryServer, for sender: Sender, into inbox: ChangeInbox) {
        self.server = server
        self.sender = sender
        self.inbox = inbox
    }

    /// The subscriptions to a class, in the order in which the client made them: so it hears of a change.
    func inOrder(of className: Name) -> [(RequestID, Subscription)] {
        all.lazy.filter { $0.value.query.className == className }.map { ($0.key, $0.value) }
            .sorted { $0.1.serial < $1.1.serial }
    }

    subscript(id: RequestID) -> Subscription? { all[id] }

    /// Whether a subscription is still the one that it was.
    func has(_ id: RequestID, _ subscription: Subscription) -> Bool { all[id]?.serial == subscription.serial }

    /// Whether there is room for a subscription with the rights of a session.
    func hasRoom(forSession token: String?) -> Bool {
        guard let token = token.map({ Name($0) }) else { return true }
        let known = Set(all.values.compactMap { $0.sessionToken.map { Name($0) } })
        return known.contains(token) || known.count < Self.mostSessions
    }

    /// Takes room for a message; false when there is none.
    mutating func take(_ size: Int) -> Bool {
        guard bytes + size <= Self.mostBytes, server.memory.tryEnter(weight: size, of: sender) else { return false }
        bytes += size
        return true
    }

    /// Gives room back.
    mutating func give(_ size: Int) {
        bytes -= size
        server.memory.leave(weight: size, of: sender)
    }

    /// Adds a subscription, in the place of one of the same number.
    ///
    /// - Parameter size: How many bytes its message had.
    /// - Returns: Whether there is room for it.
    mutating func add(_ id: RequestID, _ query: LiveQuery, sessionToken: String?, size: Int) -> Bool {
        remove(id)
        let size = size + query.weight
        guard all.count < Self.most, take(size) else { return false }
        lastSerial += 1
        all[id] = Subscription(serial: lastSerial, sessionToken: sessionToken, size: size, query: query)
        server.subscriptions.add(1, ordering: .relaxed)
        follow(.objects(query.className))
        return true
    }

    /// Keeps what was learned of a query; returns whether there is room for it.
    mutating func update(_ id: RequestID, _ query: LiveQuery) -> Bool {
        guard let known = all[id] else { return true }
        let more = query.weight - known.query.weight
        if more > 0, !take(more) { return false }
        if more < 0 { give(-more) }
        all[id]?.size += more
        all[id]?.query = query
        return true
    }

    /// Ends a subscription, if there is one of the number.
    mutating func remove(_ id: RequestID) {
        guard let subscription = all.removeValue(forKey: id) else { return }
        server.subscriptions.subtract(1, ordering: .relaxed)
        give(subscription.size)
        leave(.objects(subscription.query.className))
    }

    /// Notifies the connection when something about a session's user changes.
    package mutating func follow(user id: Name, of session: String) {
        let before = users.updateValue(id, forKey: Name(session))
        guard before != id else { return }
        follow(.user(id))
        if let before { leave(.user(before)) }
    }

    /// Stops following the users of sessions that no subscription uses any more.
    package mutating func forgetSessions() {
        let used = Set((all.values.map(\.sessionToken) + [ownSession]).compactMap { $0.map { Name($0) } })
        for (session, user) in users where !used.contains(session) {
            users[session] = nil
            leave(.user(user))
        }
    }

    private mutating func follow(_ topic: ChangeFeed.Topic) {
        topics[topic, default: 0] += 1
        if topics[topic] == 1 { server.feed.add(inbox, to: topic) }
    }

    private mutating func leave(_ topic: ChangeFeed.Topic) {
        topics[topic, default: 1] -= 1
        guard topics[topic] == 0 else { return }
        topics[topic] = nil
        server.feed.remove(inbox, from: topic)
    }

    /// Ends everything.
    mutating func removeAll() {
        for topic in topics.keys { server.feed.remove(inbox, from: topic) }
        topics = [:]
        server.subscriptions.subtract(all.count, ordering: .relaxed)
        all = [:]
        give(bytes)
    }
}
