import Limits
import Logging
import NIOCore
import NIOPosix
public import ServiceLifecycle
public import Telemetry

/// The HTTP server: accepts connections, passes their requests to a handler and sends its replies.
///
/// Run it as a service. On a graceful shutdown it continues for ``Limits/drain``, then accepts no more connections,
/// finishes the running requests, and closes the remaining connections after ``Limits/shutdown``.
public struct HTTPServer: Service {
    /// The time and size limits of the server.
    public struct Limits: Sendable {
        /// The maximum time that a connection may be idle or a body may make no progress.
        public var idle: Duration = .seconds(60)
        /// The maximum time that a client may read nothing of its response.
        public var stall: Duration = .seconds(20)
        /// The time for slow transfers if others need their room, and for bodies that stall after the response or at
        /// shutdown.
        public var grace: Duration = .seconds(2)
        /// The time limit for a body or a response held in memory, extended by one second per 64 KB transferred.
        public var transfer: Duration = .seconds(300)
        /// The time limit for the TLS handshake.
        public var handshake: Duration = .seconds(10)
        /// The time limit for running requests when the server shuts down.
        public var shutdown: Duration = .seconds(10)
        /// The time in which the server still accepts requests after a shutdown signal, so load balancers notice.
        public var drain: Duration = .zero
        /// The time limit for the first request of a new connection after the drain.
        public var firstRequest: Duration = .seconds(2)
        /// The maximum total size of a request's header fields, in bytes.
        public var headers: Int = 64 * 1024
        /// The usual maximum body size in bytes. Up to about twice as much is read and discarded to keep a connection.
        public var body: Int = 20 * 1024 * 1024
        /// The maximum number of open connections. At most half of them can be WebSocket connections.
        public var connections: Int = 10_000
        /// The maximum total size, in bytes, of bodies, unread responses and other unprocessed input in memory.
        public var transferMemory: Int = 256 * 1024 * 1024

        public init() {}
    }

    /// Optional features of a server.
    public struct Additions: Sendable {
        /// The handler of WebSocket connections, or nil to support none.
        public var webSockets: (any WebSocketHandler)?
        /// The request meters, or nil to record none.
        public var meters: RequestMeters?
        /// The tracer of requests, or nil to trace none.
        package var tracer: RequestTracer?
        /// The duration from which a request is logged as slow, at level warning.
        public var slowRequest: Duration = .seconds(1)

        public init() {}
    }

    private let host: String
    private let port: Int
    private let limits: Limits
    private let certificate: ServerCertificate?
    private let logger: Logger
    private let responder: Responder
    private let connections: OpenConnections
    private let webSockets: WebSocketSlots
    private let transferTimeout: TransferTimeout
    private let drain: Drain
    private let meters: RequestMeters?
    private let listeningPort = OneTime<Result<Int, any Error>>()

    /// Creates a server. It listens when it runs.
    ///
    /// - Parameters:
    ///   - host: The address to listen on.
    ///   - port: The port to listen on, or 0 for any free port.
    ///   - handler: The handler that answers requests.
    ///   - crossOrigin: The CORS header fields.
    ///   - certificate: The TLS certificate, or nil for plain HTTP.
    ///   - limits: The time and size limits.
    ///   - additions: Optional features.
    ///   - logger: The logger, which gets one line per request.
    package init(
        host: String, port: Int, handler: some HTTPHandler, crossOrigin: CrossOrigin,
        certificate: ServerCertificate? = nil, limits: Limits, additions: Additions = Additions(), logger: Logger
    ) {
        self.host = host
        self.port = port
        self.limits = limits
        self.certificate = certificate
        self.logger = logger
        meters = additions.meters
        transferTimeout = TransferTimeout(limits: limits, meters: meters)
        HeavyWork.use { LongWork.medium.executor(for: $0) }
        // WebSocket connections are long-lived, so half of all connections are reserved for requests.
        webSockets = WebSocketSlots(limit: max(1, limits.connections / 2))
        connections = OpenConnections(transferTimeout: transferTimeout, webSockets: webSockets)
        drain = Drain(time: limits.drain, firstRequest: limits.firstRequest)
        responder = Responder(
            handler: handler, crossOrigin: crossOrigin, limits: limits, transferTimeout: transferTimeout,
            webSockets: webSockets, additions: additions, drain: drain, isSecure: certificate != nil, logger: logger)
    }

    /// The port on which the server listens. Waits until it does.
    ///
    /// - Throws: The error that prevented the server from listening.
    public var boundPort: Int {
        get async throws {
            guard let port = await listeningPort.wait() else { throw CancellationError() }
            return try port.get()
        }
    }

    /// A snapshot of the server's connections and transfer memory.
    public struct Figures: Sendable {
        /// HTTP connections without and with a running request, and WebSocket connections.
        public var idle = 0, active = 0, webSockets = 0
        /// The maximum number of connections.
        public var maxConnections = 0
        /// The bytes held by request bodies, other unprocessed input and unread responses, and their limit.
        public var heldBytes = 0, maxHeldBytes = 0
    }

    public var figures: Figures {
        let (idle, active) = connections.idleAndActive
        let webSockets = webSockets.occupied
        return Figures(
            idle: idle, active: max(0, active - webSockets), webSockets: webSockets,
            maxConnections: limits.connections,
            heldBytes: transferTimeout.heldBytes, maxHeldBytes: limits.transferMemory)
    }

    /// Listens and serves requests until the service is shut down or the task is cancelled.
    ///
    /// - Throws: The socket's error if the server can't listen on the address.
    public func run() async throws { try await run { _ in } }

    /// Runs the server, for callers that need the port before the first request is answered.
    ///
    /// - Parameter onListening: Receives the port. Requests wait until it returns.
    /// - Throws: The socket's error if the server can't listen on the address.
    package func run(onListening: @escaping @Sendable (_ port: Int) -> Void) async throws {
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await listen(onListening) }
                group.addTask { await transferTimeout.run() }
                group.addTask { await connections.closeIdle(after: limits.idle) }
                group.addTask { await closeLateConnections() }
                try await group.next()
                group.cancelAll()
            }
            listeningPort.set(.failure(CancellationError()))
        } catch {
            listeningPort.set(.failure(error))
            throw error
        }
    }

    private func listen(_ onListening: @escaping @Sendable (Int) -> Void) async throws {
        let eventLoops = MultiThreadedEventLoopGroup.singleton
        let listener = HTTPListener(
            handler: ConnectionHandler(
                responder: responder, connections: connections, transferTimeout: transferTimeout, limits: limits,
                certificate: certificate, eventLoops: eventLoops, meters: meters, logger: logger),
            drain: drain, eventLoops: eventLoops)
        try await withTaskCancellationHandler {
            try await listener.run(host: host, port: port) {
                onListening($0)
                listeningPort.set(.success($0))
            }
        } onCancel: {
            connections.closeAll()
        }
    }

    /// Waits for a shutdown and its drain, ends stalled uploads, gives other requests ``HTTPServer/Limits/shutdown`` to
    /// finish, and closes the remaining connections. After it returns, the remaining tasks are cancelled.
    private func closeLateConnections() async {
        do {
            try await gracefulShutdown()
            try await Task.sleep(for: limits.drain)
            transferTimeout.endStalledBodies()
            try await Task.sleep(for: limits.shutdown)
        } catch {
            return
        }
        logger.warning("closing connections whose requests did not finish in time")
        connections.closeAll()
    }
}
