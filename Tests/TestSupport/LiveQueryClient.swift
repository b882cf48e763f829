import JSON
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import Synchronization

/// A live-query client with one WebSocket connection.
public final class LiveQueryClient: Sendable {
    private typealias Frames = NIOAsyncChannel<WebSocketFrame, WebSocketFrame>

    public struct Unexpected: Error, CustomStringConvertible {
        public let description: String
    }

    private struct State {
        var messages: [JSONObject] = []
        var isClosed = false
        var pings = 0
    }

    private let state = Mutex(State())
    private let outbound: NIOAsyncChannelOutboundWriter<WebSocketFrame>

    private init(_ outbound: NIOAsyncChannelOutboundWriter<WebSocketFrame>) { self.outbound = outbound }

    static func run<R: Sendable>(
        port: Int, path: String, headers: [String: String], answersPings: Bool, readsAnswers: Bool,
        _ body: @escaping @Sendable (LiveQueryClient) async throws -> R
    ) async throws -> R {
        let opening = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.socketOption(.so_rcvbuf), value: readsAnswers ? 262_144 : 4096)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let upgrader = NIOTypedWebSocketClientUpgrader<Frames>(
                        maxFrameSize: 64 * 1024 * 1024,
                        upgradePipelineHandler: { channel, _ in
                            channel.eventLoop.makeCompletedFuture { try Frames(wrappingChannelSynchronously: channel) }
                        })
                    var fields = HTTPHeaders([("Host", "127.0.0.1:\(port)")])
                    for (name, value) in headers { fields.replaceOrAdd(name: name, value: value) }
                    let upgrade = NIOTypedHTTPClientUpgradeConfiguration(
                        upgradeRequestHead: HTTPRequestHead(
                            version: .http1_1, method: .GET, uri: path, headers: fields),
                        upgraders: [upgrader],
                        notUpgradingCompletionHandler: { channel in
                            channel.eventLoop.makeFailedFuture(Unexpected(description: "no WebSocket is opened"))
                        })
                    return try channel.pipeline.syncOperations.configureUpgradableHTTPClientPipeline(
                        configuration: .init(upgradeConfiguration: upgrade))
                }
            }
        return try await opening.get().executeThenClose { inbound, outbound in
            let client = LiveQueryClient(outbound)
            return try await withThrowingTaskGroup(of: Void.self) { group in
                if readsAnswers {
                    group.addTask { await client.read(inbound, answersPings: answersPings) }
                }
                let result = try await body(client)
                group.cancelAll()
                return result
            }
        }
    }

    private func read(_ inbound: NIOAsyncChannelInboundStream<WebSocketFrame>, answersPings: Bool) async {
        do {
            for try await frame in inbound {
                switch frame.opcode {
                case .text:
                    let bytes = Array(frame.unmaskedData.readableBytesView)
                    guard let message = try JSONValue(parsing: bytes).objectValue else { continue }
                    state.withLock { $0.messages.append(message) }
                case .ping where answersPings:
                    state.withLock { $0.pings += 1 }
                    try await outbound.write(
                        WebSocketFrame(fin: true, opcode: .pong, maskKey: .random(), data: frame.unmaskedData))
                case .connectionClose: state.withLock { $0.isClosed = true }
                default: break
                }
            }
        } catch {}
        state.withLock { $0.isClosed = true }
    }

    public var pings: Int { state.withLock { $0.pings } }

    public func send(_ message: JSONObject) async throws { try await send(text: message.text) }

    public func send(text: String) async throws {
        try await outbound.write(
            WebSocketFrame(fin: true, opcode: .text, maskKey: .random(), data: ByteBuffer(string: text)))
    }

    /// Returns the server's next message.
    ///
    /// - Throws: ``Unexpected`` on timeout.
    public func next(within limit: Duration = .seconds(30)) async throws -> JSONObject {
        let end = ContinuousClock.now + limit
        while ContinuousClock.now < end {
            let (message, isOver) = state.withLock { state in
                (state.messages.isEmpty ? nil : state.messages.removeFirst(), state.isClosed && state.messages.isEmpty)
            }
            if let message { return message }
            if isOver { break }
            try await Task.sleep(for: .milliseconds(1))
        }
        throw Unexpected(description: "no message came")
    }

    public func next(_ count: Int) async throws -> [JSONObject] {
        var messages: [JSONObject] = []
        for _ in 0..<count { messages.append(try await next()) }
        return messages
    }

    /// Waits for the server to close the connection. Returns false on timeout.
    public func isClosed() async throws -> Bool { try await eventually { state.withLock { $0.isClosed } } }

    /// Sends `connect` and waits for the response.
    ///
    /// - Returns: The client id.
    @discardableResult
    public func connect(sessionToken: String? = nil, _ members: JSONObject? = nil) async throws -> String {
        var message: JSONObject = ["op": "connect", "applicationId": .string(TestServer.applicationID)]
        if let sessionToken { message["sessionToken"] = .string(sessionToken) }
        for (name, value) in members ?? [:] { message[name] = value }
        try await send(message)
        let answer = try await next()
        guard answer["op"] == "connected", let id = answer["clientId"]?.stringValue else {
            throw Unexpected(description: answer.text)
        }
        return id
    }

    /// Subscribes and waits for the response.
    ///
    /// - Parameter query: Further members of the query: `where`, `keys`, `watch`.
    @discardableResult
    public func subscribe(
        _ id: Int, _ className: String, _ query: JSONObject? = nil, sessionToken: String? = nil,
        operation: String = "subscribe"
    ) async throws -> JSONObject {
        var whole: JSONObject = ["className": .string(className), "where": [:]]
        for (name, value) in query ?? [:] { whole[name] = value }
        var message: JSONObject = [
            "op": .string(operation), "requestId": .number(Double(id)), "query": .object(whole),
        ]
        if let sessionToken { message["sessionToken"] = .string(sessionToken) }
        try await send(message)
        return try await next()
    }
}

extension TestServer {
    public static func publishing(_ classNames: JSONValue...) -> JSONObject {
        ["liveQuery": ["classNames": .array(classNames)], "startLiveQueryServer": true]
    }

    public static func runLive(
        _ options: JSONObject, _ body: @escaping @Sendable (TestServer, LiveQueryClient) async throws -> Void
    ) async throws {
        try await run(options) { server in
            try await server.liveQuery { client in
                try await client.connect()
                try await body(server, client)
            }
        }
    }

    public func liveQuery<R: Sendable>(
        path: String = "/parse", headers: [String: String] = [:], answersPings: Bool = true, readsAnswers: Bool = true,
        _ body: @escaping @Sendable (LiveQueryClient) async throws -> R
    ) async throws -> R {
        let port = url.utf8.split(separator: UInt8(ascii: ":")).last.flatMap { part in
            String(Substring(part)).split(separator: "/").first.flatMap { Int($0) }
        }
        guard let port else { throw LiveQueryClient.Unexpected(description: "\(url) has no port") }
        return try await LiveQueryClient.run(
            port: port, path: path, headers: headers, answersPings: answersPings, readsAnswers: readsAnswers, body)
    }
}
