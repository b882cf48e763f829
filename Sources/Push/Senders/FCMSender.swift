import Foundation
import JSON
import NIOCore
import NIOHPACK
import NIOSSL
import Outgoing
import ServerConfiguration

/// Firebase's service, for one project.
final class FCMSender: PushSender {
    let name: String
    private let settings: FirebasePush
    private let client: HTTP2Client
    private let token: AccessToken
    private let path: String

    /// Makes a sender; nothing is connected yet.
    ///
    /// - Throws: `ConfigurationError` for an account that cannot be used.
    init(
        _ settings: FirebasePush, _ option: String, in folder: String, caller: HTTPCaller,
        report: @escaping @Sendable (String) -> Void
    ) throws {
        self.settings = settings
        let account = try ServiceAccount(settings.account, "\(option).firebaseServiceAccount", in: folder)
        name = "FCM \(account.projectId)"
        path = "/v1/projects/\(account.projectId)/messages:send"
        token = AccessToken(account, caller: caller)
        guard let parts = URLComponents(string: settings.endpoint), let host = parts.host else {
            throw ConfigurationError("option \(option).endpoint is no address")
        }
        let isSecure = parts.scheme == "https"
        client = try HTTP2Client(
            HTTP2Origin(host: host, port: parts.port ?? (isSecure ? 443 : 80), isSecure: isSecure),
            tls: isSecure ? .makeClientConfiguration() : nil, connections: 10, timeLimit: .seconds(15),
            report: report)
    }

    /// Android's SDK knows a notification again by its id.
    var repeatsShow: Bool { settings.isForApple }

    func shutdown() async { client.shutdown() }

    func send(
        _ message: PushMessage, to devices: [PushDevice],
        report: ([(index: Int, outcome: PushOutcome)]) async -> Void
    ) async {
        let form =
            settings.isForApple
            ? FCMForm.apple(message)
            : FCMForm.android(
                message, now: Int64(Date.now.timeIntervalSince1970 * 1000),
                makesNotification: settings.makesNotifications)
        // Each device has its token between the same two texts.
        var start = Array("{\"message\":{".utf8)
        let members = JSONValue.object(form).serialized().dropFirst().dropLast()
        start += members
        start += Array((members.isEmpty ? "\"token\":" : ",\"token\":").utf8)
        await send(start, devices, Array(devices.indices), refused: nil, report)
    }

    private func send(
        _ start: [UInt8], _ devices: [PushDevice], _ indices: [Int], refused: String?,
        _ report: ([(index: Int, outcome: PushOutcome)]) async -> Void
    ) async {
        let bearer: String
        do {
            bearer = try await token.text(refused: refused)
        } catch {
            let failure = error as? AccessToken.Failure
            let reason = failure?.reason ?? "no access token"
            let outcome: PushOutcome = failure?.isFinal == true ? .unusable(reason) : .busy(reason, after: nil)
            return await report(indices.map { ($0, outcome) })
        }
        var headers = HPACKHeaders()
        headers.add(name: "authorization", value: "Bearer \(bearer)")
        headers.add(name: "content-type", value: "application/json")
        let calls = indices.map { index in
            var body = ByteBuffer()
            body.reserveCapacity(start.count + devices[index].token.utf8.count + 16)
            body.writeBytes(start)
            body.writeBytes(JSONValue.string(devices[index].token).serialized())
            body.writeStaticString("}}")
            return HTTP2Call(headers: headers, path: path, body: body)
        }
        var unauthenticated: [Int] = []
        for await results in client.send(calls) {
            var known: [(index: Int, outcome: PushOutcome)] = []
            for result in results {
                let index = indices[result.index]
                switch result.outcome {
                case .unknown(let reason): known.append((index, .unclear(reason)))
                case .answer(let status, let retryAfter, let body):
                    let answer = FCMAnswer(status: status, retryAfter: retryAfter, body: body)
                    if answer.isUnauthenticated, refused == nil {
                        unauthenticated.append(index)
                    } else {
                        known.append((index, answer.outcome))
                    }
                }
            }
            if !known.isEmpty { await report(known) }
        }
        if !unauthenticated.isEmpty { await send(start, devices, unauthenticated, refused: bearer, report) }
    }
}

/// An answer of Firebase's.
struct FCMAnswer {
    private let status: Int
    private let retryAfter: Double?
    private let code: String
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

    /// Whether the access token was not taken.
    var isUnauthenticated: Bool { status == 401 && code != "THIRD_PARTY_AUTH_ERROR" }

    /// What it means.
    var outcome: PushOutcome {
        switch (status, code) {
        case (200, _): .sent
        case (404, "UNREGISTERED"), (404, "NOT_FOUND"): .dead(code, since: nil)
        case (400, "INVALID_ARGUMENT") where blamesToken: .dead(code, since: nil)
        case (403, "SENDER_ID_MISMATCH"): .otherApp(code)
        case (401, _), (403, _): .unusable(code)
        case (429, _): .busy(code, after: retryAfter ?? 60)
        case (500..., _): .busy(code, after: retryAfter)
        default: .refused(code)
        }
    }
}
