import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
import TestSupport

/// A fake store whose responses each test defines, for faults that real stores don't have on demand.
final class StoreStandIn: Sendable {
    struct Call: Sendable {
        var method: String
        /// The path and the query.
        var target: String
        var headers: [String: String]
        var body: [UInt8]

        func has(_ parameter: String) -> Bool { target.contains(parameter) }
    }

    /// A response to a request.
    enum Answer: Sendable {
        case reply(Int, headers: [(String, String)] = [], body: String = "")
        /// Closes the connection without a response.
        case close
        /// Keeps the connection open without a response.
        case silence
        /// Sends a body shorter than its Content-Length.
        case cut(String, length: Int)
        /// Sends a part of the body and keeps the connection open.
        case stall(String, length: Int)
        /// Sends a body without a Content-Length.
        case unmeasured(String)

        static func error(_ status: Int, _ code: String, headers: [(String, String)] = []) -> Answer {
            .reply(status, headers: headers, body: "<Error><Code>\(code)</Code><Message>words</Message></Error>")
        }
    }

    /// Returns the response to a request. The second argument is the request's number, from 1.
    typealias Behaviour = @Sendable (Call, Int) -> Answer

    private let state = Mutex<(calls: [Call], port: Int, connections: Int)>(([], 0, 0))
    private let behaviour: Behaviour

    private init(_ behaviour: @escaping Behaviour) { self.behaviour = behaviour }

    var port: Int { state.withLock { $0.port } }
    var calls: [Call] { state.withLock { $0.calls } }
    var connections: Int { state.withLock { $0.connections } }

    fileprivate func count(_ change: Int) { state.withLock { $0.connections += change } }

    fileprivate func answer(_ call: Call) -> Answer {
        let number = state.withLock { state in
            state.calls.append(call)
            return state.calls.count
        }
        return behaviour(call, number)
    }

    static func run<R>(
        port: Int = 0, _ behaviour: @escaping Behaviour, _ body: (StoreStandIn) async throws -> R
    ) async throws -> R {
        let store = StoreStandIn(behaviour)
        let channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline(withPipeliningAssistance: false)
                    try channel.pipeline.syncOperations.addHandler(StandInHandler(store: store))
                }
            }
            .bind(host: "127.0.0.1", port: port).get()
        store.state.withLock { $0.port = channel.localAddress?.port ?? 0 }
        return try await channel.closing { try await body(store) }
    }
}

private final class StandInHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let store: StoreStandIn
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []

    init(store: StoreStandIn) { self.store = store }

    func handlerAdded(context: ChannelHandlerContext) { store.count(1) }

    func handlerRemoved(context: ChannelHandlerContext) { store.count(-1) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): (self.head, body) = (head, [])
        case .body(let buffer): body += buffer.readableBytesView
        case .end:
            guard let head else { return }
            let call = StoreStandIn.Call(
                method: head.method.rawValue, target: head.uri,
                headers: Dictionary(head.headers.map { ($0.name.lowercased(), $0.value) }) { $1 }, body: body)
            switch store.answer(call) {
            case .close: context.close(promise: nil)
            case .silence: break
            case .cut(let text, let length):
                write(200, [("Content-Length", "\(length)"), ("ETag", "\"a\"")], text, context)
                context.close(promise: nil)
            case .stall(let text, let length):
                write(200, [("Content-Length", "\(length)"), ("ETag", "\"a\"")], text, context)
            case .unmeasured(let text):
                write(200, [("ETag", "\"a\"")], text, context)
                context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            case .reply(let status, let headers, let text):
                write(status, headers + [("Content-Length", "\(text.utf8.count)")], text, context)
                context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            }
        }
    }

    private func write(_ status: Int, _ headers: [(String, String)], _ text: String, _ context: ChannelHandlerContext) {
        var fields = HTTPHeaders()
        for (name, value) in headers { fields.replaceOrAdd(name: name, value: value) }
        let head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: status), headers: fields)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        guard self.head?.method != .HEAD else { return context.flush() }
        context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: text)))), promise: nil)
    }
}
