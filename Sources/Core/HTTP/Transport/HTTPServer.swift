public import CoreMetrics
import Logging
import NIOCore
import NIOPosix
public import ServiceLifecycle
import Tasks
public import Telemetry

/// The HTTP server: listens, has requests answered, and turns replies into responses.
///
/// Run it as a service. On a graceful shutdown it goes on for ``Limits/drain``, then takes no more connections, finishes the requests under way, and
/// closes what is still open after ``Limits/shutdown``.
public struct HTTPServer: Service {
    /// How long things may take, and how large they may be.
    public struct Limits: Sendable {
        /// How long a connection may be idle, and a body stand still.
        public var idle: Duration = .seconds(60)
        /// How long a client may read nothing of its answer.
        public var stall: Duration = .seconds(20)
        /// How long a transfer is left alone however slow it is, when room is needed for others.
        public var grace: Duration = .seconds(2)
        /// How long a body, or an answer that is kept in memory, may take at most; what is larger than usual gets more.
        public var transfer: Duration = .seconds(300)
        /// How long a client may take for the handshake of TLS.
        public var handshake: Duration = .seconds(10)
        /// How long requests under way may take to finish when the server is shut down.
        public var shutdown: Duration = .seconds(10)
        /// How long the server goes on taking requests when it is shut down, for balancers to notice.
        public var drain: Duration = .zero
        /// How long a new connection may take for its first request after such a drain.
        public var firstRequest: Duration = .seconds(2)
        /// The most bytes of all header fields of a request together.
        public var headers: Int = 64 * 1024
        /// The most bytes of a body that is no file.
        public var body: Int = 20 * 1024 * 1024
        /// The most connections that are open at a time; half of them may be WebSocket's.
        public var connections: Int = 10_000
        /// The most bytes of bodies and of answers that clients have not read that are kept in memory.
        public var transferMemory: Int = 256 * 1024 * 1024

        /// The usual limits.
        public init() {}
    }

    /// What a deployment adds to the transport.
    public struct Additions: Sendable {
        /// Serves WebSocket connections; nil for a server that opens none.
        public var webSockets: (any WebSocketHandler)?
        /// Keeps figures about requests; nil for none.
        public var metrics: (any MetricsFactory)?
        /// What is measured of requests for `/metrics`; nil for nothing.
        public var meters: RequestMeters?
        /// Traces requests, or nil for none.
        package var tracer: RequestTracer?
        /// From how long on a request is slow, which the log says as a warning.
        public var slowRequest: Duration = .seconds(1)

        /// Adds nothing.
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

    /// Makes a server; it listens when it is run.
    ///
    /// - Parameters:
    ///   - host: The address to listen on.
    ///   - port: The port to listen on; 0 for any that is free.
    ///   - handler: Answers the requests.
    ///   - crossOrigin: The header fields for pages of other origins.
    ///   - certificate: By what it speaks TLS; nil for plain HTTP.
    ///   - limits: How long things may take, and how large they may be.
    ///   - additions: What a deployment adds.
    ///   - logger: Gets one line a request at level info.
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
        // They stay for long: requests get the other half.
        webSockets = WebSocketSlots(most: max(1, limits.connections / 2))
        connections = OpenConnections(transferTimeout: transferTimeout, webSockets: webSockets)
        drain = Drain(time: limits.drain, firstRequest: limits.firstRequest)
        responder = Responder(
            handler: handler, crossOrigin: crossOrigin, limits: limits, transferTimeout: transferTimeout,
            webSockets: webSockets, additions: additions, drain: drain, isSecure: certificate != nil, logger: logger)
    }

    /// The port on which the server listens; waits until it does.
    ///
    /// - Throws: What kept the server from listening.
    public var boundPort: Int {
        get async throws {
            guard let port = await listeningPort.wait() else { throw CancellationError() }
            return try port.get()
        }
    }

    /// How the server stands at one moment.
    public struct Figures: Sendable {
        /// Connections without a request, with one, and of WebSocket.
        public var idle = 0, active = 0, webSockets = 0
        /// The most connections there may be.
        public var mostConnections = 0
        /// The bytes of bodies and unread answers that are kept in memory, and the most of them.
        public var heldBytes = 0, mostHeldBytes = 0
    }

    /// How the server stands now.
    public var figures: Figures {
        let (idle, active) = connections.idleAndActive
        let webSockets = webSockets.taken
        return Figures(
            idle: idle, active: max(0, active - webSockets), webSockets: webSockets,
            mostConnections: limits.connections,
            heldBytes: transferTimeout.heldBytes, mostHeldBytes: limits.transferMemory)
    }

    /// Listens and answers until the service is shut down or the task is cancelled.
    ///
    /// - Throws: The error of the socket when the address cannot be listened on.
    public func run() async throws { try await run { _ in } }

    /// The same for a caller that has to know the port before the first request is answered.
    ///
    /// - Parameter onListening: Gets the port; requests wait until it returns.
    /// - Throws: The error of the socket when the address cannot be listened on.
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
            connections: connections, limits: limits, drain: drain, eventLoops: eventLoops, meters: meters,
            logger: logger)
        try await withTaskCancellationHandler {
            try await listener.run(host: host, port: port) {
                onListening($0)
                listeningPort.set(.success($0))
            }
        } onCancel: {
            connections.closeAll()
        }
    }

    /// Waits for a shutdown and its drain, ends uploads that stand still, gives other requests their time, and closes the
    /// remaining connections.
    /// After it returns, whatever still runs is cancelled.
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
