import JSON
import Outgoing
import ServerConfiguration

/// Sends through Expo's service, which forwards notifications to Apple and Google.
final class ExpoSender: PushSender {
    let name = "Expo"
    let acceptsBatches = true
    private let settings: ExpoPush
    private let caller: HTTPCaller

    /// The maximum number of messages per request.
    static let atOnce = 100

    init(_ settings: ExpoPush, caller: HTTPCaller) {
        self.settings = settings
        self.caller = caller
    }

    func size(of message: PushMessage) -> Int? { message.data.map { JSONValue.object($0).serialized().count } }

    func check() async -> [(step: String, problem: String?)] {
        let step = "\(settings.endpoint) responds"
        do {
            _ = try await caller.send(HTTPCall("GET", settings.endpoint), timeLimit: .seconds(10), maxBytes: 1 << 20)
            return [(step, nil)]
        } catch {
            return [(step, (error as? HTTPCallFailure)?.description ?? "\(error)")]
        }
    }

    func send(_ message: PushMessage, to devices: [PushDevice], report: (PushOutcomes) async -> Void) async {
        guard let data = message.data else {
            return await report(devices.indices.map { ($0, .failed("MissingPayload")) })
        }
        // Expo rejects a whole request because of one token, for example of another project. The request is halved
        // until that token is found, unless nothing is accepted at all.
        var open = stride(from: 0, to: devices.count, by: Self.atOnce).reversed().map {
            $0..<min($0 + Self.atOnce, devices.count)
        }
        var (refusals, isTaken) = (0, false)
        while let indices = open.popLast() {
            let messages = indices.map { index in
                var body: JSONObject = ["to": .string(devices[index].token)]
                body["body"] = data["body"] ?? data["alert"]
                for (key, value) in data where key != "to" { body[key] = value }
                return JSONValue.object(body)
            }
            let (outcomes, refusal) = await send(messages, indices)
            guard let refusal else {
                isTaken = true
                await report(outcomes)
                continue
            }
            if !isTaken, refusals >= PushVerdicts.maxRefusals {
                await report(indices.map { ($0, .refused(refusal)) })
            } else if indices.count > 1 {
                let middle = indices.lowerBound + indices.count / 2
                open += [middle..<indices.upperBound, indices.lowerBound..<middle]
            } else {
                refusals += 1
                await report([(indices.lowerBound, .failed(refusal))])
            }
        }
    }

    /// Sends one request.
    ///
    /// - Returns: The outcomes, or the reason why the whole request was rejected.
    private func send(_ messages: [JSONValue], _ indices: Range<Int>) async
        -> (outcomes: PushOutcomes, refusal: String?)
    {
        var headers = [("Content-Type", "application/json"), ("Accept", "application/json")]
        if let token = settings.accessToken { headers.append(("Authorization", "Bearer \(token)")) }
        func all(_ outcome: PushOutcome) -> (PushOutcomes, String?) { (indices.map { ($0, outcome) }, nil) }
        guard !Task.isCancelled else { return all(.unreached("the server is stopping")) }
        do {
            let reply = try await caller.send(
                HTTPCall(
                    "POST", "\(settings.endpoint)/--/api/v2/push/send", headers: headers,
                    body: JSONValue.array(messages).serialized()), timeLimit: .seconds(30))
            let reason = "status \(reply.status)"
            switch reply.status {
            case 200...299: break
            case 429, 500...:
                return all(.busy(reason, after: reply.header("Retry-After").flatMap { Double($0) }))
            case 401, 403: return all(.unusable(reason))
            default: return ([], reason)
            }
            let tickets = reply.json?["data"]?.arrayValue ?? []
            let outcomes = indices.enumerated().map { place, index in
                (index, place < tickets.count ? Self.outcome(tickets[place]) : .unclear("no ticket"))
            }
            return (outcomes, nil)
        } catch let failure as HTTPCallFailure {
            return all(
                failure.kind == .unreachable ? .unreached(failure.description) : .unclear(failure.description))
        } catch {
            return all(.unclear("the server is stopping"))
        }
    }

    private static func outcome(_ ticket: JSONValue) -> PushOutcome {
        if ticket["status"]?.stringValue == "ok" { return .sent }
        let reason = String((ticket["details"]?["error"]?.stringValue ?? "error").prefix(60))
        switch reason {
        case "DeviceNotRegistered": return .dead(reason, since: nil)
        case "MessageRateExceeded": return .busy(reason, after: nil)
        case "MessageTooBig": return .refused(reason)
        // InvalidCredentials and MismatchSenderId concern the token's own project, which a client chooses.
        default: return .failed(reason)
        }
    }
}
