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
        /// When it came.
        public var at: ContinuousClock.Instant
    }

    /// How the connections behave.
    public struct Manners: Sendable {
        /// How many streams there may be on a connection.
        public var streams = 100
        /// After how many requests a connection says GOAWAY; nil for never.
        public var requestsBeforeGoAway: Int?
        /// Whether a connection says GOAWAY before it has looked at any request.
        public var leavesAtOnce = false
        /// Every how many streams one is refused; nil for none.
        public var refusesEvery: Int?
        /// How many streams there may be from the first good answer on; nil for as many as before.
        public var streamsAfterFirst: Int?
        /// What is answered to the tries of devices, in turn, the last one from then on: by how their tokens begin, or by
        /// all (an empty text).
        public var scripts: [String: [Reply]] = [:]
        /// Whether clients are to have a certificate of the sink's authority.
        public var wantsCertificates = false
        /// How Google's access tokens are called, in turn.
        public var accessTokens: Set<String> = ["access-1"]

        public init() {}
    }

    /// What becomes of a request.
    public enum Reply: Sendable {
        case answer(Answer)
        /// The answer comes after a while.
        case late(Duration, Answer)
        /// The answer comes once a latch is open.
        case held(Latch, Answer)
        /// The stream is reset, after the request was taken.
        case reset
        /// The connection is closed without an answer.
        case close
        /// There is never an answer.
        case silence

        /// The request is taken.
        public static let good = Reply.answer(Answer())

        /// An answer of Apple's, with its reason, or of Google's, with its code.
        public static func failure(_ status: Int, _ reason: String, retryAfter: Int? = nil) -> Reply {
            .answer(
                Answer(
                    status: status, headers: retryAfter.map { [("retry-after", "\($0)")] } ?? [],
                    body: #"{"reason":"\#(reason)","error":{"status":"\#(reason)"}}"#))
        }
    }

    private struct State {
        var notifications: [Notification] = []
        var tries: [String: Int] = [:]
        var authorizations: Set<String> = []
        var channels: [any Channel] = []
        var connections = 0
        var mostStreams = 0
    }

    /// By what a sink and those who send to it know each other.
    public struct Identity: Sendable {
        /// The key by which the server signs for Apple, and that of its service account.
        public let appleKey = P256.Signing.PrivateKey()
        public let accountKey: _RSA.Signing.PrivateKey
        let authority: TestAuthority
        let certificate: (certificate: String, key: String)

        /// A new one.
        public init() throws {
            accountKey = try _RSA.Signing.PrivateKey(keySize: .bits2048)
            authority = try TestAuthority()
            certificate = try authority.certificate(for: "localhost")
        }

        /// The settings of an entry for Apple's devices that lead to a sink, without what says who sends.
        public func place(_ topic: String, port: Int) -> JSONObject {
            [
                "topic": .string(topic), "address": "localhost", "port": .number(Double(port)),
                "ca": .string(authority.pem),
            ]
        }

        /// An entry of the option `push` for Apple's devices.
        public func apple(_ topic: String, port: Int, _ changes: JSONObject? = nil) -> JSONValue {
            var entry = place(topic, port: port)
            entry["token"] = [
                "key": .string(appleKey.pemRepresentation), "keyId": "KEY1234567", "teamId": "TEAM123456",
            ]
            for (key, value) in changes ?? [:] { entry[key] = value }
            return .object(entry)
        }

        /// A certificate for a sender, and its key, in PEM.
        public func clientCertificate(end: Double = 86_400) throws -> (certificate: String, key: String) {
            try authority.certificate(for: "app.one", end: end)
        }
    }

    /// By what it knows who sends.
    public let identity: Identity
    let manners: Manners
    private let state = Mutex(State())

    private init(_ manners: Manners, _ identity: Identity) {
        self.manners = manners
        self.identity = identity
    }

    /// What came, in its order.
    public var notifications: [Notification] { state.withLock { $0.notifications } }

    /// The tokens of what came, in order.
    public var tokens: [String] { notifications.map(\.token).sorted() }

    /// The different tokens by which the server said who it is.
    public var authorizations: Set<String> { state.withLock { $0.authorizations } }

    /// How many connections there were.
    public var connections: Int { state.withLock { $0.connections } }

    /// The most streams that a connection had at once.
    public var mostStreams: Int { state.withLock { $0.mostStreams } }

    func noteConnection() { state.withLock { $0.connections += 1 } }

    func noteStreams(_ count: Int) { state.withLock { $0.mostStreams = max($0.mostStreams, count) } }

    /// Forgets what came.
    public func forget() { state.withLock { $0.notifications = [] } }

    private func port(_ index: Int) -> Int { state.withLock { $0.channels[index].localAddress?.port ?? 0 } }

    /// The port of Apple's notifications.
    public var port: Int { port(0) }

    /// An entry of the option `push` for Apple's devices.
    public func apple(_ topic: String, _ changes: JSONObject? = nil) -> JSONValue {
        identity.apple(topic, port: port, changes)
    }

    /// The entry for Android's devices.
    ///
    /// - Parameter tokens: Where access tokens are given out.
    public func android(tokens: String) -> JSONValue {
        [
            "firebaseServiceAccount": [
                "project_id": "songs", "client_email": "push@songs.example", "private_key_id": "account1",
                "private_key": .string(identity.accountKey.pemRepresentation), "token_uri": .string(tokens),
            ],
            "endpoint": .string("http://127.0.0.1:\(port(1))"),
        ]
    }

    /// Starts a sink, runs `body` with it, and stops it.
    ///
    /// - Parameters:
    ///   - identity: By what it knows who sends; nil for a new one.
    ///   - port: Where it takes Apple's notifications; 0 for any.
    public static func run<R: Sendable>(
        _ manners: Manners = Manners(), identity: Identity? = nil, port: Int = 0,
        _ body: @Sendable (PushSink) async throws -> R
    ) async throws -> R {
        let sink = PushSink(manners, try identity ?? Identity())
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMBytes(Array(sink.identity.certificate.certificate.utf8)).map
            {
                .certificate($0)
            },
            privateKey: .privateKey(
                try NIOSSLPrivateKey(bytes: Array(sink.identity.certificate.key.utf8), format: .pem)))
        configuration.applicationProtocols = ["h2"]
        if manners.wantsCertificates {
            configuration.certificateVerification = .noHostnameVerification
            configuration.trustRoots = .certificates(
                try NIOSSLCertificate.fromPEMBytes(Array(sink.identity.authority.pem.utf8)))
        }
        let tls = try NIOSSLContext(configuration: configuration)
        for (context, port) in [(tls, port), (nil, 0)] {
            let channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let pipeline = channel.pipeline.syncOperations
                        if let context { try pipeline.addHandler(NIOSSLServerHandler(context: context)) }
                        var connection = NIOHTTP2Handler.ConnectionConfiguration()
                        connection.initialSettings = [
                            HTTP2Setting(parameter: .maxConcurrentStreams, value: manners.streams)
                        ]
                        // As services do, it lets pass what is still on its way on streams that it has refused.
                        connection.maximumRecentlyResetStreams = 1000
                        try pipeline.addHandler(
                            NIOHTTP2Handler(mode: .server, connectionConfiguration: connection))
                        try pipeline.addHandler(PushSinkHandler(sink, manners))
                    }
                }
                .bind(host: "localhost", port: port).get()
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
    public struct Answer: Sendable {
        public var status = 200
        public var headers: [(String, String)] = []
        public var body = ""

        /// All is well.
        public init(status: Int = 200, headers: [(String, String)] = [], body: String = "") {
            self.status = status
            self.headers = headers
            self.body = body
        }
    }

    /// Notes a notification, and says what is answered.
    func take(_ headers: HPACKHeaders, _ bytes: [UInt8]) -> Reply {
        let path = headers.first(name: ":path") ?? ""
        let body = (try? JSONValue(parsing: bytes)) ?? .null
        let isApple = path.hasPrefix("/3/device/")
        let token = isApple ? String(path.dropFirst(10)) : body["message"]?["token"]?.stringValue ?? ""
        let authorization = headers.first(name: "authorization") ?? ""
        guard isApple ? isSigned(authorization) : isAccess(authorization) else {
            return isApple
                ? .answer(Answer(status: 403, body: #"{"reason":"InvalidProviderToken"}"#))
                : .answer(Answer(status: 401, body: #"{"error":{"status":"UNAUTHENTICATED"}}"#))
        }
        var fields: [String: String] = [:]
        for (name, value, _) in headers { fields[name] = value }
        let tries = state.withLock { state in
            state.authorizations.insert(authorization)
            state.notifications.append(Notification(path: path, token: token, headers: fields, body: body, at: .now))
            state.tries[token, default: 0] += 1
            return state.tries[token] ?? 0
        }
        if let script = manners.scripts.first(where: { token.hasPrefix($0.key) })?.value, !script.isEmpty {
            return script[min(tries, script.count) - 1]
        }
        return .answer(isApple ? Self.apple(token, tries) : Self.google(token))
    }

    private func isAccess(_ authorization: String) -> Bool {
        authorization.hasPrefix("Bearer ") && manners.accessTokens.contains(String(authorization.dropFirst(7)))
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
}
