import Encoding
import Foundation
import HTTP
import JSON
import Operations
import ParseModel
import Rules

/// One client of live queries, from the opening of its connection to its end.
actor LiveQueryConnection {
    private typealias RequestID = LiveQueryMessage.RequestID
    private typealias Subscription = Subscriptions.Subscription

    /// Who the client said it is.
    private struct Client {
        let id: String
        let installationId: String?
        let isMaster: Bool
        let sessionToken: String?
        /// Whether the session was one when the client connected.
        var hasSession = false
    }

    /// A subscription that came before the client said who it is, as some clients send them.
    private struct EarlySubscription {
        let id: RequestID
        let query: JSONObject
        let sessionToken: String?
        let size: Int
    }

    /// The session of the connection has ended.
    private struct SessionEnded: Error {}
    /// More changes came than the client reads.
    private struct TooSlow: Error {}

    /// The most subscriptions that wait for the client to connect.
    private static let mostEarly = 100
    /// How long a client has to connect.
    private static let timeToConnect = Duration.seconds(30)
    /// How often sessions are looked at, of which no news came.
    private static let sessionPause = Duration.seconds(60)

    /// What the comparisons of one change with all subscriptions may take, and how much of that in one go.
    private static let stepsForChange = 10_000_000
    private static let stepsInOneGo = 100_000

    private static let tooMany = ParseError(ParseError.requestLimitExceeded, "Too many subscriptions.")

    private let socket: WebSocketConnection
    private let address: String
    private let server: LiveQueryServer
    private let inbox: ChangeInbox
    private var client: Client?
    private var early: [EarlySubscription] = []
    private var subscriptions: Subscriptions

    init(_ socket: WebSocketConnection, address: String, of server: LiveQueryServer) {
        self.socket = socket
        self.address = address
        self.server = server
        inbox = ChangeInbox()
        subscriptions = Subscriptions(of: server, into: inbox)
    }

    /// Serves the client until it leaves.
    ///
    /// - Throws: What ended the connection, if it was not the client.
    func run() async throws {
        defer { end() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.read() }
            // A change may be compared with many conditions: not on the event loop.
            group.addTask(executorPreference: LongWork.changes) { try await self.tell() }
            group.addTask { try await self.socket.watch(every: self.server.pingInterval) }
            group.addTask { try await self.watchSessions() }
            group.addTask { [inbox] in
                for await _ in inbox.overflow {}
                throw TooSlow()
            }
            defer { group.cancelAll() }
            do {
                try await group.next()
            } catch is SessionEnded {}
        }
    }

    private func end() {
        subscriptions.removeAll()
        if client != nil { server.clients.subtract(1, ordering: .relaxed) }
    }

    // MARK: What the client says

    private func read() async throws {
        for try await text in socket.texts {
            do {
                try await take(try LiveQueryMessage(text), size: text.utf8.count)
            } catch let error as LiveQueryError {
                try await send(error.json)
            }
        }
    }

    private func take(_ message: LiveQueryMessage, size: Int) async throws {
        switch message {
        case .connect(let message): try await connect(message)
        case .subscribe(let id, let query, let token, let isUpdate):
            if client == nil, !isUpdate, early.count < Self.mostEarly, subscriptions.take(size) {
                return early.append(EarlySubscription(id: id, query: query, sessionToken: token, size: size))
            }
            try await subscribe(id, query, token, size: size)
        case .unsubscribe(let id):
            _ = try connected(id)
            guard subscriptions[id] != nil else {
                throw LiveQueryError(
                    LiveQueryError.notConnected, "Cannot find subscription with requestId \(JSONValue.number(id).text)",
                    requestID: id)
            }
            subscriptions.remove(id)
            try await answer("unsubscribed", id)
        }
    }

    private func connect(_ message: JSONObject) async throws {
        let isMaster = try server.admission.isMaster(message, address: address)
        var candidate = Client(
            id: UUID().uuidString.asciiLowercased, installationId: message["installationId"]?.stringValue,
            isMaster: isMaster, sessionToken: Self.token(message["sessionToken"]?.stringValue))
        // From now on the client hears when its session ends. One that has ended already is that of nobody here: clients
        // come again at once when they are refused.
        let context: RequestContext
        do {
            context = try await self.context(candidate.sessionToken, of: candidate)
            candidate.hasSession = context.caller.user != nil
        } catch let error as ParseError where error.code == ParseError.invalidSessionToken {
            context = try await self.context(nil, of: candidate)
        }
        do {
            try await server.backend.beforeConnect(details(candidate, event: "connect"), context)
        } catch let error as ParseError {
            throw told(error, nil)
        }
        if client == nil { server.clients.add(1, ordering: .relaxed) }
        client = candidate
        try await answer("connected", nil)
        let waiting = early
        early = []
        for subscription in waiting {
            subscriptions.give(subscription.size)
            do {
                try await subscribe(
                    subscription.id, subscription.query, subscription.sessionToken, size: subscription.size)
            } catch let error as LiveQueryError {
                try await send(error.json)
            }
        }
    }

    /// Who the client is.
    ///
    /// - Throws: ``LiveQueryError`` 2 before it has said so.
    private func connected(_ id: RequestID) throws(LiveQueryError) -> Client {
        guard let client else {
            throw LiveQueryError(
                LiveQueryError.notConnected,
                "Can not find this client, make sure you connect to server before subscribing", requestID: id)
        }
        return client
    }

    /// A client that nobody logged in on sends an empty token.
    private static func token(_ text: String?) -> String? { text.flatMap { $0.isEmpty ? nil : $0 } }

    private func subscribe(_ id: RequestID, _ query: JSONObject, _ sentToken: String?, size: Int) async throws {
        let client = try connected(id)
        // What it was subscribed to under the number ends, whatever becomes of this.
        subscriptions.remove(id)
        let token = Self.token(sentToken) ?? client.sessionToken
        do {
            let context = try await context(token, of: client)
            var message: JSONObject = ["op": "subscribe", "requestId": .number(id)]
            if let token { message["sessionToken"] = .string(token) }
            let query = try await server.backend.beforeSubscribe(query, message, context)
            guard
                subscriptions.add(
                    id, try server.backend.subscribe(query, context), sessionToken: token, size: size)
            else { throw Self.tooMany }
        } catch let error as ParseError {
            throw told(error, id)
        }
        try await answer("subscribed", id)
    }

    // MARK: What the client is told

    private func tell() async throws {
        for await item in inbox.items {
            switch item {
            case .userChanged: try await checkSessions()
            case .change(let change, let size):
                try await tell(change)
                inbox.take(size)
            }
        }
    }

    private func tell(_ change: Change) async throws {
        let className = Name(change.className)
        var budget = MatchBudget(steps: Self.stepsForChange)
        for (id, subscription) in subscriptions.all where subscription.query.className == className {
            do {
                let context = try await context(subscription.sessionToken, of: client)
                // Meanwhile the client may have ended it.
                guard subscriptions.has(id, subscription) else { continue }
                var query = subscription.query
                let left = budget.left
                let event = try server.backend.event(of: change, for: &query, context, &budget)
                guard subscriptions.update(id, query) else { throw Self.tooMany }
                if let event { try await tell(event, id, subscription, context) }
                // Others wait for the thread.
                if left - budget.left > Self.stepsInOneGo { await Task.yield() }
            } catch let error as ParseError {
                try await end(id, subscription, error)
            }
        }
    }

    private func tell(
        _ event: LiveQueryEvent, _ id: RequestID, _ subscription: Subscription, _ context: RequestContext
    ) async throws {
        guard let client else { return }
        var details = details(client, event: event.kind.rawValue)
        details["sendEvent"] = true
        do {
            let event = try await server.backend.afterEvent(event, of: subscription.query.className, details, context)
            guard let event, subscriptions.has(id, subscription) else { return }
            var message = answered(event.kind.rawValue, id)
            message["object"] = .object(event.object)
            if let original = event.original { message["original"] = .object(original) }
            try await send(message)
        } catch let error as ParseError {
            try await send(told(error, id).json)
        }
    }

    /// Ends a subscription that cannot go on; with the connection, when that was opened with the same session.
    private func end(_ id: RequestID, _ subscription: Subscription, _ error: ParseError) async throws {
        // What is the server's fault ends the connection: the client comes again, and misses no more than it must.
        guard error.code != ParseError.internalServerError else { throw error }
        if error.code == ParseError.invalidSessionToken,
            subscription.sessionToken.hasSameBytes(as: client?.sessionToken)
        {
            try await endSession(error)
        }
        guard subscriptions.has(id, subscription) else { return }
        subscriptions.remove(id)
        try await send(told(error, id).json)
    }

    private func endSession(_ error: ParseError) async throws {
        try await send(told(error, nil).json)
        throw SessionEnded()
    }

    private func answer(_ operation: String, _ id: RequestID?) async throws { try await send(answered(operation, id)) }

    private func answered(_ operation: String, _ id: RequestID?) -> JSONObject {
        var message: JSONObject = ["op": .string(operation)]
        if let client {
            message["clientId"] = .string(client.id)
            if let installationId = client.installationId { message["installationId"] = .string(installationId) }
        }
        if let id { message["requestId"] = .number(id) }
        return message
    }

    private func send(_ message: JSONObject) async throws { try await socket.send(message.text) }

    /// An error as a client is told it: in general words, where the deployment hides why something is refused.
    private func told(_ error: ParseError, _ id: RequestID?) -> LiveQueryError {
        let sanitizes = server.backend.configuration.enableSanitizedErrorResponse
        return LiveQueryError(
            error.code, sanitizes ? error.publicMessage ?? error.message : error.message, requestID: id,
            reconnect: false)
    }

    /// What triggers are told besides, by parse-server's names.
    private func details(_ client: Client, event: String) -> JSONObject {
        var details: JSONObject = [
            "event": .string(event), "clients": .number(Double(server.clients.load(ordering: .relaxed))),
            "subscriptions": .number(Double(server.subscriptions.load(ordering: .relaxed))),
            "useMasterKey": .bool(client.isMaster),
        ]
        if let token = client.sessionToken { details["sessionToken"] = .string(token) }
        if let id = client.installationId { details["installationId"] = .string(id) }
        return details
    }

    // MARK: Sessions

    /// Whose eyes a subscription sees with, now.
    ///
    /// - Throws: `ParseError` 209 for a session that is none, or has ended.
    private func context(_ token: String?, of client: Client?) async throws -> RequestContext {
        let now = server.backend.clock.now
        var caller = Caller(
            power: client?.isMaster == true ? .master : .client, installationId: client?.installationId)
        if caller.power == .client, let token {
            let user = try await server.backend.sessionUser(token: token, now: now)
            caller.user = user
            subscriptions.follow(user: Name(user.id))
        }
        return RequestContext(caller: caller, mountURL: "", now: now, address: address)
    }

    /// Ends the subscriptions whose sessions have ended; with the connection, when that was opened with such a session.
    private func checkSessions() async throws {
        // A session that had ended before the client came is no news.
        if let client, client.hasSession {
            do {
                _ = try await context(client.sessionToken, of: client)
            } catch let error as ParseError where error.code == ParseError.invalidSessionToken {
                try await endSession(error)
            }
        }
        for (id, subscription) in subscriptions.all where subscription.sessionToken != nil {
            do {
                _ = try await context(subscription.sessionToken, of: client)
            } catch let error as ParseError where error.code == ParseError.invalidSessionToken {
                try await end(id, subscription, error)
            }
        }
    }

    /// Looks at the sessions again and again; returns when the client does not say in time who it is.
    private func watchSessions() async throws {
        try await Task.sleep(for: Self.timeToConnect)
        while client != nil {
            if !subscriptions.users.isEmpty { inbox.put(.userChanged) }
            try await Task.sleep(for: Self.sessionPause)
        }
    }
}
