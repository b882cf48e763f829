import Foundation
import JSON
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization

/// A stand-in for all identity providers: a local proxy that accepts `CONNECT` to any host and responds over TLS with a
/// certificate of its own authority.
///
/// A server uses it with ``options``.
public final class IdentityStandIn: Sendable {
    public struct Request: Sendable {
        public var host: String
        public var method: String
        /// The path and the query.
        public var path: String
        public var headers: [String: String]
        public var body: String
        public var bytes: [UInt8] = []
    }

    public struct Reply: Sendable {
        public var status = 200
        public var headers: [(String, String)] = []
        public var body: String

        public init(_ body: String, status: Int = 200, headers: [(String, String)] = []) {
            self.body = body
            self.status = status
            self.headers = headers
        }

        public init(_ json: JSONValue, status: Int = 200, headers: [(String, String)] = []) {
            self.init(json.text, status: status, headers: headers)
        }
    }

    public typealias Answer = @Sendable (Request) async throws -> Reply

    private let answer: Mutex<Answer>
    private let seen = Mutex<[Request]>([])
    private let authority: TestAuthority
    private let channel = Mutex<(any Channel)?>(nil)
    private let folder: String

    public var requests: [Request] { seen.withLock { $0 } }

    public func setAnswer(_ answer: @escaping Answer) { self.answer.withLock { $0 = answer } }

    /// The options of a server that reaches identity providers through this proxy.
    public var options: JSONObject {
        let port = channel.withLock { $0?.localAddress?.port } ?? 0
        return [
            "httpsProxy": .string("http://127.0.0.1:\(port)"),
            "trustedCertificates": .string(folder + "/authority.pem"),
        ]
    }

    private init(_ answer: @escaping Answer) throws {
        self.answer = Mutex(answer)
        authority = try TestAuthority()
        folder = FileManager.default.temporaryDirectory.path + "/roost-identity-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try authority.pem.write(toFile: folder + "/authority.pem", atomically: true, encoding: .utf8)
    }

    public static func run<R: Sendable>(
        _ answer: @escaping Answer, _ body: @Sendable (IdentityStandIn) async throws -> R
    ) async throws -> R {
        let standIn = try IdentityStandIn(answer)
        let channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.backlog, value: 64)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(ConnectHandler(standIn: standIn))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        standIn.channel.withLock { $0 = channel }
        defer { try? FileManager.default.removeItem(atPath: standIn.folder) }
        return try await channel.closing { try await body(standIn) }
    }

    fileprivate func reply(to request: Request) async -> Reply {
        seen.withLock { $0.append(request) }
        let answer = answer.withLock { $0 }
        do {
            return try await answer(request)
        } catch {
            return Reply("\(error)", status: 599)
        }
    }

    fileprivate func context(for host: String) throws -> NIOSSLContext { try authority.context(for: host) }
}

private final class ConnectHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let standIn: IdentityStandIn
    private var received = ""

    init(standIn: IdentityStandIn) { self.standIn = standIn }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var buffer = unwrapInboundIn(data)
        received += buffer.readString(length: buffer.readableBytes) ?? ""
        guard received.hasSuffix("\r\n\r\n") else { return }
        let words = received.split(separator: " ")
        guard words.count > 1, words[0] == "CONNECT", let host = words[1].split(separator: ":").first.map(String.init),
            let tls = try? standIn.context(for: host)
        else { return context.close(promise: nil) }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: "HTTP/1.1 200 OK\r\n\r\n")), promise: nil)
        let pipeline = context.pipeline.syncOperations
        do {
            try pipeline.addHandler(NIOSSLServerHandler(context: tls))
            try pipeline.configureHTTPServerPipeline()
            try pipeline.addHandler(HostHandler(standIn: standIn, host: host))
            context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
        } catch {
            context.close(promise: nil)
        }
    }
}

private final class HostHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let standIn: IdentityStandIn
    private let host: String
    private var request: IdentityStandIn.Request?

    init(standIn: IdentityStandIn, host: String) {
        self.standIn = standIn
        self.host = host
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            let headers = Dictionary(head.headers.map { ($0.name.lowercased(), $0.value) }) { $1 }
            request = .init(host: host, method: head.method.rawValue, path: head.uri, headers: headers, body: "")
        case .body(let buffer):
            request?.body += String(buffer: buffer)
            request?.bytes += Array(buffer.readableBytesView)
        case .end:
            guard let request else { return }
            let channel = context.channel
            let standIn = standIn
            Task {
                let reply = await standIn.reply(to: request)
                var headers = HTTPHeaders(reply.headers)
                headers.replaceOrAdd(name: "Content-Length", value: String(reply.body.utf8.count))
                let head = HTTPResponseHead(
                    version: .http1_1, status: .init(statusCode: reply.status), headers: headers)
                channel.write(HTTPServerResponsePart.head(head), promise: nil)
                channel.write(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: reply.body))), promise: nil)
                channel.writeAndFlush(HTTPServerResponsePart.end(nil), promise: nil)
            }
        }
    }
}
