import JSON
import Limits
import Operations

/// The subscriptions of one connection and the memory they use.
package struct Subscriptions {
    typealias RequestID = LiveQueryMessage.RequestID

    struct Subscription {
        /// The number that distinguishes successive subscriptions with the same request id.
        let serial: Int
        /// The token of the subscription's session, or nil if it has none.
        let sessionToken: String?
        /// The bytes of its message and of the compiled condition.
        var size: Int
        /// The query, including values cached by comparisons.
        var query: LiveQuery
    }

    private static let maxSubscriptions = 1000
    /// The maximum number of different sessions. Each change may require a look-up of each.
    private static let maxSessions = 100
    private static let maxBytes = 1024 * 1024

    private let server: LiveQueryServer
    private let sender: Sender
    private let inbox: ChangeInbox
    private(set) var all: [RequestID: Subscription] = [:]
    private var topics: [ChangeFeed.Topic: Int] = [:]
    /// The session with which the client connected.
    package var ownSession: String?
    /// The followed users, by session token.
    package private(set) var users: [Name: Name] = [:]
    private var bytes = 0
    private var lastSerial = 0

    package init(of server: LiveQueryServer, for sender: Sender, into inbox: ChangeInbox) {
        self.server = server
        self.sender = sender
        self.inbox = inbox
    }

    /// Returns the subscriptions to a class in the order in which the client made them. Events are sent in that order.
    func inOrder(of className: Name) -> [(RequestID, Subscription)] {
        all.lazy.filter { $0.value.query.className == className }.map { ($0.key, $0.value) }
            .sorted { $0.1.serial < $1.1.serial }
    }

    subscript(id: RequestID) -> Subscription? { all[id] }

    /// Returns whether the subscription still exists and was not replaced.
    func has(_ id: RequestID, _ subscription: Subscription) -> Bool { all[id]?.serial == subscription.serial }

    /// Returns whether a subscription for the session is within the limit of different sessions.
    func hasRoom(forSession token: String?) -> Bool {
        guard let token = token.map({ Name($0) }) else { return true }
        let known = Set(all.values.compactMap { $0.sessionToken.map { Name($0) } })
        return known.contains(token) || known.count < Self.maxSessions
    }

    /// Reserves memory in bytes. Returns false if too little is left.
    mutating func reserve(_ size: Int) -> Bool {
        guard bytes + size <= Self.maxBytes, server.memory.tryEnter(weight: size, of: sender) else { return false }
        bytes += size
        return true
    }

    mutating func release(_ size: Int) {
        bytes -= size
        server.memory.leave(weight: size, of: sender)
    }

    /// Adds a subscription. Removes an existing one with the same id first.
    ///
    /// - Parameter size: The bytes of its message.
    /// - Returns: Whether it is within the limits.
    mutating func add(_ id: RequestID, _ query: LiveQuery, sessionToken: String?, size: Int) -> Bool {
        remove(id)
        let size = size + query.weight
        guard all.count < Self.maxSubscriptions, reserve(size) else { return false }
        lastSerial += 1
        all[id] = Subscription(serial: lastSerial, sessionToken: sessionToken, size: size, query: query)
        server.subscriptions.add(1, ordering: .relaxed)
        follow(.objects(query.className))
        return true
    }

    /// Stores the updated state of a query. Returns false if there is no memory left for it.
    mutating func update(_ id: RequestID, _ query: LiveQuery) -> Bool {
        guard let known = all[id] else { return true }
        let more = query.weight - known.query.weight
        if more > 0, !reserve(more) { return false }
        if more < 0 { release(-more) }
        all[id]?.size += more
        all[id]?.query = query
        return true
    }

    /// Ends the subscription with this id, if it exists.
    mutating func remove(_ id: RequestID) {
        guard let subscription = all.removeValue(forKey: id) else { return }
        server.subscriptions.subtract(1, ordering: .relaxed)
        release(subscription.size)
        leave(.objects(subscription.query.className))
    }

    /// Starts notifying the connection of changes to a session's user.
    package mutating func follow(user id: Name, of session: String) {
        let before = users.updateValue(id, forKey: Name(session))
        guard before != id else { return }
        follow(.user(id))
        if let before { leave(.user(before)) }
    }

    /// Stops following the users of sessions that neither the connection nor a subscription uses.
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

    mutating func removeAll() {
        for topic in topics.keys { server.feed.remove(inbox, from: topic) }
        topics = [:]
        server.subscriptions.subtract(all.count, ordering: .relaxed)
        all = [:]
        release(bytes)
    }
}
