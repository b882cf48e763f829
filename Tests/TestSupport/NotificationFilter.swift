import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// A proxy in front of PostgreSQL that drops notifications until it is opened, like a transaction pooler. It can also
/// hold back single statements.
public final class NotificationFilter: Sendable {
    public let uri: String
    private let gate: Gate

    fileprivate final class Gate: Sendable {
        let isOpen = Atomic(false)
    }

    private init(uri: String, gate: Gate) {
        self.uri = uri
        self.gate = gate
    }

    public func open() { gate.isOpen.store(true, ordering: .relaxed) }

    /// Runs `body` with a proxy in front of a database.
    ///
    /// - Parameter held: Client messages that contain this text wait until the proxy is opened. Nil holds back none.
    public static func run<R: Sendable>(
        before uri: String, holding held: String? = nil, _ body: @Sendable (NotificationFilter) async throws -> R
    ) async throws -> R {
        guard var parts = URLComponents(string: uri) else { throw URLError(.badURL) }
        let (host, port, gate) = (parts.host ?? "127.0.0.1", parts.port ?? 5432, Gate())
        let listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { client in
                ClientBootstrap(group: client.eventLoop).connect(host: host, port: port).flatMapThrowing { server in
                    try client.pipeline.syncOperations.addHandler(Forwarder(to: server, gate: gate, holding: held))
                    try server.pipeline.syncOperations.addHandler(Answers(to: client, gate: gate))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        parts.host = "127.0.0.1"
        parts.port = listener.localAddress?.port
        // The proxy can't read encrypted messages.
        parts.queryItems = (parts.queryItems ?? []) + [URLQueryItem(name: "sslmode", value: "disable")]
        return try await listener.closing { try await body(NotificationFilter(uri: parts.string ?? uri, gate: gate)) }
    }

    private final class Forwarder: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let other: any Channel
        private let gate: Gate
        private let held: String?
        private var waiting: [ByteBuffer] = []

        init(to other: any Channel, gate: Gate, holding held: String?) {
            self.other = other
            self.gate = gate
            self.held = held
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            waiting.append(unwrapInboundIn(data))
            passOn(on: context.eventLoop)
        }

        private func passOn(on loop: any EventLoop) {
            let holds = waiting.contains { bytes in held.map { String(buffer: bytes).contains($0) } ?? false }
            if holds, !gate.isOpen.load(ordering: .relaxed) {
                let bound = NIOLoopBound(self, eventLoop: loop)
                loop.scheduleTask(in: .milliseconds(10)) { bound.value.passOn(on: loop) }
                return
            }
            for bytes in waiting { other.write(bytes, promise: nil) }
            waiting = []
            other.flush()
        }

        func channelInactive(context: ChannelHandlerContext) { other.close(promise: nil) }
    }

    private final class Answers: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let other: any Channel
        private let gate: Gate
        private var pending = ByteBuffer()

        init(to other: any Channel, gate: Gate) {
            self.other = other
            self.gate = gate
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            var buffer = unwrapInboundIn(data)
            pending.writeBuffer(&buffer)
            while let type = pending.getInteger(at: pending.readerIndex, as: UInt8.self),
                let length = pending.getInteger(at: pending.readerIndex + 1, as: Int32.self),
                let message = pending.readSlice(length: Int(length) + 1)
            {
                if type == UInt8(ascii: "A"), !gate.isOpen.load(ordering: .relaxed) { continue }
                other.write(message, promise: nil)
            }
            pending.discardReadBytes()
            other.flush()
        }

        func channelInactive(context: ChannelHandlerContext) { other.close(promise: nil) }
    }
}
