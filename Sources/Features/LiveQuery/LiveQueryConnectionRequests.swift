import Encoding
import HTTP
import JSON
import Operations
import ParseModel
import Platform
import Rules

/// Handles the messages of a live-query client.
extension LiveQueryConnection {
    /// The maximum number of subscriptions that wait for the client to connect.
    private static let maxEarlySubscriptions = 100
    private static let maxEarlyBytes = 64 * 1024
    /// The maximum size in bytes of the installation id and session token in `connect`, which the connection stores.
    private static let longestName = 1024

    /// Handles messages until the client disconnects.
    ///
    /// - Throws: The error that ended the connection, unless the client ended it.
    func read() async throws {
        for try await text in socket.texts { try await handle(text) }
    }

    private func handle(_ text: String) async throws {
        do {
            try await handle(try await Self.message(text), text)
        } catch let error as LiveQueryError {
            try await send(error.json)
        }
    }

    /// Parses a message. A long one is parsed off the event loop.
    private static func message(_ text: String) async throws -> LiveQueryMessage {
        guard text.utf8.count >= RequestQueue.longSize else { return try LiveQueryMessage(text) }
        return try await LongWork.medium.run { Result { try LiveQueryMessage(text) } }.get()
    }

    private func handle(_ message: LiveQueryMessage, _ text: String) async throws {
        switch message {
        case .connect(let message): try await connect(message)
        case .subscribe(let id, let query, let token, let isUpdate):
            if client == nil, !isUpdate, keepsEarly(text) {
                return early.append((id, text))
            }
            try await subscribe(id, query, token, size: text.utf8.count)
        case .unsubscribe(let id):
            if client == nil, early.contains(where: { $0.id == id }) {
                return early.removeAll { $0.id == id }
            }
            _ = try connected(id)
            guard subscriptions[id] != nil else {
                throw LiveQueryError(
                    LiveQueryError.notConnected, "Cannot find subscription with requestId \(JSONValue.number(id).text)",
                    requestID: id)
            }
            subscriptions.remove(id)
            subscriptions.forgetSessions()
            try await answer("unsubscribed", id)
        }
    }

    private func keepsEarly(_ text: String) -> Bool {
        early.count < Self.maxEarlySubscriptions
            && early.reduce(text.utf8.count) { $0 + $1.message.utf8.count } <= Self.maxEarlyBytes
    }

    private func connect(_ message: JSONObject) async throws {
        let isMaster = try server.admission.isMaster(message, address: origin)
        for key in ["installationId", "sessionToken"] as [Name] {
            guard message[key]?.stringValue.map({ $0.utf8.count <= Self.longestName }) ?? true else {
                throw LiveQueryError(LiveQueryError.malformed, "\(key) is too long", reconnect: false)
            }
        }
        var candidate = Client(
            id: UUID().uuidString.asciiLowercased, installationId: message["installationId"]?.stringValue,
            isMaster: isMaster, sessionToken: Self.token(message["sessionToken"]?.stringValue))
        // From here on the client is notified when its session ends. A session that has already ended is ignored,
        // because rejected clients reconnect immediately.
        let context: RequestContext
        do {
            context = try await self.context(candidate.sessionToken, of: candidate)
            candidate.hasSession = context.caller.user != nil
        } catch let error as ParseError where error.code == ParseError.invalidSessionToken {
            context = try await self.context(nil, of: candidate)
        }
        do {
            try await server.backend.liveQueryTriggers.beforeConnect(details(candidate, event: "connect"), context)
        } catch let error as ParseError {
            throw errorFrame(error, nil)
        }
        if client == nil { server.clients.add(1, ordering: .relaxed) }
        client = candidate
        subscriptions.ownSession = candidate.sessionToken
        // Other processes must know before the client can subscribe, because they relay only later commits.
        try await server.announceClients()
        socket.markKnown()
        try await answer("connected", nil)
        let waiting = early
        early = []
        for subscription in waiting { try await handle(subscription.message) }
    }

    private func connected(_ id: RequestID) throws(LiveQueryError) -> Client {
        guard let client else {
            throw LiveQueryError(
                LiveQueryError.notConnected,
                "Can not find this client, make sure you connect to server before subscribing", requestID: id)
        }
        return client
    }

    /// Returns the token, or nil if it is empty. Some SDKs send an empty one without a logged-in user.
    private static func token(_ text: String?) -> String? { text.flatMap { $0.isEmpty ? nil : $0 } }

    private func subscribe(_ id: RequestID, _ query: JSONObject, _ sentToken: String?, size: Int) async throws {
        let client = try connected(id)
        // An existing subscription with this id ends even if the new one fails.
        subscriptions.remove(id)
        let token = Self.token(sentToken) ?? client.sessionToken
        defer { subscriptions.forgetSessions() }
        do {
            guard subscriptions.hasRoom(forSession: token) else { throw Self.tooMany }
            let context = try await context(token, of: client)
            var message: JSONObject = ["op": "subscribe", "requestId": .number(id)]
            if let token { message["sessionToken"] = .string(token) }
            let backend = server.backend
            let query = try await backend.liveQueryTriggers.beforeSubscribe(query, message, context)
            // Subscribing may compile patterns, so it doesn't run on the event loop.
            let prepared = try await LongWork.medium.run {
                Result { try backend.liveQueries.subscribe(query, context) }
            }
            .get()
            guard subscriptions.add(id, prepared, sessionToken: token, size: size) else { throw Self.tooMany }
            // The end of another subscription may have dropped the session in the meantime.
            if let token, let user = context.caller.user { subscriptions.follow(user: Name(user.id), of: token) }
        } catch let error as ParseError {
            throw errorFrame(error, id)
        }
        await server.feed.settleWrites()
        try await answer("subscribed", id)
    }
}
