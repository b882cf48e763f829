import JSON
import ParseStorage
import Synchronization

/// The outcomes of a range's devices that aren't settled in the database yet.
final class RangeTally: Sendable {
    private struct State {
        var progress = PushProgress()
        /// The ids of the devices without an outcome, compared by bytes as in the database.
        var left: Set<Name>
        var isChanged = false
    }

    private let state: Mutex<State>
    private let cleansTokens: Bool
    private let isTrial: Bool

    /// - Parameter isTrial: Whether this is a dry run, which has a separate report.
    init(_ devices: [PushRange.Device], cleansTokens: Bool, isTrial: Bool = false) {
        state = Mutex(State(left: Set(devices.map { Name($0.objectId) })))
        self.cleansTokens = cleansTokens
        self.isTrial = isTrial
        if isTrial { state.withLock { $0.progress.report = PushReport() } }
    }

    var left: Int { state.withLock { $0.left.count } }

    /// Records what a device would get in a dry run.
    func render(_ device: PushDevice, by entry: String, locale: String?, bytes: Int) {
        state.withLock { state in
            state.progress.report?.add("locales", locale ?? "default")
            state.progress.report?.add("entries", entry)
            if let badge = device.badge { state.progress.report?.add("badges", JSONValue.number(badge).text) }
            state.progress.report?.recordSize(bytes)
        }
    }

    /// Records the outcome of a device. Only its first outcome counts.
    ///
    /// - Parameters:
    ///   - isDead: Whether the device's token should be removed.
    ///   - entry: The name of the sender for the push's error, or nil to leave it out.
    func record(_ device: PushDevice, _ outcome: PushOutcome, isDead: Bool, by entry: String? = nil) {
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

    /// Returns the progress that is not settled yet, or nil if nothing changed or the range is complete. If `isEnd` is
    /// true, always returns the progress.
    ///
    /// - Parameter isEnd: Whether this is the last progress of the range.
    func consumeProgress(isEnd: Bool) -> PushProgress? {
        state.withLock { state in
            guard state.isChanged || isEnd else { return nil }
            var progress = state.progress
            progress.left = state.left.isEmpty ? nil : state.left.map(\.text)
            // A completed range is settled once, at its end.
            if !isEnd, state.left.isEmpty { return nil }
            state.progress = PushProgress()
            if isTrial { state.progress.report = PushReport() }
            state.isChanged = false
            return progress
        }
    }

    /// Adds back progress that could not be settled.
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
