import JSON
import NIOCore
import NIOHPACK
import NIOSSL
import Outgoing
import ParseModel
import Platform
import ServerConfiguration

/// Sends through Firebase Cloud Messaging for one project.
final class FCMSender: PushSender {
    let name: String
    private let settings: FirebasePush
    private let client: HTTP2Client
    private let token: AccessToken
    private let path: String
    private let host: String
    private let report: @Sendable (String) -> Void

    private static let longestToken = 4096

    /// Creates a sender without connecting.
    ///
    /// - Throws: `ConfigurationError` if the service account can't be used or the endpoint isn't a URL.
    init(
        _ settings: FirebasePush, _ option: String, in folder: String, caller: HTTPCaller,
        report: @escaping @Sendable (String) -> Void
    ) throws {
        self.settings = settings
        self.report = report
        let account = try ServiceAccount(settings.account, "\(option).firebaseServiceAccount", in: folder)
        guard let project = account.projectId else {
            throw ConfigurationError(
                "option \(option): FCM Configuration is invalid: the service account has no project_id")
        }
        name = "FCM \(project)"
        path = "/v1/projects/\(project)/messages:send"
        token = AccessToken {
            let token = try await account.token(for: "firebase.messaging", by: caller)
            return (token.text, .now + .seconds(max(token.lifetime - 300, 30)))
        }
        guard let parts = URLComponents(string: settings.endpoint), let host = parts.host else {
            throw ConfigurationError("option \(option).endpoint must be a URL")
        }
        let isSecure = parts.scheme == "https"
        self.host = "\(host):\(parts.port ?? (isSecure ? 443 : 80))"
        client = try HTTP2Client(
            HTTP2Origin(host: host, port: parts.port ?? (isSecure ? 443 : 80), isSecure: isSecure),
            tls: isSecure ? .makeClientConfiguration() : nil, connections: 10, timeLimit: .seconds(15),
            report: report)
    }

    /// Whether devices show a repeated notification again. False for Android, where the SDK recognizes it by its id.
    var repeatsShow: Bool { settings.isForApple }

    func shutdown() async { await client.shutdown() }

    var asksInTrials: Bool { settings.asksInTrials }

    private func form(_ message: PushMessage) -> JSONObject {
        settings.isForApple
            ? FCMForm.apple(message)
            : FCMForm.android(
                message, now: ParseDate.now.milliseconds, makesNotification: settings.makesNotifications)
    }

    func size(of message: PushMessage) -> Int? { JSONValue.object(form(message)).serialized().count }

    func accepts(_ token: String) -> Bool {
        (1...Self.longestToken).contains(token.utf8.count) && token.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    func check() async -> [(step: String, problem: String?)] {
        do {
            _ = try await token.text()
        } catch {
            return [("Google issues an access token", (error as? ServiceAccount.Failure)?.reason ?? "\(error)")]
        }
        return [("Google issues an access token", nil), await client.check(host)]
    }

    func send(_ message: PushMessage, to devices: [PushDevice], report: (PushOutcomes) async -> Void) async {
        // The request is the same for every device except for the token.
        var start = Array("{\"message\":{".utf8)
        let members = JSONValue.object(form(message)).serialized().dropFirst().dropLast()
        start += members
        start += Array((members.isEmpty ? "\"token\":" : ",\"token\":").utf8)
        let end = Array((message.isTrial ? "},\"validate_only\":true}" : "}}").utf8)
        // Firebase must not get invalid tokens: its rejection would look as if the message were at fault.
        let bad = devices.indices.filter { !accepts(devices[$0].token) }
        if !bad.isEmpty { await report(bad.map { ($0, .failed("InvalidRegistration")) }) }
        let envelope = (start: start, end: end, expiry: message.expiry.map { Double($0) / 1000 })
        let good = devices.indices.filter { accepts(devices[$0].token) }
        await send(envelope, devices, good, refused: nil, report)
    }

    /// The request around a device's token. The expiry is in seconds since 1970.
    private typealias Envelope = (start: [UInt8], end: [UInt8], expiry: Double?)

    private func send(
        _ envelope: Envelope, _ devices: [PushDevice], _ indices: [Int], refused: String?,
        _ report: (PushOutcomes) async -> Void
    ) async {
        let bearer: String
        do {
            if let refused { await token.forget(refused) }
            bearer = try await token.text()
        } catch {
            let failure = error as? ServiceAccount.Failure
            if let failure, !failure.isFinal { self.report(failure.reason) }
            let reason = failure?.reason ?? "no access token"
            let outcome: PushOutcome = failure?.isFinal == true ? .unusable(reason) : .unreached(reason)
            return await report(indices.map { ($0, outcome) })
        }
        var headers = HPACKHeaders()
        headers.add(name: "authorization", value: "Bearer \(bearer)")
        headers.add(name: "content-type", value: "application/json")
        let calls = indices.map { index in
            var body = ByteBuffer()
            body.reserveCapacity(envelope.start.count + devices[index].token.utf8.count + 32)
            body.writeBytes(envelope.start)
            body.writeBytes(JSONValue.string(devices[index].token).serialized())
            body.writeBytes(envelope.end)
            return HTTP2Call(headers: headers, path: path, body: body)
        }
        var unauthenticated: [Int] = []
        for await results in client.send(calls, until: envelope.expiry) {
            var known: PushOutcomes = []
            for result in results {
                let index = indices[result.index]
                switch result.outcome {
                case .failure(let outcome): known.append((index, outcome))
                case .answer(let status, let retryAfter, let body):
                    let answer = FCMAnswer(status: status, retryAfter: retryAfter, body: body)
                    if answer.isUnauthenticated, refused == nil {
                        unauthenticated.append(index)
                    } else if answer.blamesOtherService, !settings.isForApple {
                        // A client registered the token of an Apple device or a browser as an Android token.
                        known.append((index, .failed(answer.code)))
                    } else {
                        known.append((index, answer.outcome))
                    }
                }
            }
            if !known.isEmpty { await report(known) }
        }
        if !unauthenticated.isEmpty { await send(envelope, devices, unauthenticated, refused: bearer, report) }
    }
}

struct FCMAnswer {
    private let status: Int
    private let retryAfter: Double?
    let code: String
    private let blamesToken: Bool

    init(status: Int, retryAfter: Double?, body: [UInt8]) {
        self.status = status
        self.retryAfter = retryAfter
        let error = status == 200 ? nil : (try? JSONValue(parsing: body))?["error"]
        let details = error?["details"]?.arrayValue ?? []
        let named = details.lazy.compactMap { $0["errorCode"]?.stringValue }.first
        code = String((named ?? error?["status"]?.stringValue ?? "status \(status)").prefix(60))
        let violations = details.flatMap { $0["fieldViolations"]?.arrayValue ?? [] }
        blamesToken =
            violations.contains { $0["field"]?.stringValue == "message.token" }
            || error?["message"]?.stringValue?.contains(
                "The registration token is not a valid FCM registration token") == true
    }

    /// Whether Firebase rejected the access token.
    var isUnauthenticated: Bool { status == 401 && !blamesOtherService }

    /// Whether the service behind Firebase (APNs or web push) rejected Firebase's credentials.
    var blamesOtherService: Bool { code == "THIRD_PARTY_AUTH_ERROR" }

    var outcome: PushOutcome {
        switch (status, code) {
        case (200, _): .sent
        // A 404 without UNREGISTERED means that the project doesn't exist, which says nothing about the token.
        case (404, "UNREGISTERED"): .dead(code, since: nil)
        case (400, "INVALID_ARGUMENT") where blamesToken: .dead(code, since: nil)
        case (403, "SENDER_ID_MISMATCH"): .otherApp(code)
        case (401, _), (403, _): .unusable(code)
        case (429, _): .busy(code, after: retryAfter ?? 60)
        case (500..., _): .busy(code, after: retryAfter)
        default: .refused(code)
        }
    }
}
