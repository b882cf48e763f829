import Encoding
import Limits
import NIOCore
import NIOPosix

/// Listens on a socket for the process that knows the secret, and delivers its messages.
struct WorkerListener {
    private let channel: any Channel

    /// Opens the socket.
    ///
    /// - Parameters:
    ///   - limit: The maximum size in bytes of a message.
    ///   - connected: Called when the process has sent the secret.
    ///   - message: Receives messages, usually on the thread of the connection.
    ///   - closed: Called when the connection has ended, with the reason if it failed.
    /// - Throws: An error if the socket can't be opened.
    init(
        _ path: String, secret: String, limit: Int, on group: MultiThreadedEventLoopGroup,
        connected: @escaping @Sendable (any Channel) -> Void,
        message: @escaping @Sendable (HostMessage) -> Void, closed: @escaping @Sendable (String?) -> Void
    ) async throws {
        channel = try await ServerBootstrap(group: group).childChannelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                let handler = ConnectionToWorker(
                    secret: secret, connected: connected, message: message, closed: closed)
                try channel.pipeline.syncOperations.addHandlers(
                    ByteToMessageHandler(FrameDecoder(limit: limit)), MessageWriter(), handler)
            }
        }.bind(unixDomainSocketPath: path).get()
    }

    func close() async { try? await channel.close() }
}

private final class ConnectionToWorker: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let secret: String
    private let connected: @Sendable (any Channel) -> Void
    private let message: @Sendable (HostMessage) -> Void
    private let closed: @Sendable (String?) -> Void
    private var isKnown = false
    private var reason: String?

    init(
        secret: String, connected: @escaping @Sendable (any Channel) -> Void,
        message: @escaping @Sendable (HostMessage) -> Void, closed: @escaping @Sendable (String?) -> Void
    ) {
        self.secret = secret
        self.connected = connected
        self.message = message
        self.closed = closed
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        if isKnown, bytes.readableBytes >= HeavyWork.answerSize, HostMessage.mayBeOvertaken(bytes.readableBytesView) {
            return readElsewhere(bytes, channel: context.channel)
        }
        do {
            let message = try HostMessage(parsing: bytes.readableBytesView)
            if isKnown {
                self.message(message)
            } else if case .connect(let secret) = message, ConstantTime.areEqual(secret, self.secret) {
                isKnown = true
                connected(context.channel)
            } else {
                context.close(promise: nil)
            }
        } catch {
            errorCaught(context: context, error: error)
        }
    }

    /// Parses a long message on another thread, so that small messages of all processes aren't delayed.
    private func readElsewhere(_ bytes: ByteBuffer, channel: any Channel) {
        let message = message
        Task(executorPreference: HeavyWork.executor) {
            do {
                message(try HostMessage(parsing: bytes.readableBytesView))
            } catch {
                channel.pipeline.fireErrorCaught(error)
            }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        reason = reason ?? "\(error)"
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        if isKnown { closed(reason) }
    }
}
