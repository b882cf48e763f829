import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import Synchronization

/// A listening socket and its connections.
struct HTTPListener: Sendable {
    let handler: ConnectionHandler
    /// The period in which the server still accepts requests after a shutdown signal.
    let drain: Drain
    let eventLoops: any EventLoopGroup

    /// Maximum number of connections that the system queues before the server accepts them.
    private static let backlog: Int32 = 1024

    /// Listens until the service has been shut down and drained, then waits for the running requests. Closes all
    /// connections if the task is cancelled.
    ///
    /// - Throws: The socket's error if it can't listen on the address.
    func run(host: String, port: Int, onBound: (Int) -> Void) async throws {
        // The acceptor has its own thread, so requests don't delay it and it has accepted every queued connection when
        // listening ends. The system resets connections that weren't accepted.
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
            // The last connections may not have reached their event loops yet.
            let arrivals = eventLoops.makeIterator().map { $0.submit {} }
            return EventLoopFuture.andAllComplete(arrivals, on: channel.eventLoop)
        }
        ended.whenComplete { _ in continuation.finish() }
        onBound(channel.localAddress?.port ?? 0)
        let (connections, drain) = (handler.connections, drain)
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
            // All waiting connections are accepted in one turn of the loop.
            .serverChannelOption(.maxMessagesPerRead, value: UInt(Self.backlog))
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        ConnectionGate(
                            connections: handler.connections, limit: handler.limits.connections,
                            meters: handler.meters, logger: handler.logger))
                }
            }
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            // One socket read for each requested read, so that little unrequested input is buffered.
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelOption(.writeBufferWaterMark, value: HTTPConnection.maxUnsent)
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

/// The time between the shutdown signal and the shutdown, in which load balancers notice that the server is leaving.
///
/// Requests are answered as usual, also on new connections, but each response closes its connection.
final class Drain: Sendable {
    /// The duration of the drain, or zero for no drain.
    let time: Duration
    /// The time limit for the first request of a new connection after the drain.
    let firstRequest: Duration
    private let begun = Atomic(false)

    init(time: Duration, firstRequest: Duration) {
        self.time = time
        self.firstRequest = firstRequest
    }

    /// The time after which a long-lived connection is closed, counted from the start of the drain: late enough for
    /// balancers to send its client elsewhere, and spread over time.
    var timeForConnection: Duration { time * Double.random(in: 0.5...0.9) }

    var hasBegun: Bool { begun.load(ordering: .relaxed) }

    func begin() { begun.store(true, ordering: .relaxed) }
}
