import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import Synchronization
import Telemetry

/// A socket that listens, and the connections that come by it.
struct HTTPListener: Sendable {
    let handler: ConnectionHandler
    let connections: OpenConnections
    let limits: HTTPServer.Limits
    /// How long it goes on listening when the service is shut down.
    let drain: Drain
    let eventLoops: any EventLoopGroup
    let meters: RequestMeters?
    let logger: Logger

    /// Connections that the system queues until they are accepted.
    private static let backlog: Int32 = 1024

    /// Listens until the service is shut down and drained, then until the requests under way are answered. When the task is
    /// cancelled, all connections are closed.
    ///
    /// - Parameter onBound: Gets the port.
    /// - Throws: The error of the socket when the address cannot be listened on.
    func run(host: String, port: Int, onBound: (Int) -> Void) async throws {
        // A thread of its own: when the listening ends, it has taken all that the system had accepted, and was kept from that
        // by no request. What it has not taken the system resets.
        let acceptor = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        do {
            try await run(host: host, port: port, on: acceptor, onBound)
        } catch {
            try? await acceptor.shutdownGracefully()
            throw error
        }
        try await acceptor.shutdownGracefully()
    }

    private func run(host: String, port: Int, on acceptor: any EventLoopGroup, _ onBound: (Int) -> Void) async throws {
        let (accepted, continuation) = AsyncStream.makeStream(of: HTTPConnection.self)
        let channel = try await bind(host: host, port: port, on: acceptor, continuation)
        let ended = channel.closeFuture.flatMap { [eventLoops] in
            // The last connections are on their way to their event loops.
            let arrivals = eventLoops.makeIterator().map { $0.submit {} }
            return EventLoopFuture.andAllComplete(arrivals, on: channel.eventLoop)
        }
        ended.whenComplete { _ in continuation.finish() }
        onBound(channel.localAddress?.port ?? 0)
        let (connections, drain) = (connections, drain)
        await withTaskCancellationHandler {
            await withGracefulShutdownHandler {
                await withDiscardingTaskGroup { group in
                    for await connection in accepted {
                        group.addTask { await handler.handle(connection) }
                    }
                    connections.finishAll(firstRequest: drain.hasBegun ? drain.firstRequest : .zero)
                    if Task.isCancelled { connections.closeAll() }
                }
            } onGracefulShutdown: {
                guard drain.time > .zero else { return ConnectionGate.end(channel) }
                drain.begin()
                channel.eventLoop.scheduleTask(in: TimeAmount(drain.time)) { ConnectionGate.end(channel) }
            }
        } onCancel: {
            channel.close(promise: nil)
        }
        // A cancelled task wouldn't wait for the last connections, but the acceptor must not stop before they have
        // arrived.
        try await ended.get()
    }

    private func bind(
        host: String, port: Int, on acceptor: any EventLoopGroup,
        _ accepted: AsyncStream<HTTPConnection>.Continuation
    ) async throws -> any Channel {
        try await ServerBootstrap(group: acceptor, childGroup: eventLoops)
            .serverChannelOption(.backlog, value: Self.backlog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            // All that wait are accepted in a turn of the loop.
            .serverChannelOption(.maxMessagesPerRead, value: UInt(Self.backlog))
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        ConnectionGate(
                            connections: connections, limit: limits.connections, meters: meters, logger: logger))
                }
            }
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            // One read follows from one request for more, so that what waits unasked stays small.
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelOption(.writeBufferWaterMark, value: HTTPConnection.mostUnsent)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let connection = try handler.setUp(channel)
                    if case .terminated = accepted.yield(connection) { connection.close() }
                }
            }
            .bind(host: host, port: port)
            .get()
    }
}

/// The time between the signal to end and the end, in which a balancer notices that the server is about to leave.
///
/// Requests are answered as always meanwhile, on new connections too, but each answer ends its connection.
final class Drain: Sendable {
    /// How long it lasts; zero for none.
    let time: Duration
    /// How long a new connection may take for its first request afterwards.
    let firstRequest: Duration
    private let begun = Atomic(false)

    init(time: Duration, firstRequest: Duration) {
        self.time = time
        self.firstRequest = firstRequest
    }

    /// How long after its begin a connection is closed that lasts: not before balancers send its client elsewhere, and
    /// not all at the same moment.
    var timeForConnection: Duration { time * Double.random(in: 0.5...0.9) }

    /// Whether the server is about to end.
    var hasBegun: Bool { begun.load(ordering: .relaxed) }

    /// Notes that the server is about to end.
    func begin() { begun.store(true, ordering: .relaxed) }
}
