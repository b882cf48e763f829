import Foundation
import NIOCore
import NIOPosix
import Testing

/// A port that forwards to a database while a closure runs.
enum LateDatabase {
    private final class Forwarder: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let other: any Channel

        init(to other: any Channel) { self.other = other }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            other.writeAndFlush(unwrapInboundIn(data), promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) { other.close(promise: nil) }
    }

    static func run(at port: Int, before uri: String, _ body: () async throws -> Void) async throws {
        let parts = try #require(URLComponents(string: uri))
        let (host, target) = (parts.host ?? "127.0.0.1", parts.port ?? 5432)
        let listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { client in
                ClientBootstrap(group: client.eventLoop)
                    .channelInitializer { server in
                        server.eventLoop.makeCompletedFuture {
                            try server.pipeline.syncOperations.addHandler(Forwarder(to: client))
                        }
                    }
                    .connect(host: host, port: target)
                    .flatMapThrowing { server in
                        try client.pipeline.syncOperations.addHandler(Forwarder(to: server))
                    }
            }
            .bind(host: "127.0.0.1", port: port).get()
        do {
            try await body()
            try await listener.close()
        } catch {
            try? await listener.close()
            throw error
        }
    }
}
