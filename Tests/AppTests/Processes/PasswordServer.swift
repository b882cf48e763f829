import NIOCore
import NIOPosix
import TestSupport

/// A fake PostgreSQL that requires a password and rejects every password.
enum PasswordServer {
    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private var received = ByteBuffer()

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            var bytes = unwrapInboundIn(data)
            received.writeBuffer(&bytes)
            while let answer = next() { context.writeAndFlush(NIOAny(answer), promise: nil) }
        }

        /// Returns the response to the next complete message, or nil if none is complete.
        private func next() -> ByteBuffer? {
            let start = received.readerIndex
            let isPassword = received.getInteger(at: start, as: UInt8.self) == UInt8(ascii: "p")
            let offset = isPassword ? 1 : 0
            guard let length = received.getInteger(at: start + offset, as: Int32.self), length >= 4,
                let message = received.readSlice(length: offset + Int(length))
            else { return nil }
            if isPassword { return Self.refusal }
            // Encryption requests have these numbers instead of the protocol version.
            let code = message.getInteger(at: message.readerIndex + 4, as: Int32.self)
            return code == 80_877_103 || code == 80_877_104 ? ByteBuffer(string: "N") : Self.question
        }

        /// AuthenticationCleartextPassword.
        private static let question: ByteBuffer = {
            var buffer = ByteBuffer(string: "R")
            buffer.writeInteger(Int32(8))
            buffer.writeInteger(Int32(3))
            return buffer
        }()

        private static let refusal: ByteBuffer = {
            let fields = ["SFATAL", "VFATAL", "C28P01", "Mpassword authentication failed for user \"u\""]
            let text = fields.map { $0 + "\0" }.joined() + "\0"
            var buffer = ByteBuffer(string: "E")
            buffer.writeInteger(Int32(4 + text.utf8.count))
            buffer.writeString(text)
            return buffer
        }()
    }

    static func run<R>(_ body: (Int) async throws -> R) async throws -> R {
        let listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Handler()) }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return try await listener.closing { try await body(listener.localAddress?.port ?? 0) }
    }
}
