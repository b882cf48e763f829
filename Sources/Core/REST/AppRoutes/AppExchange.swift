import DequeModule
import HTTP
import Limits
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// A request to an app's own routes, on a separate connection. Streams the request body as fast as the app reads it,
/// and the response as fast as the client reads it.
final class AppExchange: Sendable {
    private struct State {
        var parts = Deque<HTTPClientResponsePart>()
        /// The error that follows the last part, or nil while the connection is open.
        var end: (any Error)?
        var consumer: CheckedContinuation<HTTPClientResponsePart, any Error>?
        var channel: (any Channel)?
        var isClosed = false
        /// Resolved when the latest part of the request is written or can't be written, or to stop waiting for it.
        var written: OneTime<Bool>?
        var sentBytes = 0
        /// Whether the response is complete or the exchange has ended.
        var isAnswered = false
    }

    /// The error if the connection ends before the response is complete, or the app sends invalid HTTP.
    struct Broken: Error {}
    /// The error if the app sends or reads nothing within the time limit.
    struct Silent: Error {}

    private let state = Mutex(State())
    private let release: @Sendable () -> Void

    private init(release: @escaping @Sendable () -> Void) { self.release = release }

    deinit { close() }

    /// Connects to an app's Unix socket.
    ///
    /// - Parameter release: Called once when the response is complete or the exchange ends, unless connecting fails.
    /// - Throws: The connection error.
    static func open(_ socket: String, release: @escaping @Sendable () -> Void) async throws -> AppExchange {
        let exchange = AppExchange(release: release)
        // On the client's event loop, the response needs no thread switch.
        let group: any EventLoopGroup =
            MultiThreadedEventLoopGroup.currentEventLoop ?? MultiThreadedEventLoopGroup.singleton
        let channel = try await ClientBootstrap(group: group)
            .channelOption(.autoRead, value: false)
            .channelInitializer { [weak exchange] channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHTTPClientHandlers(leftOverBytesStrategy: .dropBytes)
                    try channel.pipeline.syncOperations.addHandler(Handler(exchange))
                }
            }.connect(unixDomainSocketPath: socket).get()
        exchange.state.withLock { $0.channel = channel }
        channel.read()
        return exchange
    }

    /// Ends the exchange. If the response isn't complete, the app sees the client disconnect.
    func close() {
        let (channel, consumer) = state.withLock { state in
            guard !state.isClosed else { return (nil as (any Channel)?, state.consumer.take()) }
            state.isClosed = true
            state.end = state.end ?? Broken()
            state.parts.removeAll()
            defer { state.channel = nil }
            return (state.channel, state.consumer.take())
        }
        consumer?.resume(throwing: Broken())
        guard let channel else { return }
        channel.close(promise: nil)
        endAnswer()
    }

    /// Marks the response as complete and releases the exchange's slot. The app may still read the request body, with a
    /// limit of one second per part.
    func endAnswer() {
        let (wasAnswered, written) = state.withLock { state in
            defer { state.isAnswered = true }
            return (state.isAnswered, state.written)
        }
        guard !wasAnswered else { return }
        written?.set(true)
        release()
    }

    /// Sends a request without a body. Doesn't wait for the write: an app that doesn't read it sends no response
    /// either.
    func sendAll(_ head: HTTPRequestHead) {
        guard let channel = state.withLock({ $0.channel }) else { return }
        channel.write(HTTPClientRequestPart.head(head), promise: nil)
        channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
    }

    /// Sends a part of the request.
    ///
    /// - Parameter isOver: Returns true to stop waiting for the write. Call ``wake()`` after its value changes.
    /// - Returns: False if the part wasn't written within the limit or the connection closed.
    func send(
        _ part: HTTPClientRequestPart, within limit: Duration, unless isOver: @Sendable () -> Bool = { false }
    ) async -> Bool {
        let isWritten = OneTime<Bool>()
        let (channel, isAnswered) = state.withLock { state in
            state.written = isWritten
            if case .body(.byteBuffer(let bytes)) = part { state.sentBytes += bytes.readableBytes }
            return (state.channel, state.isAnswered)
        }
        guard let channel else { return false }
        channel.writeAndFlush(part).whenComplete { result in
            if case .success = result { isWritten.set(true) } else { isWritten.set(false) }
        }
        if isOver() { return true }
        return await isWritten.wait(isAnswered ? min(limit, Self.readOn) : limit) ?? false
    }

    /// The time limit for writing a part after the response is complete, when the rest of the body hardly matters.
    private static let readOn = Duration.seconds(1)

    /// Ends a wait in ``send(_:within:unless:)``.
    func wake() { state.withLock { $0.written }?.set(true) }

    /// The number of body bytes passed to ``send(_:within:unless:)`` so far.
    var sentBytes: Int { state.withLock { $0.sentBytes } }

    /// Waits for the next part of the response.
    ///
    /// - Parameter limit: The maximum wait, or nil for no limit.
    /// - Throws: ``Silent`` after the limit, or ``Broken`` if the exchange has ended.
    func next(within limit: Duration?) async throws -> HTTPClientResponsePart {
        if let part = state.withLock({ $0.parts.popFirst() }) { return part }
        guard let channel = state.withLock({ $0.channel }) else { throw Broken() }
        let timer = limit.map { limit in
            channel.eventLoop.scheduleTask(in: TimeAmount(limit)) { [weak self] in self?.finish(Silent()) }
        }
        defer { timer?.cancel() }
        return try await withCheckedThrowingContinuation { continuation in
            let result: Result<HTTPClientResponsePart, any Error>? = state.withLock { state in
                if let part = state.parts.popFirst() { return .success(part) }
                if let end = state.end { return .failure(end) }
                state.consumer = continuation
                return nil
            }
            if let result { return continuation.resume(with: result) }
            channel.read()
        }
    }

    private func append(_ part: HTTPClientResponsePart) {
        let consumer = state.withLock { state in
            let consumer = state.consumer.take()
            if consumer == nil { state.parts.append(part) }
            return consumer
        }
        consumer?.resume(returning: part)
    }

    private func finish(_ end: any Error) {
        let consumer = state.withLock { state in
            state.end = state.end ?? end
            return state.consumer.take()
        }
        consumer?.resume(throwing: end)
    }

    private var isAwaited: Bool { state.withLock { $0.consumer != nil } }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPClientResponsePart

        private weak var exchange: AppExchange?

        init(_ exchange: AppExchange?) { self.exchange = exchange }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { exchange?.append(unwrapInboundIn(data)) }

        func channelReadComplete(context: ChannelHandlerContext) {
            // A waiting consumer shows that the bytes received so far don't form a whole part.
            if exchange?.isAwaited == true { context.read() }
        }

        func channelInactive(context: ChannelHandlerContext) { exchange?.finish(Broken()) }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            exchange?.finish(Broken())
            context.close(promise: nil)
        }
    }
}
