import DequeModule
import HTTP
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
import Tasks

/// One request to an app's own routes, on a connection of its own: the body goes out as the app reads it, and the answer
/// is read as the client takes it.
final class AppExchange: Sendable {
    private struct State {
        var parts = Deque<HTTPClientResponsePart>()
        /// What comes after the last part; nil while the connection is open.
        var end: (any Error)?
        var consumer: CheckedContinuation<HTTPClientResponsePart, any Error>?
        var channel: (any Channel)?
        var isClosed = false
        /// Set once the app has read the last part, or the sender stops waiting.
        var taken: OneTime<Bool>?
        var sentBytes = 0
        /// Whether the answer is complete, or will never be.
        var isAnswered = false
    }

    /// The app ended the connection, or sent what is no HTTP.
    struct Broken: Error {}
    /// The app was silent for too long.
    struct Silent: Error {}

    private let state = Mutex(State())
    private let release: @Sendable () -> Void

    /// - Parameter release: Called once when the answer is complete or the exchange ends.
    private init(release: @escaping @Sendable () -> Void) { self.release = release }

    deinit { close() }

    /// Connects to the socket of an app.
    ///
    /// - Parameter release: Called once when the answer is complete or the exchange ends.
    /// - Throws: What keeps it from connecting.
    static func open(_ socket: String, release: @escaping @Sendable () -> Void) async throws -> AppExchange {
        let exchange = AppExchange(release: release)
        // The answer reaches the client's connection without a change of threads.
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

    /// Ends the exchange. Before its answer is complete, the app sees that the client left.
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

    /// Releases the slot of the exchange. The app may go on reading the body, as long as it does so promptly.
    func endAnswer() {
        let (wasAnswered, taken) = state.withLock { state in
            defer { state.isAnswered = true }
            return (state.isAnswered, state.taken)
        }
        guard !wasAnswered else { return }
        taken?.set(true)
        release()
    }

    /// Sends a request without a body. An app that doesn't read it sends no answer.
    func sendAll(_ head: HTTPRequestHead) {
        guard let channel = state.withLock({ $0.channel }) else { return }
        channel.write(HTTPClientRequestPart.head(head), promise: nil)
        channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
    }

    /// Sends a part.
    ///
    /// - Parameter isOver: Whether to stop waiting until the app has read the part. Call ``wake()`` after its value changes.
    /// - Returns: Whether it was sent in time; false if the app doesn't read it.
    func send(
        _ part: HTTPClientRequestPart, within limit: Duration, unless isOver: @Sendable () -> Bool = { false }
    ) async -> Bool {
        let isTaken = OneTime<Bool>()
        let (channel, isAnswered) = state.withLock { state in
            state.taken = isTaken
            if case .body(.byteBuffer(let bytes)) = part { state.sentBytes += bytes.readableBytes }
            return (state.channel, state.isAnswered)
        }
        guard let channel else { return false }
        channel.writeAndFlush(part).whenComplete { result in
            if case .success = result { isTaken.set(true) } else { isTaken.set(false) }
        }
        if isOver() { return true }
        return await isTaken.wait(isAnswered ? min(limit, Self.readOn) : limit) ?? false
    }

    /// How long an app that has answered may take to read a part.
    private static let readOn = Duration.seconds(1)

    /// Ends the wait of ``send(_:within:unless:)``.
    func wake() { state.withLock { $0.taken }?.set(true) }

    /// Request body bytes sent so far.
    var sentBytes: Int { state.withLock { $0.sentBytes } }

    /// Waits for the next part of the answer.
    ///
    /// - Parameter limit: The longest silence, or nil for no limit.
    /// - Throws: ``Silent`` after the limit, ``Broken`` when the app ended the connection.
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
            // What came was no whole part.
            if exchange?.isAwaited == true { context.read() }
        }

        func channelInactive(context: ChannelHandlerContext) { exchange?.finish(Broken()) }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            exchange?.finish(Broken())
            context.close(promise: nil)
        }
    }
}
