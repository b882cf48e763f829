import Encoding
public import HTTP
import JSON
public import Limits
public import Logging
public import Operations
import ParseModel
import ParseStorage
import Postgres
public import ServerConfiguration
import Synchronization

/// The live-query server. Clients keep a WebSocket connection open, subscribe to queries, and are notified when
/// matching objects change.
public final class LiveQueryServer: WebSocketHandler {
    let backend: Backend
    package let feed: ChangeFeed
    let admission: LiveQueryAdmission
    let logger: Logger
    /// The memory for all subscriptions, in bytes. One network gets at most half.
    let memory = Gate(capacity: 64 * 1024 * 1024, share: 32 * 1024 * 1024)
    /// The slots for expensive comparisons and large events: all threads but one, and at most half of the threads for
    /// one network. The network that has used the least time comes first.
    let comparing = Gate(
        capacity: LongWork.changes.threadCount - 1, share: max(1, LongWork.changes.threadCount / 2), countsTime: true)
    let includes = IncludeReads()
    let connections = OpenConnections()
    /// The queries that console operators watch.
    let watches = LiveWatches()
    let clients = Atomic(0)
    let subscriptions = Atomic(0)
    private let relay: ChangeRelay
    private let address: @Sendable (WebSocketRequest) -> ClientAddress
    private let mountURL: @Sendable (WebSocketRequest) -> String

    /// Creates the server.
    ///
    /// - Parameters:
    ///   - feed: The feed to which the backend reports changes.
    ///   - address: Returns the IP address of a client, as reported by trusted proxies.
    ///   - mountURL: Returns the server URL as seen by a client.
    /// - Throws: `AddressList.InvalidEntry` for an invalid address in the configuration.
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
            { [feed] in feed.notify(userChanged: $0) }, settle: { [feed] in await feed.settle(user: $0) })
    }

    /// The current numbers of clients and of their subscriptions.
    public var figures: (clients: Int, subscriptions: Int) {
        (clients.load(ordering: .relaxed), subscriptions.load(ordering: .relaxed))
    }

    private static let (maxConnections, maxSubscriptions) = (200, 20)

    /// Returns up to 200 clients of this process, oldest first, with up to 20 subscriptions each, for the console.
    public func overview() async -> JSONObject {
        var listed: [JSONValue] = []
        for connection in connections.oldest(Self.maxConnections) {
            if let overview = await connection.overview(limit: Self.maxSubscriptions) {
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

    /// The interval of pings that detect dead connections.
    var pingInterval: Duration { .milliseconds(options.pingInterval) }

    /// Delivers changes and relays them to other processes until the task is cancelled.
    public func run() async {
        await withTaskGroup(of: Void.self) { group in
            // Large changes take a long time to serialize and parse.
            group.addTask(executorPreference: LongWork.changes) { await self.feed.run { self.relay.send($0) } }
            group.addTask(executorPreference: LongWork.relay) {
                await self.relay.run { self.clients.load(ordering: .relaxed) > 0 || !self.watches.isEmpty }
            }
        }
    }

    /// Asks the other processes to relay changes to this one, which now has a client or console watch.
    ///
    /// - Throws: `ParseError` 1 if the announcement fails.
    func announceClients() async throws(ParseError) {
        do {
            try await relay.announceClients()
        } catch {
            logger.error("can't announce live queries to other processes", metadata: ["error": "\(error)"])
            throw ParseError(ParseError.internalServerError, "An internal server error occurred")
        }
    }

    /// Accepts every path if live queries are served, because clients may be configured with the API path or any other.
    public func accepts(_ request: WebSocketRequest) -> Bool { options.isServed }

    public var knowsClientsLater: Bool { true }

    public func sender(of request: WebSocketRequest) -> Sender { Sender(address: address(request).text) }

    public func serve(_ socket: WebSocketConnection) async throws {
        let connection = LiveQueryConnection(
            socket, from: address(socket.request), mountURL: mountURL(socket.request), of: self)
        try await connection.run()
    }
}

/// The open live-query connections of this process.
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

    /// Returns the connections that have been open the longest.
    func oldest(_ limit: Int) -> [LiveQueryConnection] {
        state.withLock { state in state.all.values.sorted { $0.order < $1.order }.prefix(limit).map { $0.1 } }
    }
}

/// Decides which clients may connect, and with which permissions.
package struct LiveQueryAdmission: Sendable {
    private let appId: String
    private let keyPairs: [(name: Name, key: String)]
    private let masterKeyAddresses: AddressList

    package init(_ configuration: Configuration) throws(AddressList.InvalidEntry) {
        appId = configuration.appId
        keyPairs = configuration.liveQuery.keyPairs
        masterKeyAddresses = try AddressList(configuration.masterKeyIps)
    }

    /// Checks the application id and the keys of a client. Compares keys in constant time.
    ///
    /// - Parameters:
    ///   - message: The client's `connect` message.
    ///   - address: The client's IP address.
    /// - Returns: Whether the client has master-key permissions. This requires that the master key is one of the
    ///   live-query keys and allowed from the address.
    /// - Throws: ``LiveQueryError`` 4 for a wrong application id or if no key is valid.
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
