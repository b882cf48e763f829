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

/// Stands in for the push services of Apple and Google: HTTP/2 over TLS with its own certificate. Device tokens select
/// the responses, and signatures are verified.
public final class PushSink: Sendable {
    public struct Notification: Sendable {
        public var path: String
        public var token: String
        public var headers: [String: String]
        public var body: JSONValue
        public var at: ContinuousClock.Instant
    }

    public struct Manners: Sendable {
        /// The maximum number of concurrent streams.
        public var streams = 100
        /// The number of requests after which a connection sends GOAWAY, or nil for never.
        public var requestsBeforeGoAway: Int?
        /// Whether a connection sends GOAWAY before it reads a request.
        public var leavesAtOnce = false
        /// Refuses every nth stream. Nil refuses none.
        public var refusesEvery: Int?
        /// The maximum number of streams from the first successful response on, or nil for no change.
        public var streamsAfterFirst: Int?
        /// Responses to successive attempts, by prefix of the device token. The empty prefix matches all tokens. The
        /// last response repeats.
        public var scripts: [String: [Reply]] = [:]
        /// Whether clients need a certificate signed by the sink's authority.
        public var wantsCertificates = false
        /// The accepted Google access tokens, in order of use.
        public var accessTokens: Set<String> = ["access-1"]

        public init() {}
    }

    public enum Reply: Sendable {
        case answer(Answer)
        case late(Duration, Answer)
        case held(Latch, Answer)
        /// The stream is reset after the request was accepted.
        case reset
        case close
        case silence

        public static let good = Reply.answer(Answer())

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
        var maxStreams = 0
    }

    /// The keys and certificates of a sink and its clients.
    public struct Identity: Sendable {
        /// The server's signing keys for Apple and for its service account.
        public let appleKey = P256.Signing.PrivateKey()
        public let accountKey: _RSA.Signing.PrivateKey
        let authority: TestAuthority
        let certificate: (certificate: String, key: String)

        public init() throws {
            accountKey = try _RSA.Signing.PrivateKey(keySize: .bits2048)
            authority = try TestAuthority()
            certificate = try authority.certificate(for: "localhost")
        }

        /// Returns the options of a push entry for Apple devices that leads to a sink, without credentials.
        public func place(_ topic: String, port: Int) -> JSONObject {
            [
                "topic": .string(topic), "address": "localhost", "port": .number(Double(port)),
                "ca": .string(authority.pem),
            ]
        }

        public func apple(_ topic: String, port: Int, _ changes: JSONObject? = nil) -> JSONValue {
            var entry = place(topic, port: port)
            entry["token"] = [
                "key": .string(appleKey.pemRepresentation), "keyId": "KEY1234567", "teamId": "TEAM123456",
            ]
            for (key, value) in changes ?? [:] { entry[key] = value }
            return .object(entry)
        }

        public func clientCertificate(end: Double = 86_400) throws -> (certificate: String, key: String) {
            try authority.certificate(for: "app.one", end: end)
        }
    }

    public let identity: Identity
    let manners: Manners
    private let state = Mutex(State())

    private init(_ manners: Manners, _ identity: Identity) {
        self.manners = manners
        self.identity = identity
    }

    public var notifications: [Notification] { state.withLock { $0.notifications } }

    public var tokens: [String] { notifications.map(\.token).sorted() }

    /// The distinct `authorization` headers of requests.
    public var authorizations: Set<String> { state.withLock { $0.authorizations } }

    public var connections: Int { state.withLock { $0.connections } }

    public var maxStreams: Int { state.withLock { $0.maxStreams } }

    func recordConnection() { state.withLock { $0.connections += 1 } }

    func recordStreams(_ count: Int) { state.withLock { $0.maxStreams = max($0.maxStreams, count) } }

    public func forget() { state.withLock { $0.notifications = [] } }

    private func port(_ index: Int) -> Int { state.withLock { $0.channels[index].localAddress?.port ?? 0 } }

    public var port: Int { port(0) }

    public func apple(_ topic: String, _ changes: JSONObject? = nil) -> JSONValue {
        identity.apple(topic, port: port, changes)
    }

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
    ///   - identity: The keys and certificates, or nil for new ones.
    ///   - port: The port for Apple notifications, or 0 for any free port.
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
                        // Like the real services, it tolerates frames in transit on streams that it has refused.
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

    public struct Answer: Sendable {
        public var status = 200
        public var headers: [(String, String)] = []
        public var body = ""

        public init(status: Int = 200, headers: [(String, String)] = [], body: String = "") {
            self.status = status
            self.headers = headers
            self.body = body
        }
    }

    func receive(_ headers: HPACKHeaders, _ bytes: [UInt8]) -> Reply {
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
