import Encoding
public import HTTP
import JSON
public import Logging
public import Operations
import ParseModel
import ParseStorage
import Postgres
public import ServerConfiguration
import Synchronization
public import Tasks

/// Live queries: clients keep a WebSocket connection open, subscribe to queries, and are notified of what becomes of
/// the objects.
public final class LiveQueryServer: WebSocketHandler {
    let backend: Backend
    package let feed: ChangeFeed
    let admission: LiveQueryAdmission
    let logger: Logger
    /// The bytes that the conditions of all subscriptions take; one network has half of them.
    let memory = Gate(capacity: 64 * 1024 * 1024, share: 32 * 1024 * 1024)
    /// Who compares a change with a condition that takes long: on all threads but one, which is left for what is short,
    /// and of one network on half of them. The one whose conditions took the least time comes first.
    let comparing = Gate(
        capacity: LongWork.changes.threadCount - 1, share: max(1, LongWork.changes.threadCount / 2), countsTime: true)
    let includes = IncludeReads()
    let connections = OpenConnections()
    /// What administrators follow.
    let watches = LiveWatches()
    let clients = Atomic(0)
    /// How many subscriptions they have.
    let subscriptions = Atomic(0)
    private let relay: ChangeRelay
    private let address: @Sendable (WebSocketRequest) -> ClientAddress
    private let mountURL: @Sendable (WebSocketRequest) -> String

    /// Puts the parts together.
    ///
    /// - Parameters:
    ///   - feed: The changes, of which the backend notifies.
    ///   - address: The IP address of a client, as far as the proxies before the server are believed.
    ///   - mountURL: The address under which a client sees the server.
    /// - Throws: `AddressList.InvalidEntry` for what is no address in the configuration.
    public init(
        _ backend: Backend, _ feed: ChangeFeed, address: @escaping @Sendable (WebSocketRequest) -> ClientAddress,
        mountURL: @escaping @Sendable (WebSocketRequest) -> String, logger: Logger
    ) throws(AddressList.InvalidEntry) {
        self.backend = backend
        self.feed = feed
        self.address = address
        self.mountURL = mountURL
        self.logger = logger
        admission = try LiveQueryAdmission(backend.configuration)
        relay = ChangeRelay(
            client: backend.store.client, feed: feed,
            read: { try await backend.triggers.currentObject($0, $1) }, logger: logger)
        backend.userChanges.follow(
            { [feed] in feed.note(userChanged: $0) }, settle: { [feed] in await feed.settle(user: $0) })
    }

    /// How many clients are connected now, and how many subscriptions they have.
    public var figures: (clients: Int, subscriptions: Int) {
        (clients.load(ordering: .relaxed), subscriptions.load(ordering: .relaxed))
    }

    /// How many connections, and subscriptions of each, are listed.
    private static let (mostConnections, mostSubscriptions) = (200, 20)

    /// Who is connected to this process now, and subscribed to what, for administrators.
    public func overview() async -> JSONObject {
        var listed: [JSONValue] = []
        for connection in connections.oldest(Self.mostConnections) {
            if let overview = await connection.overview(most: Self.mostSubscriptions) {
                listed.append(.object(overview))
            }
        }
        let figures = figures
        return [
            "clients": .number(Double(figures.clients)), "subscriptions": .number(Double(figures.subscriptions)),
            "connections": .array(listed),
        ]
    }

    private var options: Configuration.LiveQuery { backend.configuration.liveQuery }

    /// How often a connection is asked whether anybody is there.
    var pingInterval: Duration { .milliseconds(options.pingInterval) }

    /// Hands changes on, and notifies other processes of them, until the task is cancelled.
    public func run() async {
        await withTaskGroup(of: Void.self) { group in
            // Large changes take long to write and to read.
            group.addTask(executorPreference: LongWork.changes) { await self.feed.run { self.relay.send($0) } }
            group.addTask(executorPreference: LongWork.relay) {
                await self.relay.run { self.clients.load(ordering: .relaxed) > 0 || !self.watches.isEmpty }
            }
        }
    }

    /// Has the other processes relay changes to this one, which has a client now; throws 1 when they cannot know of it.
    func announceClients() async throws(ParseError) {
        do {
            try await relay.announceClients()
        } catch {
            logger.error("can't announce live queries to other processes", metadata: ["error": "\(error)"])
            throw ParseError(ParseError.internalServerError, "An internal server error occurred")
        }
    }

    /// Whatever the path is: clients are set up with that of the interface, or with another.
    public func accepts(_ request: WebSocketRequest) -> Bool { options.isServed }

    public var knowsClientsLater: Bool { true }

    public func sender(of request: WebSocketRequest) -> Sender { Sender(address: address(request).text) }

    public func serve(_ socket: WebSocketConnection) async throws {
        let connection = LiveQueryConnection(
            socket, from: address(socket.request), mountURL: mountURL(socket.request), of: self)
        try await connection.run()
    }
}

/// The connections of live queries that are open in this process.
final class OpenConnections: Sendable {
    private struct State {
        var all: [ObjectIdentifier: (order: Int, LiveQueryConnection)] = [:]
        var count = 0
    }

    private let state = Mutex(State())

    func add(_ connection: LiveQueryConnection) {
        state.withLock { state in
            state.count += 1
            state.all[ObjectIdentifier(connection)] = (state.count, connection)
        }
    }

    func remove(_ connection: LiveQueryConnection) {
        state.withLock { state in state.all[ObjectIdentifier(connection)] = nil }
    }

    /// Those that have been open for longest.
    func oldest(_ most: Int) -> [LiveQueryConnection] {
        state.withLock { state in state.all.values.sorted { $0.order < $1.order }.prefix(most).map { $0.1 } }
    }
}

/// Who may connect, and as what.
package struct LiveQueryAdmission: Sendable {
    private let appId: String
    private let keyPairs: [(name: Name, key: String)]
    private let masterKeyAddresses: AddressList

    package init(_ configuration: Configuration) throws(AddressList.InvalidEntry) {
        appId = configuration.appId
        keyPairs = configuration.liveQuery.keyPairs
        masterKeyAddresses = try AddressList(configuration.masterKeyIps)
    }

    /// Looks at the keys of a client. They are compared in constant time.
    ///
    /// - Parameters:
    ///   - message: What the client says when it connects.
    ///   - address: Its IP address.
    /// - Returns: Whether it has the rights of the master key: where that is among the keys of live queries, and is
    ///   taken from the address.
    /// - Throws: ``LiveQueryError`` 4.
    package func isMaster(_ message: JSONObject, address: ClientAddress) throws(LiveQueryError) -> Bool {
        let refusal = LiveQueryError(LiveQueryError.wrongKey, "Key in request is not valid", reconnect: false)
        guard appId.hasSameBytes(as: message["applicationId"]?.stringValue) else { throw refusal }
        var admits = keyPairs.isEmpty
        var isMaster = false
        for (name, key) in keyPairs {
            guard let given = message[name]?.stringValue, ConstantTime.areEqual(given, key) else { continue }
            if name == "masterKey" {
                guard masterKeyAddresses.contains(address.vouched) else { continue }
                isMaster = true
            }
            admits = true
        }
        guard admits else { throw refusal }
        return isMaster
    }
}
