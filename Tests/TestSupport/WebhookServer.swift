import Foundation
import JSON
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// A server of webhooks on loopback: over HTTP, with kept connections, answers as the test says.
public final class WebhookServer: Sendable {
    /// A call that came.
    public struct Call: Sendable {
        /// The path, without its slash.
        public var name: String
        /// The header fields by their names in lower case.
        public var headers: [String: String]
        /// The body.
        public var body: JSONValue
        /// How many bytes the body had.
        public var size: Int
        /// Which connection it came by.
        public var connection: ObjectIdentifier

        /// A member of the body.
        public subscript(key: String) -> JSONValue? { body[key] }
    }

    /// What is answered.
    public enum Answer: Sendable {
        /// `{"success": …}`.
        case success(JSONValue)
        /// `{"error": …}`.
        case error(JSONValue)
        /// A body as it is.
        case text(String, status: Int = 200, headers: [(String, String)] = [])
        /// Nothing: the connection is closed.
        case close
        /// The beginning of an answer, after which the connection is closed.
        case closeInTheMiddle
        /// Nothing, for as long as the connection lasts.
        case silence
        /// As many bytes as these, in pieces, as long as the connection takes them.
        case flood(bytes: Int)

        /// An empty object.
        public static let nothing = Answer.text("{}")
    }

    /// What answers calls of one name.
    public typealias Behaviour = @Sendable (Call) async throws -> Answer

    private struct State {
        var behaviours: [String: Behaviour] = [:]
        var calls: [Call] = []
        var channel: (any Channel)?
        var floodedBytes = 0
    }

    private let state = Mutex(State())

    /// The calls that came, in their order.
    public var calls: [Call] { state.withLock { $0.calls } }

    /// The calls of one name.
    public func calls(_ name: String) -> [Call] { calls.filter { $0.name == name } }

    /// Forgets the calls that came.
    public func forgetCalls() { state.withLock { $0.calls = [] } }

    /// How many bytes of floods went out.
    public var floodedBytes: Int { state.withLock { $0.floodedBytes } }

    fileprivate func flooded(_ count: Int) { state.withLock { $0.floodedBytes += count } }

    /// Says what answers calls of a name.
    public func on(_ name: String, _ behaviour: @escaping Behaviour) {
        state.withLock { $0.behaviours[name] = behaviour }
    }

    /// The address of the calls of a name.
    public func url(_ name: String) -> String {
        let port = state.withLock { $0.channel?.localAddress?.port } ?? 0
        return "http://127.0.0.1:\(port)/\(name)"
    }

    /// Declares a function as a webhook, and says what answers it.
    public func function(_ name: String, on server: TestServer, _ behaviour: @escaping Behaviour) async throws {
        on(name, behaviour)
        _ = try await server.send(
            "POST", "/hooks/functions", ["functionName": .string(name), "url": .string(url(name))], as: .master
        ).succeeded()
    }

    /// Declares a trigger as a webhook, and says what answers it. Its calls are named `Class.event`.
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

    /// Starts a server of webhooks, runs `body` with it, and stops it.
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
        do {
            let result = try await body(server)
            try await channel.close()
            return result
        } catch {
            try? await channel.close()
            throw error
        }
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

/// Reads calls and writes answers on one connection.
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

/// Writes what a webhook answers.
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
