import JSON
import Logging
import ParseModel
import ParseStorage

/// Sends to the devices of one range, a batch of a push's devices, until each has an outcome. Groups devices that get
/// the same content.
struct RangeSender {
    let services: PushServices
    let guardian: TokenGuard
    let verdicts: PushVerdicts
    /// Whether to skip the retry if a notification may already have been sent, so that no device gets it twice.
    let isAtMostOnce: Bool
    let logger: Logger

    private static let longest = Duration.seconds(600)

    private struct Variant: Hashable {
        var locale: String?
        var badge: Double?
    }

    private struct Part: Sendable {
        var message: PushMessage
        var locale: String?
        var end: ContinuousClock.Instant
        /// Whether the push expires at `end`.
        var expires: Bool
        /// The number of devices tried first to find out whether the service rejects the message.
        var firstTried: Int
    }

    /// Sends to all devices of a range.
    ///
    /// - Parameter reportWaiting: Called when all remaining devices start or stop waiting for a later attempt.
    func send(
        _ range: PushRange, _ tally: RangeTally, reportWaiting: @escaping @Sendable (_ isWaiting: Bool) -> Void
    ) async {
        let content = PushContent(body: range.body, expiry: range.expiry)
        let texts = content.data.map(LocalizedTexts.init)
        var variants: [Variant: [PushAttempt]] = [:]
        for row in range.devices {
            let device = PushDevice(
                objectId: row.objectId, token: row.token, type: row.type, app: row.app, locale: row.locale,
                badge: content.badge.map { $0.displayed(over: row.badge, isChanged: !content.isTrial) })
            let entries = services.candidates(Name(range.route), app: row.app)
            if entries.isEmpty {
                let reason = range.route.isEmpty ? "UnsupportedDevice" : "No Provider found"
                tally.record(device, .failed(reason), isDead: false)
                continue
            }
            let variant = Variant(locale: texts?.locale(for: row.locale), badge: device.badge)
            variants[variant, default: []].append(PushAttempt(device: device, entries: entries))
        }
        let counts = Dictionary(grouping: variants.keys, by: \.locale).mapValues(\.count)
        let timeToExpiry = content.expiry.map { Duration.milliseconds($0 - ParseDate.now.milliseconds) }
        let expires = timeToExpiry.map { $0 < Self.longest } ?? false
        let end = ContinuousClock.now + min(timeToExpiry ?? Self.longest, Self.longest)
        let activity = RangeActivity(parts: variants.count, left: { tally.left }, report: reportWaiting)
        await withDiscardingTaskGroup { group in
            for (variant, attempts) in variants {
                var data = texts?.data(for: variant.locale)
                if let badge = variant.badge { data?["badge"] = .number(badge) }
                // Unchanged if the range is sent again, so that devices recognize a repeated delivery.
                let id = "\(range.pushId)\(range.offset.isEmpty ? "" : "_\(range.offset)")"
                let message = PushMessage(content: content, data: data, id: id, time: ParseDate.now.iso)
                let part = Part(
                    message: message, locale: variant.locale, end: end, expires: expires,
                    firstTried: max(PushVerdicts.maxRefusals / (counts[variant.locale] ?? 1), 1))
                let pushId = range.pushId
                group.addTask {
                    let rest = content.isTrial ? render(message, attempts, variant.locale, tally) : attempts
                    await send(part, pushId, rest, tally, activity)
                    activity.pause()
                }
            }
        }
        activity.end()
    }

    /// Records what devices would get in a dry run. Returns those without a problem whose service also checks dry runs.
    private func render(_ message: PushMessage, _ attempts: [PushAttempt], _ locale: String?, _ tally: RangeTally)
        -> [PushAttempt]
    {
        let sizes = Dictionary(grouping: attempts, by: { ObjectIdentifier($0.entry as AnyObject) }).mapValues {
            $0[0].entry.size(of: message)
        }
        return attempts.filter { attempt in
            let entry = attempt.entry
            let size = sizes[ObjectIdentifier(entry as AnyObject)] ?? nil
            var problem: String?
            if size == nil { problem = "MissingPayload" }
            if let size, size > entry.maxBytes(of: message) { problem = "PayloadTooLarge" }
            if !entry.accepts(attempt.device.token) { problem = "BadDeviceToken" }
            tally.render(attempt.device, by: entry.name, locale: locale, bytes: size ?? 0)
            guard problem == nil, entry.asksInTrials else {
                tally.record(attempt.device, problem.map { .failed($0) } ?? .sent, isDead: false)
                return false
            }
            return true
        }
    }

    private func send(
        _ part: Part, _ pushId: String, _ attempts: [PushAttempt], _ tally: RangeTally, _ activity: RangeActivity
    ) async {
        var open = attempts
        while !open.isEmpty, !Task.isCancelled {
            let now = ContinuousClock.now
            guard now < part.end else {
                // Not all services support an expiry.
                for attempt in open {
                    let last = part.expires ? nil : attempt.last
                    tally.record(attempt.device, last ?? .failed(PushMessage.overdue), isDead: false)
                }
                return
            }
            let due = open.filter { $0.due <= now }
            guard !due.isEmpty else {
                activity.pause()
                if let next = open.map(\.due).min() { try? await Task.sleep(until: next) }
                activity.resume()
                continue
            }
            open.removeAll { $0.due <= now }
            var suspects: [PushAttempt] = []
            for (_, group) in Dictionary(grouping: due, by: { ObjectIdentifier($0.entry as AnyObject) }) {
                let key = PushVerdicts.Part(pushId: pushId, locale: part.locale, entry: group[0].entry.name)
                for next in await send(part, key, group, tally) {
                    if next.isExhausted { suspects.append(next) } else { open.append(next) }
                }
            }
            judge(suspects, tally)
            // A retry after the deadline counts as failed now.
            open.removeAll { attempt in
                guard attempt.due > part.end, let last = attempt.last else { return false }
                tally.record(attempt.device, last, isDead: false)
                return true
            }
        }
    }

    /// Sends a part with one sender, first to a few devices if it isn't known whether the service accepts the part.
    /// Returns the devices to try again.
    private func send(_ part: Part, _ key: PushVerdicts.Part, _ group: [PushAttempt], _ tally: RangeTally) async
        -> [PushAttempt]
    {
        let entry = group[0].entry
        var again: [PushAttempt] = []
        var rest = group[...]
        while !rest.isEmpty, !Task.isCancelled {
            var count = rest.count
            switch verdicts.verdict(key) {
            case .stopped(let outcome):
                for attempt in rest { tally.record(attempt.device, outcome, isDead: false, by: entry.name) }
                return again
            case .unknown: count = min(count, entry.acceptsBatches ? ExpoSender.atOnce : part.firstTried)
            case .good: break
            }
            let devices = Array(rest.prefix(count))
            rest = rest.dropFirst(count)
            await entry.send(part.message, to: devices.map(\.device)) { outcomes in
                for (index, outcome) in outcomes {
                    if verdicts.record(key, outcome) {
                        logger.error(
                            "push credentials unusable, pausing this entry for a minute",
                            metadata: ["service": "\(entry.name)", "reason": "\(outcome.reason ?? "")"])
                    }
                    if let next = follow(devices[index], outcome, part, tally) { again.append(next) }
                }
            }
            verdicts.recordTried(key)
        }
        return again
    }

    /// Records a device's outcome, or returns the next attempt.
    private func follow(_ attempt: PushAttempt, _ outcome: PushOutcome, _ part: Part, _ tally: RangeTally)
        -> PushAttempt?
    {
        let entry = attempt.entry
        switch outcome {
        case .unknownToken:
            guardian.record(entry.name, isRefusal: true)
            return attempt.byNextEntry()
        case .otherApp:
            let next = attempt.byNextEntry()
            if !next.isExhausted { return next }
        case .busy(_, let after):
            if let next = attempt.later(outcome, maxTries: outcome.maxTries, after: after) { return next }
        case .unreached: return attempt.notReached(outcome, until: part.end)
        case .unclear:
            // A device that already has the notification would show it twice. So there is only one retry, unless
            // devices recognize or replace repeated notifications.
            let maxTries = part.message.collapseId == nil && entry.repeatsShow ? 2 : outcome.maxTries
            if !isAtMostOnce, let next = attempt.later(outcome, maxTries: maxTries, after: nil) { return next }
        case .sent: guardian.record(entry.name, isRefusal: false)
        case .dead, .failed, .refused, .unusable: break
        }
        var isDead = false
        if case .dead = outcome { isDead = true }
        tally.record(attempt.device, outcome, isDead: isDead, by: entry.name)
        return nil
    }

    /// Records tokens that every service rejected. They count as dead if the guard trusts all of these services.
    private func judge(_ suspects: [PushAttempt], _ tally: RangeTally) {
        for attempt in suspects {
            let wrong = attempt.entries.filter { !guardian.trusts($0.name) }
            tally.record(attempt.device, .unknownToken("BadDeviceToken"), isDead: wrong.isEmpty)
            for entry in wrong where guardian.warnsNow(entry.name) {
                logger.warning(
                    "push service rejected most tokens, check the entry's production flag",
                    metadata: ["service": "\(entry.name)"])
            }
        }
    }
}
