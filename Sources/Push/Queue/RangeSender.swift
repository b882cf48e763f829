import Foundation
import JSON
import Logging
import ParseModel
import ParseStorage

/// Sends to the devices of one range: in parts that get the same, by the entries that may reach them, until each was sent to
/// or cannot be.
struct RangeSender {
    let services: PushServices
    let guardian: TokenGuard
    let logger: Logger

    /// How often a device is tried, and for how long at most.
    private static let mostTries = 3
    private static let longest = 600.0

    /// What makes devices get the same.
    private struct Variant: Hashable {
        var locale: String?
        var badge: Double?
    }

    /// A device, and how far it has come.
    private struct Attempt {
        var device: PushDevice
        var entries: [any PushSender]
        var entry = 0
        var tries = 0
    }

    /// Sends to all devices of a range.
    func send(_ range: PushRange, _ tally: RangeTally) async {
        let content = PushContent(body: range.body, expiry: range.expiry)
        let texts = content.data.map(LocalizedTexts.init)
        var parts: [Variant: [Attempt]] = [:]
        for row in range.devices {
            let device = PushDevice(
                objectId: row.objectId, token: row.token, type: row.type, app: row.app, locale: row.locale,
                badge: row.badge)
            let entries = services.candidates(Name(range.route), app: row.app)
            if entries.isEmpty {
                let reason = range.route.isEmpty ? "UnsupportedDevice" : "No Provider found"
                tally.note(device, .failed(reason), isDead: false)
                continue
            }
            let variant = Variant(
                locale: texts?.locale(for: row.locale), badge: content.badge == nil ? nil : row.badge ?? 0)
            parts[variant, default: []].append(Attempt(device: device, entries: entries))
        }
        await withDiscardingTaskGroup { group in
            for (variant, attempts) in parts {
                var data = texts?.data(for: variant.locale)
                if let badge = variant.badge { data?["badge"] = .number(badge) }
                // The same when the range is sent once more: devices know it again.
                let id = "\(range.pushId)\(range.offset.isEmpty ? "" : "_\(range.offset)")"
                let message = PushMessage(
                    content: content, data: data, id: id,
                    time: ParseDate(milliseconds: Int64(Date.now.timeIntervalSince1970 * 1000)).iso)
                group.addTask { await send(message, attempts, tally) }
            }
        }
    }

    private func send(_ message: PushMessage, _ attempts: [Attempt], _ tally: RangeTally) async {
        let begin = Date.now.timeIntervalSince1970
        let end = min(begin + Self.longest, message.expiry.map { Double($0) / 1000 } ?? .infinity)
        var open = attempts
        while !open.isEmpty, !Task.isCancelled {
            var again: [Attempt] = []
            var suspects: [Attempt] = []
            var pause: Double?
            for (_, group) in Dictionary(grouping: open, by: { ObjectIdentifier($0.entries[$0.entry] as AnyObject) }) {
                let entry = group[0].entries[group[0].entry]
                await entry.send(message, to: group.map(\.device)) { outcomes in
                    for (index, outcome) in outcomes {
                        guard let next = follow(group[index], outcome, message, entry, tally) else { continue }
                        switch outcome {
                        case .busy(_, let after):
                            pause = max(pause ?? 0, after ?? Self.pause(next.tries))
                            again.append(next)
                        case .unclear:
                            pause = max(pause ?? 0, Self.pause(next.tries))
                            again.append(next)
                        default:
                            // The next entry may know the token.
                            if next.entry < next.entries.count { again.append(next) } else { suspects.append(next) }
                        }
                    }
                }
            }
            judge(suspects, tally)
            open = again
            guard !open.isEmpty, let pause else { continue }
            let left = end - Date.now.timeIntervalSince1970
            if pause > left {
                for attempt in open { tally.note(attempt.device, .failed("the service stayed busy"), isDead: false) }
                return
            }
            try? await Task.sleep(for: .seconds(pause))
        }
    }

    /// How long until the next try, in seconds, after so many.
    private static func pause(_ tries: Int) -> Double {
        (tries <= 1 ? 1 : 4) * Double.random(in: 0.5...1.5)
    }

    /// Notes what became of a device, or gives what is tried next.
    private func follow(
        _ attempt: Attempt, _ outcome: PushOutcome, _ message: PushMessage, _ entry: any PushSender, _ tally: RangeTally
    ) -> Attempt? {
        var next = attempt
        next.tries += 1
        switch outcome {
        case .unknownToken:
            guardian.note(entry.name, isRefusal: true)
            next.entry += 1
            next.tries = 0
            return next
        case .otherApp:
            guard next.entry + 1 < next.entries.count else {
                tally.note(next.device, outcome, isDead: false)
                return nil
            }
            next.entry += 1
            next.tries = 0
            return next
        case .busy:
            guard next.tries >= Self.mostTries else { return next }
            tally.note(next.device, outcome, isDead: false)
        case .unclear:
            // A device that was reached already would show it twice, unless it knows it again.
            let most = message.collapseId == nil && entry.repeatsShow ? 2 : Self.mostTries
            guard next.tries >= most else { return next }
            tally.note(next.device, outcome, isDead: false)
        case .dead: tally.note(next.device, outcome, isDead: true)
        case .sent:
            guardian.note(entry.name, isRefusal: false)
            tally.note(next.device, outcome, isDead: false)
        case .failed, .refused, .unusable: tally.note(next.device, outcome, isDead: false)
        }
        return nil
    }

    /// Says of tokens that no entry knows whether they are dead, after all that is known of the entries.
    private func judge(_ suspects: [Attempt], _ tally: RangeTally) {
        for attempt in suspects {
            let wrong = attempt.entries.filter { !guardian.trusts($0.name) }
            tally.note(attempt.device, .unknownToken("BadDeviceToken"), isDead: wrong.isEmpty)
            for entry in wrong where guardian.warnsNow(entry.name) {
                logger.warning(
                    "a push service refuses most tokens: is the flag production of its entry right?",
                    metadata: ["service": "\(entry.name)"])
            }
        }
    }
}
