import JSON
import NIOCore
import NIOHPACK
import NIOSSL
import Outgoing
import ParseModel
import ServerConfiguration

/// Sends through Apple's push service with one key or certificate.
package final class APNsSender: PushSender {
    package let topic: String?
    package let comesFirst: Bool
    package let name: String
    private let client: HTTP2Client
    private let token: ProviderToken?
    private let host: String
    private let now: @Sendable () -> Double
    /// The warning about a certificate that expires soon, or nil if there is no such certificate.
    let warning: String?

    /// Creates a sender without connecting.
    ///
    /// - Parameter now: Returns the time in seconds since 1970.
    /// - Throws: `ConfigurationError` or `NIOSSLError` for invalid keys or certificates.
    package init(
        _ settings: ApplePush, _ option: String, in folder: String,
        now: @escaping @Sendable () -> Double = { Double(ParseDate.now.milliseconds) / 1000 },
        report: @escaping @Sendable (String) -> Void
    ) throws {
        self.now = now
        topic = settings.topic
        host = "\(settings.host):\(settings.port)"
        comesFirst = settings.isProduction
        name = "APNs \(settings.topic ?? "") \(settings.isProduction ? "production" : "sandbox")"
        var tls = TLSConfiguration.makeClientConfiguration()
        if !settings.checksCertificate { tls.certificateVerification = .none }
        if let authority = settings.authority {
            tls.additionalTrustRoots = [
                .certificates(
                    try NIOSSLCertificate.fromPEMBytes(KeyFile(authority, "\(option).ca", in: folder).bytes))
            ]
        }
        if case .token(let key, let keyId, let teamId) = settings.identity {
            let text = try KeyFile(key, "\(option).token.key", in: folder).text
            do {
                token = try ProviderToken(key: text, keyId: keyId, teamId: teamId)
            } catch {
                throw ConfigurationError(
                    "option \(option).token.key is not an Apple key. Set it to the path or the "
                        + "contents of your file AuthKey_….p8")
            }
        } else {
            token = nil
        }
        let certificate = try KeyFile.client(settings.identity, option, in: folder)
        warning = certificate?.warning
        if let certificate {
            tls.certificateChain = certificate.chain
            tls.privateKey = certificate.key
        }
        client = try HTTP2Client(
            HTTP2Origin(host: settings.host, port: settings.port, isSecure: true), tls: tls, connections: 2,
            timeLimit: .milliseconds(settings.timeLimit), report: report)
    }

    package func shutdown() async { await client.shutdown() }

    package func size(of message: PushMessage) -> Int? {
        message.data.map { JSONValue.object(APNsForm.body($0)).serialized().count }
    }

    package func maxBytes(of message: PushMessage) -> Int {
        message.pushType == "voip" ? APNsForm.maxCallBytes : APNsForm.maxBytes
    }

    package func accepts(_ token: String) -> Bool { APNsForm.path(token) != nil }

    package func check() async -> [(step: String, problem: String?)] {
        var steps: [(step: String, problem: String?)] = []
        if let token {
            let isSigned = (try? token.text(at: now())) != nil
            steps.append(("signing with the key", isSigned ? nil : "the key can't be used for signing"))
        } else {
            steps.append(("the certificate and its key were read", nil))
        }
        return steps + [await client.check(host)]
    }

    package func send(_ message: PushMessage, to devices: [PushDevice], report: (PushOutcomes) async -> Void) async {
        guard let data = message.data else {
            return await report(devices.indices.map { ($0, .failed("MissingPayload")) })
        }
        let body = ByteBuffer(bytes: JSONValue.object(APNsForm.body(data)).serialized())
        // Grouped by app, because a sender without a topic may get devices of several apps.
        for (app, indices) in Dictionary(grouping: devices.indices, by: { topic ?? devices[$0].app ?? "" }) {
            guard topic != nil || APNsForm.isTopic(app) else {
                await report(indices.map { ($0, .failed("BadTopic")) })
                continue
            }
            await send(message, body, app.isEmpty ? nil : app, devices, indices, isRetry: false, report)
        }
    }

    private func send(
        _ message: PushMessage, _ body: ByteBuffer, _ app: String?, _ devices: [PushDevice], _ indices: [Int],
        isRetry: Bool, _ report: (PushOutcomes) async -> Void
    ) async {
        var headers = APNsForm.headers(message, topic: app)
        var authorization: String?
        if let token {
            do {
                let text = try token.text(at: now())
                authorization = text
                headers.add(name: "authorization", value: "bearer \(text)")
            } catch {
                return await report(indices.map { ($0, .unusable("the key can't be used for signing")) })
            }
        }
        var calls: [HTTP2Call] = []
        var positions: [Int] = []
        var bad: PushOutcomes = []
        for index in indices {
            if let path = APNsForm.path(devices[index].token) {
                calls.append(
                    HTTP2Call(
                        headers: headers, path: path, body: body,
                        ownField: ("apns-id", APNsForm.identifier(message, devices[index]))))
                positions.append(index)
            } else {
                bad.append((index, .failed("BadDeviceToken: it is not hexadecimal")))
            }
        }
        if !bad.isEmpty { await report(bad) }
        var expired: [Int] = []
        for await results in client.send(calls, until: message.expiry.map { Double($0) / 1000 }) {
            var known: PushOutcomes = []
            for result in results {
                let index = positions[result.index]
                switch result.outcome {
                case .failure(let outcome): known.append((index, outcome))
                case .answer(let status, let retryAfter, let body):
                    let answer = APNsAnswer(status: status, retryAfter: retryAfter, body: body)
                    if answer.reason == "ExpiredProviderToken", !isRetry {
                        expired.append(index)
                    } else if topic == nil, APNsAnswer.reasonsOfTopics.contains(answer.reason) {
                        // The app comes from the installation, so only this device is affected.
                        known.append((index, .failed(answer.reason)))
                    } else {
                        known.append((index, answer.outcome))
                    }
                }
            }
            if !known.isEmpty { await report(known) }
        }
        guard !expired.isEmpty, let token else { return }
        _ = try? token.text(at: now(), refused: authorization)
        await send(message, body, app, devices, expired, isRetry: true, report)
    }
}

package struct APNsAnswer {
    let status: Int
    let reason: String
    private let retryAfter: Double?
    private let since: Int64?

    /// Rejections that concern the app of a notification.
    static let reasonsOfTopics: Set = ["BadTopic", "MissingTopic", "TopicDisallowed"]
    /// The start of the year 9999, in milliseconds since 1970. Later times are ignored.
    private static let latest = 253_370_764_800_000.0

    package init(status: Int, retryAfter: Double?, body: [UInt8]) {
        self.status = status
        self.retryAfter = retryAfter
        let json = status == 200 ? nil : try? JSONValue(parsing: body)
        reason = json?["reason"]?.stringValue.map { String($0.prefix(60)) } ?? "status \(status)"
        since = json?["timestamp"]?.numberValue.flatMap {
            (0...Self.latest).contains($0) ? Int64($0.rounded()) : nil
        }
    }

    package var outcome: PushOutcome {
        switch (status, reason) {
        case (200, _): .sent
        case (410, _): .dead(reason, since: since)
        case (400, "BadDeviceToken"): .unknownToken(reason)
        case (400, "DeviceTokenNotForTopic"): .otherApp(reason)
        case (403, "BadEnvironmentKeyIdInToken"): .otherApp(reason)
        case (403, _): .unusable(reason)
        case (429, "TooManyRequests"): .busy(reason, after: max(retryAfter ?? 0, 1))
        case (429, _), (500..., _): .busy(reason, after: retryAfter)
        default: .refused(reason)
        }
    }
}
