import JSON
import ParseStorage
import Synchronization

/// What is known so far of the devices of a range, and what of it has yet to be settled.
final class RangeTally: Sendable {
    private struct State {
        var progress = PushProgress()
        var left: [String: Int]
        var isChanged = false
    }

    private let state: Mutex<State>
    private let cleansTokens: Bool

    init(_ devices: [PushRange.Device], cleansTokens: Bool) {
        var left: [String: Int] = [:]
        for (index, device) in devices.enumerated() { left[device.objectId] = index }
        state = Mutex(State(left: left))
        self.cleansTokens = cleansTokens
    }

    /// Notes what became of a device; only the first word about it counts.
    ///
    /// - Parameter isDead: Whether its token is to be removed.
    func note(_ device: PushDevice, _ outcome: PushOutcome, isDead: Bool) {
        state.withLock { state in
            guard state.left.removeValue(forKey: device.objectId) != nil else { return }
            state.isChanged = true
            let type = Name(device.type)
            guard let reason = outcome.reason else {
                state.progress.sent[type, default: 0] += 1
                return
            }
            state.progress.failed[type, default: 0] += 1
            state.progress.failures.append((device.objectId, device.type, reason))
            if isDead, cleansTokens {
                var since: Int64?
                if case .dead(_, let time) = outcome { since = time }
                state.progress.deadTokens.append((device.objectId, device.token, reason, since))
            }
            switch outcome {
            case .unusable, .refused: state.progress.error = ["code": 115, "message": .string(reason)]
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
            progress.left = state.left.isEmpty ? nil : Array(state.left.keys)
            // What is done is settled once, at its end.
            if !isEnd, state.left.isEmpty { return nil }
            state.progress = PushProgress()
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
            if state.progress.error == nil { state.progress.error = progress.error }
        }
    }
}
