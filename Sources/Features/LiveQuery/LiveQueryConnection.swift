import HTTP
import JSON
import Limits
import Operations
import ParseModel
import Rules
import ServerConfiguration

/// The connection of one live-query client.
actor LiveQueryConnection {
    typealias RequestID = LiveQueryMessage.RequestID
    typealias Subscription = Subscriptions.Subscription

    struct Client {
        let id: String
        let installationId: String?
        let isMaster: Bool
        let sessionToken: String?
        /// Whether the session was valid when the client connected.
        var hasSession = false
    }

    struct SessionEnded: Error {}
    private struct TooSlow: Error {}

    /// The maximum number of steps for comparing one change with all subscriptions.
    private static let stepsForChange = 10_000_000
    /// The number of steps after which the thread is yielded.
    private static let stepsInOneGo = 100_000
    /// The number of steps per change that run immediately. Further comparisons are queued, so that expensive conditions
    /// don't delay the events of cheap ones.
    private static let stepsAtOnce = 20_000

    /// The maximum size in bytes of included objects per change, for all subscriptions together.
    private static let maxIncludedBytes = 4 * 1024 * 1024

    static let tooMany = ParseError(ParseError.requestLimitExceeded, "Too many subscriptions.")

    /// The delay before a connection is closed after a server fault, because its client reconnects immediately.
    private static let timeToRecover = Duration.seconds(1)

    let socket: WebSocketConnection
    let origin: ClientAddress
    nonisolated var address: String { origin.text }
    let sender: Sender
    let mountURL: String
    let server: LiveQueryServer
    let inbox: ChangeInbox
    private let since = ParseDate.now
    var client: Client?
    /// Subscriptions that arrived before the client connected, as some SDKs send them.
    var early: [(id: RequestID, message: String)] = []
    var subscriptions: Subscriptions

    /// - Parameters:
    ///   - origin: The address of the client.
    ///   - mountURL: The server URL as seen by the client.
    init(_ socket: WebSocketConnection, from origin: ClientAddress, mountURL: String, of server: LiveQueryServer) {
        self.socket = socket
        self.origin = origin
        sender = Sender(address: origin.text)
        self.mountURL = mountURL
        self.server = server
        inbox = ChangeInbox()
        subscriptions = Subscriptions(of: server, for: sender, into: inbox)
    }

    /// Serves the client until it disconnects, its session ends, or it fails to connect in time.
    ///
    /// - Throws: Any other error that ended the connection.
    func run() async throws {
        server.connections.add(self)
        defer { end() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.read() }
            // Comparing a change with many conditions takes a long time, so it doesn't run on the event loop.
            group.addTask(executorPreference: LongWork.changes) { try await self.notify() }
            group.addTask { try await self.socket.watch(every: self.server.pingInterval) }
            group.addTask { try await self.watchSessions() }
            group.addTask { [inbox] in
                for await _ in inbox.overflow {}
                throw TooSlow()
            }
            defer { group.cancelAll() }
            do {
                try await group.next()
            } catch is SessionEnded {
            } catch let error where error is ParseError || error is ServiceUnavailable {
                group.cancelAll()
                try await Task.sleep(for: Self.timeToRecover)
                throw error
            }
        }
    }

    private func end() {
        server.connections.remove(self)
        subscriptions.removeAll()
        if client != nil { server.clients.subtract(1, ordering: .relaxed) }
    }

    /// Returns the client and its subscriptions for the console, or nil before the client has connected.
    ///
    /// - Parameter limit: The maximum number of listed subscriptions.
    func overview(limit: Int) -> JSONObject? {
        guard let client else { return nil }
        let listed = subscriptions.all.values.sorted { $0.serial < $1.serial }.prefix(limit)
        return [
            "id": .string(client.id), "address": .string(address), "since": .string(since.iso),
            "isMaster": .bool(client.isMaster), "count": .number(Double(subscriptions.all.count)),
            "subscriptions": .array(listed.map { .object($0.query.overview) }),
        ]
    }

    // MARK: Notifications

    private func notify() async throws {
        for await item in inbox.items {
            switch item {
            case .userChanged: try await checkSessions()
            case .mark: break
            case .change(let change, let size):
                try await notify(change)
                inbox.release(size)
            }
        }
    }

    private func notify(_ change: Change) async throws {
        let className = Name(change.className)
        var budget = MatchBudget(steps: Self.stepsForChange)
        var short = MatchBudget(steps: Self.stepsAtOnce)
        var included = Self.maxIncludedBytes
        for (id, subscription) in subscriptions.inOrder(of: className) {
            let context: RequestContext
            do {
                context = try await self.context(subscription.sessionToken, of: client)
            } catch let error as ParseError where error.code == ParseError.timeout {
                // The database is slow at the moment, which isn't the subscription's fault.
                throw error
            } catch let error as ParseError {
                try await end(id, subscription, error)
                continue
            }
            do {
                // The client may have unsubscribed in the meantime.
                guard subscriptions.has(id, subscription) else { continue }
                var query = subscription.query
                let left = budget.left
                let event = try await match(change, &query, context, &short, &budget)
                guard subscriptions.update(id, query) else { throw Self.tooMany }
                if let event { try await notify(event, of: change, id, subscription, context, &included) }
                // Other connections need the thread.
                if left - budget.left > Self.stepsInOneGo { await Task.yield() }
            } catch let error as ParseError {
                try await end(id, subscription, error)
            }
        }
    }

    /// Compares a change with a subscription: immediately if that is cheap, otherwise in turn with the connections of
    /// other networks.
    private func match(
        _ change: Change, _ query: inout LiveQuery, _ context: RequestContext, _ short: inout MatchBudget,
        _ budget: inout MatchBudget
    ) async throws -> LiveQueryEvent? {
        if case .known(let event) = server.backend.liveQueries.shortEvent(of: change, for: query, context, &short) {
            return event
        }
        return try await server.comparing.run(of: sender) {
            try server.backend.liveQueries.event(of: change, for: &query, context, &budget)
        }
    }

    private func notify(
        _ event: LiveQueryEvent, of change: Change, _ id: RequestID, _ subscription: Subscription,
        _ context: RequestContext, _ included: inout Int
    ) async throws {
        guard let client else { return }
        var details = details(client, event: event.kind.rawValue)
        details["sendEvent"] = true
        do {
            let event = try await server.backend.liveQueryTriggers.afterEvent(
                event, of: subscription.query.className, details, context)
            guard var event, subscriptions.has(id, subscription) else { return }
            if subscription.query.hasIncludes {
                let (filled, cost) = await server.backend.liveQueries.including(
                    in: event, for: subscription.query, change: change.serial, atMost: included, context,
                    server.includes)
                (event, included) = (filled, max(0, included - cost))
                guard subscriptions.has(id, subscription) else { return }
            }
            var message = answered(event.kind.rawValue, id)
            message["object"] = .object(event.object)
            if let original = event.original { message["original"] = .object(original) }
            guard Cost.writing(change.size).isSlow else { return try await send(message) }
            // Serializing a large event also takes a long time, and many subscriptions may get it.
            let written = message
            try await socket.send(try await server.comparing.run(of: sender) { written.text })
        } catch let error as ParseError {
            try await send(errorFrame(error, id).json)
        }
    }

    /// Ends a subscription after an error. Instead ends the connection after a server fault, or if it was opened with
    /// the same session and the session has ended.
    func end(_ id: RequestID, _ subscription: Subscription, _ error: ParseError) async throws {
        // After a server fault the client reconnects, and so misses as little as possible.
        guard error.code != ParseError.internalServerError else { throw error }
        if error.code == ParseError.invalidSessionToken,
            subscription.sessionToken.hasSameBytes(as: client?.sessionToken)
        {
            try await endSession(error)
        }
        guard subscriptions.has(id, subscription) else { return }
        subscriptions.remove(id)
        subscriptions.forgetSessions()
        try await send(errorFrame(error, id).json)
    }

    func endSession(_ error: ParseError) async throws {
        try await send(errorFrame(error, nil).json)
        throw SessionEnded()
    }

    func answer(_ operation: String, _ id: RequestID?) async throws { try await send(answered(operation, id)) }

    private func answered(_ operation: String, _ id: RequestID?) -> JSONObject {
        var message: JSONObject = ["op": .string(operation)]
        if let client {
            message["clientId"] = .string(client.id)
            if let installationId = client.installationId { message["installationId"] = .string(installationId) }
        }
        if let id { message["requestId"] = .number(id) }
        return message
    }

    func send(_ message: JSONObject) async throws { try await socket.send(message.text) }

    /// Returns the error for the client. The message is generic if the deployment hides details.
    func errorFrame(_ error: ParseError, _ id: RequestID?) -> LiveQueryError {
        let sanitizes = server.backend.configuration.enableSanitizedErrorResponse
        // For conditions that live queries can't evaluate, `reconnect` is left out: ParseSwift closes the connection of
        // all its subscriptions on `false`, and JavaScript subscribes again and again on `true`.
        let isUnserved = id != nil && error.message.hasSuffix(LiveQuery.needsDatabase)
        return LiveQueryError(
            error.code, sanitizes ? error.publicMessage ?? error.message : error.message, requestID: id,
            reconnect: isUnserved ? nil : false)
    }

    /// Returns the additional parameters of triggers, with parse-server's names.
    func details(_ client: Client, event: String) -> JSONObject {
        var details: JSONObject = [
            "event": .string(event), "clients": .number(Double(server.clients.load(ordering: .relaxed))),
            "subscriptions": .number(Double(server.subscriptions.load(ordering: .relaxed))),
            "useMasterKey": .bool(client.isMaster),
        ]
        if let token = client.sessionToken { details["sessionToken"] = .string(token) }
        if let id = client.installationId { details["installationId"] = .string(id) }
        return details
    }
}
