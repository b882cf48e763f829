import Foundation
import JSON
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// A webhook server on loopback with keep-alive connections. Each test defines its responses.
public final class WebhookServer: Sendable {
    public struct Call: Sendable {
        public var name: String
        public var headers: [String: String]
        public var body: JSONValue
        public var size: Int
        public var connection: ObjectIdentifier

        public subscript(key: String) -> JSONValue? { body[key] }
    }

    /// A response to a call.
    public enum Answer: Sendable {
        case success(JSONValue)
        case error(JSONValue)
        /// An arbitrary body.
        case text(String, status: Int = 200, headers: [(String, String)] = [])
        case close
        /// The first part of a response, then the connection is closed.
        case closeInTheMiddle
        /// No response, until the connection ends.
        case silence
        /// This many bytes in chunks, while the connection accepts them.
        case flood(bytes: Int)

        public static let nothing = Answer.text("{}")
    }

    public typealias Behaviour = @Sendable (Call) async throws -> Answer

    private struct State {
        var behaviours: [String: Behaviour] = [:]
        var calls: [Call] = []
        var channel: (any Channel)?
        var floodedBytes = 0
    }

    private let state = Mutex(State())

    public var calls: [Call] { state.withLock { $0.calls } }

    public func calls(_ name: String) -> [Call] { calls.filter { $0.name == name } }

    public func forgetCalls() { state.withLock { $0.calls = [] } }

    public var floodedBytes: Int { state.withLock { $0.floodedBytes } }

    fileprivate func flooded(_ count: Int) { state.withLock { $0.floodedBytes += count } }

    public func on(_ name: String, _ behaviour: @escaping Behaviour) {
        state.withLock { $0.behaviours[name] = behaviour }
    }

    public func url(_ name: String) -> String {
        let port = state.withLock { $0.channel?.localAddress?.port } ?? 0
        return "http://127.0.0.1:\(port)/\(name)"
    }

    public func function(_ name: String, on server: TestServer, _ behaviour: @escaping Behaviour) async throws {
        on(name, behaviour)
        _ = try await server.send(
            "POST", "/hooks/functions", ["functionName": .string(name), "url": .string(url(name))], as: .master
        ).succeeded()
    }

    /// Registers a trigger as a webhook. Its calls are named `Class.event`.
    public func trigger(
        _ event: String, _ className: String, on server: TestServer, _ behaviour: @escaping Behaviour
    ) async throws {
        let name = "\(className).\(event)"
        on(name, behaviour)
        _ = try await server.send(
            "POST", "/hooks/triggers",
            ["className": .string(className), "triggerName": .string(event), "url": .string(url(name))], as: .master
        ).succeeded()
    }

    public static func run<R: Sendable>(_ body: @Sendable (WebhookServer) async throws -> R) async throws -> R {
        let server = WebhookServer()
        let channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.backlog, value: 256)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline(withPipeliningAssistance: false)
                    try channel.pipeline.syncOperations.addHandler(CallHandler(server: server))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        server.state.withLock { $0.channel = channel }
        return try await channel.closing { try await body(server) }
    }

    fileprivate func answer(_ call: Call) async -> Answer {
        let behaviour = state.withLock { state in
            state.calls.append(call)
            return state.behaviours[call.name]
        }
        do {
            return try await behaviour?(call) ?? .text("no such hook", status: 404)
        } catch {
            return .text("\(error)", status: 599)
        }
    }
}

private final class CallHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let server: WebhookServer
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []

    init(server: WebhookServer) { self.server = server }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            body = []
        case .body(let buffer): body += buffer.readableBytesView
        case .end:
            guard let head else { return }
            let channel = context.channel
            let call = WebhookServer.Call(
                name: String(head.uri.dropFirst()).removingPercentEncoding ?? "",
                headers: Dictionary(head.headers.map { ($0.name.lowercased(), $0.value) }) { $1 },
                body: (try? JSONValue(parsing: body)) ?? .null, size: body.count, connection: ObjectIdentifier(channel))
            let server = server
            Task {
                let answer = await server.answer(call)
                await AnswerWriter.write(answer, to: channel, server)
            }
        }
    }
}

private enum AnswerWriter {
    static func write(_ answer: WebhookServer.Answer, to channel: any Channel, _ server: WebhookServer) async {
        switch answer {
        case .success(let value): send(JSONValue.object(["success": value]).text, 200, [], channel)
        case .error(let value): send(JSONValue.object(["error": value]).text, 200, [], channel)
        case .text(let text, let status, let headers): send(text, status, headers, channel)
        case .close: try? await channel.close()
        case .closeInTheMiddle:
            begin(200, [("Content-Length", "1000")], channel)
            let piece = HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: "{\"success\":")))
            try? await channel.writeAndFlush(piece)
            try? await channel.close()
        case .silence: break
        case .flood(let bytes):
            begin(200, [("Content-Length", "\(bytes)")], channel)
            let piece = ByteBuffer(repeating: UInt8(ascii: " "), count: 1 << 20)
            var left = bytes
            while left > 0, channel.isActive {
                do {
                    try await channel.writeAndFlush(HTTPServerResponsePart.body(.byteBuffer(piece)))
                } catch { return }
                server.flooded(piece.readableBytes)
                left -= piece.readableBytes
            }
        }
    }

    private static func begin(_ status: Int, _ fields: [(String, String)], _ channel: any Channel) {
        let head = HTTPResponseHead(
            version: .http1_1, status: .init(statusCode: status), headers: HTTPHeaders(fields))
        channel.write(HTTPServerResponsePart.head(head), promise: nil)
    }

    private static func send(_ text: String, _ status: Int, _ fields: [(String, String)], _ channel: any Channel) {
        var fields = fields
        if status != 204 { fields.append(("Content-Length", "\(text.utf8.count)")) }
        begin(status, fields, channel)
        if !text.isEmpty {
            channel.write(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: text))), promise: nil)
        }
        channel.writeAndFlush(HTTPServerResponsePart.end(nil), promise: nil)
    }
}
