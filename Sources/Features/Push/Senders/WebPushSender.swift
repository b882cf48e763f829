import Crypto
import JSON
import Limits
import Outgoing
import Platform
import ServerConfiguration
import Synchronization

/// Sends web pushes to the browsers' push services. Each device token contains the address of its service.
final class WebPushSender: PushSender {
    let name = "web push"
    private let settings: WebPush
    private let caller: HTTPCaller
    private let key: P256.Signing.PrivateKey
    private let services = Mutex(BoundedTable<String, Service>(capacity: 1000))

    private struct Service {
        var pauses = ServicePauses()
        var pauseEnd = ContinuousClock.now
        /// The authorization header with the time to replace it, in seconds since 1970.
        var authorization: (text: String, until: Int)?
    }

    private struct Subscription {
        let endpoint: String
        let origin: String
        /// Whether the host is listed by its full name. A client may invent a host that only matches a wildcard, so the
        /// attempts to reach such a host are limited.
        let isNamed: Bool
        let encryption: WebPushEncryption
    }

    /// Push services of browsers. Tokens come from clients, so others are called only if `allowedHosts` lists them.
    private static let hosts = [
        "fcm.googleapis.com", "android.googleapis.com", "updates.push.services.mozilla.com", "web.push.apple.com",
        "*.push.apple.com", "*.notify.windows.com",
    ]
    private static let hostBytes = Set("abcdefghijklmnopqrstuvwxyz0123456789-.".utf8)
    /// The Base64URL characters. Services reject notifications whose topic contains others.
    private static let topicBytes = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    private static let maxBytes = 3993
    /// The lifetime of an authorization token, in seconds.
    private static let tokenTime = 12 * 3600
    /// The remaining lifetime at which an authorization token is replaced, in seconds.
    private static let tokenRest = 3600
    private static let atOnce = 16

    /// - Throws: `ConfigurationError` if the VAPID keys are invalid.
    init(_ settings: WebPush, caller: HTTPCaller) throws {
        self.settings = settings
        self.caller = caller
        guard let bytes = Base64URL.decode(settings.privateKey),
            let key = try? P256.Signing.PrivateKey(rawRepresentation: bytes),
            let publicKey = Base64URL.decode(settings.publicKey),
            publicKey == Array(key.publicKey.x963Representation)
        else {
            throw ConfigurationError(
                "option push.web: WEB Push Configuration is invalid: privateKey is invalid, or publicKey does not match it"
            )
        }
        self.key = key
    }

    func size(of message: PushMessage) -> Int? { message.data.map { JSONValue.object($0).serialized().count } }

    func maxBytes(of message: PushMessage) -> Int { Self.maxBytes }

    func accepts(_ token: String) -> Bool { subscription(token) != nil }

    func check() async -> [(step: String, problem: String?)] {
        do {
            _ = try authorization(for: "https://push.example", at: Int(Date.now.timeIntervalSince1970))
            return [("signing with the key; browsers choose their services themselves", nil)]
        } catch {
            return [("signing with the key", "\(error)")]
        }
    }

    private func authorization(for origin: String, at now: Int) throws -> String {
        let cached = services.withLock { $0.value(of: origin)?.authorization }
        if let cached, cached.until > now { return cached.text }
        let claims: JSONObject = [
            "aud": .string(origin), "exp": .number(Double(now + Self.tokenTime)), "sub": .string(settings.subject),
        ]
        let token = try JSONWebToken.signed(claims, by: key)
        let text = "vapid t=\(token), k=\(settings.publicKey)"
        change(origin) { $0.authorization = (text, now + Self.tokenTime - Self.tokenRest) }
        return text
    }

    private func change(_ origin: String, _ body: (inout Service) -> Void) {
        services.withLock { services in
            var service = services.value(of: origin) ?? Service()
            body(&service)
            services.set(service, for: origin)
        }
    }

    /// Returns the seconds for which a service is paused, or nil if it isn't.
    private func pause(of origin: String) -> Double? {
        let now = ContinuousClock.now
        var rest: Duration?
        change(origin) { service in
            guard service.pauses.isOn else { return }
            if service.pauseEnd > now { rest = service.pauseEnd - now } else { service.pauses.end() }
        }
        return rest.map { $0 / .seconds(1) }
    }

    private func record(_ origin: String, _ event: (inout ServicePauses) -> Int64?) {
        change(origin) { service in
            if let seconds = event(&service.pauses) { service.pauseEnd = .now + .seconds(seconds) }
        }
    }

    func send(_ message: PushMessage, to devices: [PushDevice], report: (PushOutcomes) async -> Void) async {
        guard let data = message.data else {
            return await report(devices.indices.map { ($0, .failed("MissingPayload")) })
        }
        let text = JSONValue.object(data).serialized()
        guard text.count <= Self.maxBytes else {
            return await report(devices.indices.map { ($0, .refused("PayloadTooLarge")) })
        }
        await withTaskGroup(of: (index: Int, outcome: PushOutcome).self) { group in
            var next = 0
            func add() {
                guard next < devices.count else { return }
                let index = next
                next += 1
                group.addTask { (index, await self.send(text, message, to: devices[index].token)) }
            }
            for _ in 0..<Self.atOnce { add() }
            while let result = await group.next() {
                await report([result])
                add()
            }
        }
    }

    private func subscription(_ token: String) -> Subscription? {
        guard let json = try? JSONValue(parsing: Array(token.utf8)), let endpoint = json["endpoint"]?.stringValue,
            let parts = URLComponents(string: endpoint), parts.scheme == "https", let host = parts.host?.lowercased(),
            parts.user == nil, parts.password == nil, isService(host, port: parts.port),
            let p256dh = json["keys"]?["p256dh"]?.stringValue, let auth = json["keys"]?["auth"]?.stringValue,
            let encryption = WebPushEncryption(p256dh: p256dh, auth: auth)
        else { return nil }
        let origin = "https://\(host)\(parts.port.map { ":\($0)" } ?? "")"
        let names = Self.hosts + settings.allowedHosts.map { $0.lowercased() }
        let isNamed = names.contains(host) || names.contains(String(origin.dropFirst(8)))
        return Subscription(endpoint: endpoint, origin: origin, isNamed: isNamed, encryption: encryption)
    }

    private func isService(_ host: String, port: Int?) -> Bool {
        // Resolvers stop at a NUL, which an endpoint may contain as %00.
        guard host.utf8.allSatisfy(Self.hostBytes.contains) else { return false }
        func fits(_ pattern: String, _ name: String) -> Bool {
            pattern.hasPrefix("*.") ? name.hasSuffix(pattern.dropFirst()) : name == pattern
        }
        let isKnown = (port ?? 443) == 443 && Self.hosts.contains { fits($0, host) }
        return isKnown
            || settings.allowedHosts.contains { pattern in
                fits(pattern.lowercased(), host) || port.map { fits(pattern.lowercased(), "\(host):\($0)") } == true
            }
    }

    private func send(_ text: [UInt8], _ message: PushMessage, to token: String) async -> PushOutcome {
        guard let subscription = subscription(token) else { return .failed("InvalidSubscription") }
        let origin = subscription.origin
        guard !Task.isCancelled else { return .unreached("the server is stopping") }
        if let rest = pause(of: origin) {
            let reason = "the service is paused after failures"
            return subscription.isNamed ? .unreached(reason) : .busy(reason, after: rest)
        }
        let call: HTTPCall
        do {
            call = try self.call(text, message, subscription)
        } catch {
            return .failed("the message can't be encrypted")
        }
        do {
            let reply = try await caller.send(call, timeLimit: .seconds(10))
            record(origin) { pauses in
                guard reply.status < 500 else { return pauses.recordFailure() }
                pauses.recordAnswer()
                return nil
            }
            return Self.outcome(reply)
        } catch let failure as HTTPCallFailure {
            guard failure.kind == .unreachable else {
                record(origin) { $0.recordFailure() }
                return .unclear(failure.description)
            }
            record(origin) { $0.recordUnreached() }
            return subscription.isNamed
                ? .unreached(failure.description) : .busy("the service can't be reached", after: nil)
        } catch {
            return .unclear("the server is stopping")
        }
    }

    private func call(_ text: [UInt8], _ message: PushMessage, _ subscription: Subscription) throws -> HTTPCall {
        let now = Int(Date.now.timeIntervalSince1970)
        var timeToLive = settings.timeToLive
        if let expiry = message.expiry { timeToLive = min(timeToLive, max(Int(expiry / 1000) - now, 0)) }
        var headers = [
            ("Authorization", try authorization(for: subscription.origin, at: now)),
            ("Content-Encoding", "aes128gcm"), ("Content-Type", "application/octet-stream"), ("TTL", "\(timeToLive)"),
        ]
        if let urgency = settings.urgency { headers.append(("Urgency", urgency)) }
        if let topic = message.collapseId, topic.utf8.count <= 32, topic.utf8.allSatisfy(Self.topicBytes.contains) {
            headers.append(("Topic", topic))
        }
        return HTTPCall(
            "POST", subscription.endpoint, headers: headers, body: try subscription.encryption.encrypt(text))
    }

    private static func outcome(_ reply: HTTPReply) -> PushOutcome {
        let reason = "status \(reply.status)"
        switch reply.status {
        case 200...299: return .sent
        case 404, 410: return .dead(reason, since: nil)
        case 413: return .refused(reason)
        case 429, 500...: return .busy(reason, after: reply.header("Retry-After").flatMap { Double($0) })
        // The client chooses the endpoint and its key, so a rejection says nothing about other devices.
        default: return .failed(reason)
        }
    }
}
