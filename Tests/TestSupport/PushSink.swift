import Crypto
import CryptoExtras
import Foundation
import JSON
import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOPosix
import NIOSSL
import Synchronization

/// Stands for Apple's and Google's push services: HTTP/2 over TLS with a certificate of its own, answers by how tokens
/// begin, and signatures that are verified.
public final class PushSink: Sendable {
    /// A notification that came.
    public struct Notification: Sendable {
        public var path: String
        /// The token of the device.
        public var token: String
        public var headers: [String: String]
        public var body: JSONValue
    }

    /// How the connections behave.
    public struct Manners: Sendable {
        /// How many streams there may be on a connection.
        public var streams = 100
        /// After how many requests a connection says GOAWAY; nil for never.
        public var requestsBeforeGoAway: Int?
        /// Every how many streams one is refused; nil for none.
        public var refusesEvery: Int?

        public init() {}
    }

    private struct State {
        var notifications: [Notification] = []
        var tries: [String: Int] = [:]
        var authorizations: Set<String> = []
        var channels: [any Channel] = []
    }

    /// The key by which the server signs for Apple, and that of its service account.
    public let appleKey = P256.Signing.PrivateKey()
    public let accountKey: _RSA.Signing.PrivateKey
    private let manners: Manners
    private let authority: TestAuthority
    private let certificate: (certificate: String, key: String)
    private let state = Mutex(State())

    private init(_ manners: Manners) throws {
        self.manners = manners
        accountKey = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        authority = try TestAuthority()
        certificate = try authority.certificate(for: "localhost")
    }

    /// What came, in its order.
    public var notifications: [Notification] { state.withLock { $0.notifications } }

    /// The tokens of what came, in order.
    public var tokens: [String] { notifications.map(\.token).sorted() }

    /// The different tokens by which the server said who it is.
    public var authorizations: Set<String> { state.withLock { $0.authorizations } }

    /// Forgets what came.
    public func forget() { state.withLock { $0.notifications = [] } }

    private func port(_ index: Int) -> Int { state.withLock { $0.channels[index].localAddress?.port ?? 0 } }

    /// An entry of the option `push` for Apple's devices.
    public func apple(_ topic: String, _ changes: JSONObject? = nil) -> JSONValue {
        var entry: JSONObject = [
            "token": [
                "key": .string(appleKey.pemRepresentation), "keyId": "KEY1234567", "teamId": "TEAM123456",
            ],
            "topic": .string(topic), "address": "localhost", "port": .number(Double(port(0))),
            "ca": .string(authority.pem),
        ]
        for (key, value) in changes ?? [:] { entry[key] = value }
        return .object(entry)
    }

    /// The entry for Android's devices.
    ///
    /// - Parameter tokens: Where access tokens are given out.
    public func android(tokens: String) -> JSONValue {
        [
            "firebaseServiceAccount": [
                "project_id": "songs", "client_email": "push@songs.example", "private_key_id": "account1",
                "private_key": .string(accountKey.pemRepresentation), "token_uri": .string(tokens),
            ],
            "endpoint": .string("http://127.0.0.1:\(port(1))"),
        ]
    }

    /// Starts a sink, runs `body` with it, and stops it.
    public static func run<R: Sendable>(
        _ manners: Manners = Manners(), _ body: @Sendable (PushSink) async throws -> R
    ) async throws -> R {
        let sink = try PushSink(manners)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMBytes(Array(sink.certificate.certificate.utf8)).map {
                .certificate($0)
            },
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(sink.certificate.key.utf8), format: .pem)))
        configuration.applicationProtocols = ["h2"]
        let tls = try NIOSSLContext(configuration: configuration)
        for context in [tls, nil] {
            let channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let pipeline = channel.pipeline.syncOperations
                        if let context { try pipeline.addHandler(NIOSSLServerHandler(context: context)) }
                        try pipeline.addHandler(
                            NIOHTTP2Handler(
                                mode: .server,
                                initialSettings: [
                                    HTTP2Setting(parameter: .maxConcurrentStreams, value: manners.streams)
                                ]))
                        try pipeline.addHandler(SinkHandler(sink, manners))
                    }
                }
                .bind(host: "localhost", port: 0).get()
            sink.state.withLock { $0.channels.append(channel) }
        }
        let channels = sink.state.withLock { $0.channels }
        do {
            let result = try await body(sink)
            for channel in channels { try? await channel.close() }
            return result
        } catch {
            for channel in channels { try? await channel.close() }
            throw error
        }
    }

    /// What is answered.
    struct Answer {
        var status = 200
        var headers: [(String, String)] = []
        var body = ""
    }

    /// Notes a notification, and says what is answered.
    func take(_ headers: HPACKHeaders, _ bytes: [UInt8]) -> Answer {
        let path = headers.first(name: ":path") ?? ""
        let body = (try? JSONValue(parsing: bytes)) ?? .null
        let isApple = path.hasPrefix("/3/device/")
        let token = isApple ? String(path.dropFirst(10)) : body["message"]?["token"]?.stringValue ?? ""
        let authorization = headers.first(name: "authorization") ?? ""
        guard isApple ? isSigned(authorization) : authorization == "Bearer access-1" else {
            return isApple
                ? Answer(status: 403, body: #"{"reason":"InvalidProviderToken"}"#)
                : Answer(status: 401, body: #"{"error":{"status":"UNAUTHENTICATED"}}"#)
        }
        var fields: [String: String] = [:]
        for (name, value, _) in headers { fields[name] = value }
        let tries = state.withLock { state in
            state.authorizations.insert(authorization)
            state.notifications.append(Notification(path: path, token: token, headers: fields, body: body))
            state.tries[token, default: 0] += 1
            return state.tries[token] ?? 0
        }
        return isApple ? Self.apple(token, tries) : Self.google(token)
    }

    private static func apple(_ token: String, _ tries: Int) -> Answer {
        if token.hasPrefix("dead") {
            let now = Int64(Date.now.timeIntervalSince1970 * 1000)
            return Answer(status: 410, body: #"{"reason":"Unregistered","timestamp":\#(now)}"#)
        }
        if token.hasPrefix("01d") { return Answer(status: 410, body: #"{"reason":"Unregistered","timestamp":1000}"#) }
        if token.hasPrefix("bad0") { return Answer(status: 400, body: #"{"reason":"BadDeviceToken"}"#) }
        if token.hasPrefix("b05e"), tries < 3 {
            return Answer(status: 503, headers: [("retry-after", "1")], body: #"{"reason":"ServiceUnavailable"}"#)
        }
        return Answer()
    }

    private static func google(_ token: String) -> Answer {
        guard token.hasPrefix("dead") else { return Answer(body: #"{"name":"projects/songs/messages/1"}"#) }
        return Answer(
            status: 404,
            body: #"{"error":{"status":"NOT_FOUND","details":[{"errorCode":"UNREGISTERED"}]}}"#)
    }

    /// Whether Apple would take a token: ES256 by the key, of the team, not older than an hour.
    private func isSigned(_ authorization: String) -> Bool {
        let parts = authorization.dropFirst(7).split(separator: ".").map(String.init)
        guard authorization.hasPrefix("bearer "), parts.count == 3,
            let header = Self.json(parts[0]), let claims = Self.json(parts[1]), let bytes = Self.bytes(parts[2]),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: bytes)
        else { return false }
        let age = Date.now.timeIntervalSince1970 - (claims["iat"]?.numberValue ?? 0)
        return header["alg"] == "ES256" && header["kid"] == "KEY1234567" && claims["iss"] == "TEAM123456"
            && (-60..<3600).contains(age)
            && appleKey.publicKey.isValidSignature(signature, for: Array("\(parts[0]).\(parts[1])".utf8))
    }

    /// The claims of an assertion of the service account; nil when its key did not sign it (RS256).
    public func claims(ofAssertion assertion: String) -> JSONValue? {
        let parts = assertion.split(separator: ".").map(String.init)
        guard parts.count == 3, Self.json(parts[0])?["alg"] == "RS256", let bytes = Self.bytes(parts[2]),
            accountKey.publicKey.isValidSignature(
                _RSA.Signing.RSASignature(rawRepresentation: bytes), for: Array("\(parts[0]).\(parts[1])".utf8),
                padding: .insecurePKCS1v1_5)
        else { return nil }
        return Self.json(parts[1])
    }

    private static func json(_ text: String) -> JSONValue? {
        bytes(text).flatMap { try? JSONValue(parsing: Array($0)) }
    }

    private static func bytes(_ text: String) -> Data? {
        var plain = text.replacing("-", with: "+").replacing("_", with: "/")
        plain += String(repeating: "=", count: (4 - plain.utf8.count % 4) % 4)
        return Data(base64Encoded: plain)
    }
}

/// Answers the streams of one connection.
private final class SinkHandler: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    private let sink: PushSink
    private let manners: PushSink.Manners
    private var streams: [HTTP2StreamID: (headers: HPACKHeaders, body: [UInt8])] = [:]
    private var count = 0
    private var received = 0
    private var hasSaidGoAway = false

    init(_ sink: PushSink, _ manners: PushSink.Manners) {
        self.sink = sink
        self.manners = manners
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        let id = frame.streamID
        switch frame.payload {
        case .headers(let headers):
            guard !hasSaidGoAway else { return }
            count += 1
            if let every = manners.refusesEvery, count % every == 0 {
                write(context, id, .rstStream(.refusedStream))
                return
            }
            streams[id] = (headers.headers, [])
            if headers.endStream { answer(context, id) }
        case .data(let data):
            received += data.data.readableBytes
            guard streams[id] != nil else { return }
            if case .byteBuffer(let bytes) = data.data { streams[id]?.body += Array(bytes.readableBytesView) }
            if data.endStream { answer(context, id) }
        default: break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if received > 0 { write(context, .rootStream, .windowUpdate(windowSizeIncrement: received)) }
        received = 0
        context.flush()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // What still comes on streams after the last one that was named is left alone.
        if !hasSaidGoAway { context.close(promise: nil) }
    }

    private func answer(_ context: ChannelHandlerContext, _ id: HTTP2StreamID) {
        guard let (headers, body) = streams.removeValue(forKey: id) else { return }
        let answer = sink.take(headers, body)
        var fields = HPACKHeaders([(":status", "\(answer.status)")])
        for (name, value) in answer.headers { fields.add(name: name, value: value) }
        write(context, id, .headers(.init(headers: fields, endStream: answer.body.isEmpty)))
        if !answer.body.isEmpty {
            write(context, id, .data(.init(data: .byteBuffer(ByteBuffer(string: answer.body)), endStream: true)))
        }
        if let most = manners.requestsBeforeGoAway, count >= most, !hasSaidGoAway {
            hasSaidGoAway = true
            // What comes after the last stream that it names was not looked at.
            streams = streams.filter { $0.key < id }
            write(context, .rootStream, .goAway(lastStreamID: id, errorCode: .noError, opaqueData: nil))
        }
    }

    private func write(_ context: ChannelHandlerContext, _ id: HTTP2StreamID, _ payload: HTTP2Frame.FramePayload) {
        context.write(wrapOutboundOut(HTTP2Frame(streamID: id, payload: payload)), promise: nil)
    }
}
