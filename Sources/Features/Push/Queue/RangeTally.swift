import JSON
import ParseStorage
import Synchronization

/// What is known so far of the devices of a range, and what of it has yet to be settled.
final class RangeTally: Sendable {
    private struct State {
        var progress = PushProgress()
        /// Compared by bytes, as the database does.
        var left: Set<Name>
        var isChanged = false
    }

    private let state: Mutex<State>
    private let cleansTokens: Bool
    private let isTrial: Bool

    /// - Parameter isTrial: Whether nothing is sent: what would have been is counted apart.
    init(_ devices: [PushRange.Device], cleansTokens: Bool, isTrial: Bool = false) {
        state = Mutex(State(left: Set(devices.map { Name($0.objectId) })))
        self.cleansTokens = cleansTokens
        self.isTrial = isTrial
        if isTrial { state.withLock { $0.progress.report = PushReport() } }
    }

    /// How many devices are not settled.
    var left: Int { state.withLock { $0.left.count } }

    /// Notes what a device would get in a trial run.
    func render(_ device: PushDevice, by entry: String, locale: String?, bytes: Int) {
        state.withLock { state in
            state.progress.report?.add("locales", locale ?? "default")
            state.progress.report?.add("entries", entry)
            if let badge = device.badge { state.progress.report?.add("badges", JSONValue.number(badge).text) }
            state.progress.report?.noteSize(bytes)
        }
    }

    /// Notes what became of a device; only the first word about it counts.
    ///
    /// - Parameters:
    ///   - isDead: Whether its token is to be removed.
    ///   - entry: What sent to it; nil where nothing could.
    func note(_ device: PushDevice, _ outcome: PushOutcome, isDead: Bool, by entry: String? = nil) {
        state.withLock { state in
            guard state.left.remove(Name(device.objectId)) != nil else { return }
            state.isChanged = true
            if isTrial {
                state.progress.report?.add("deviceTypes", device.type)
                if let reason = outcome.reason { state.progress.report?.add("problems", reason) }
                return
            }
            let type = state.progress.kind(of: device.type)
            guard let reason = outcome.reason else {
                state.progress.sent[type, default: 0] += 1
                return
            }
            state.progress.failed[type, default: 0] += 1
            state.progress.failures.append((device.objectId, type.text, reason))
            if isDead, cleansTokens {
                var since: Int64?
                if case .dead(_, let time) = outcome { since = time }
                state.progress.deadTokens.append((device.objectId, device.token, reason, since))
            }
            switch outcome {
            case .unusable, .refused:
                let message = entry.map { "\($0): \(reason)" } ?? reason
                state.progress.error = ["code": 115, "message": .string(message)]
            default: break
            }
        }
    }

    /// Takes what has yet to be settled; nil when nothing is new and the range is not done.
    ///
    /// - Parameter isEnd: Whether nothing more comes.
    func take(isEnd: Bool) -> PushProgress? {
        state.withLock { state in
            guard state.isChanged || isEnd else { return nil }
            var progress = state.progress
            progress.left = state.left.isEmpty ? nil : state.left.map(\.text)
            // What is done is settled once, at its end.
            if !isEnd, state.left.isEmpty { return nil }
            state.progress = PushProgress()
            if isTrial { state.progress.report = PushReport() }
            state.isChanged = false
            return progress
        }
    }

    /// Puts back what could not be settled.
    func restore(_ progress: PushProgress) {
        state.withLock { state in
            state.isChanged = true
            state.progress.sent.merge(progress.sent, uniquingKeysWith: +)
            state.progress.failed.merge(progress.failed, uniquingKeysWith: +)
            state.progress.failures += progress.failures
            state.progress.deadTokens += progress.deadTokens
            if let report = progress.report { state.progress.report?.add(report) }
            if state.progress.error == nil { state.progress.error = progress.error }
        }
    }
}
