import Synchronization

/// Remembers which messages and senders are rejected by their services.
///
/// A rejected message is usually rejected for every device. After ten identical rejections and no success, the
/// remaining devices are skipped. A sender whose credentials are unusable pauses for a minute.
final class PushVerdicts: Sendable {
    /// The devices of a push that get the same text from the same sender.
    struct Part: Hashable {
        var pushId: String
        var locale: String?
        var entry: String
    }

    /// Whether to send to the remaining devices of a part.
    enum Verdict {
        /// Nothing is known yet, so only a few devices are tried.
        case unknown
        case good
        /// The service rejects the part, or the sender's credentials are unusable.
        case stopped(PushOutcome)
    }

    private struct State {
        var good: Set<Part> = []
        var refusals: [Part: [String: Int]] = [:]
        var stopped: [Part: PushOutcome] = [:]
        var unusable: [String: (outcome: PushOutcome, until: ContinuousClock.Instant)] = [:]
    }

    private let state = Mutex(State())

    /// The number of identical rejections that stop a part. About as many devices, or one Expo batch, are tried first.
    static let maxRefusals = 10
    private static let pause = Duration.seconds(60)
    private static let maxParts = 10_000

    func verdict(_ part: Part) -> Verdict {
        state.withLock { state in
            if let (outcome, until) = state.unusable[part.entry] {
                if ContinuousClock.now < until { return .stopped(outcome) }
                state.unusable[part.entry] = nil
                state.good = state.good.filter { $0.entry != part.entry }
            }
            if let outcome = state.stopped[part] { return .stopped(outcome) }
            return state.good.contains(part) ? .good : .unknown
        }
    }

    /// Records an outcome. Returns true if it made the sender unusable.
    func record(_ part: Part, _ outcome: PushOutcome) -> Bool {
        state.withLock { state in
            switch outcome {
            case .unusable:
                defer { state.unusable[part.entry] = (outcome, .now + Self.pause) }
                return state.unusable[part.entry] == nil
            case .refused(let reason):
                guard !state.good.contains(part) else { return false }
                if state.refusals.count >= Self.maxParts { state.refusals = [:] }
                state.refusals[part, default: [:]][reason, default: 0] += 1
                if state.refusals[part]?[reason] ?? 0 >= Self.maxRefusals {
                    if state.stopped.count >= Self.maxParts { state.stopped = [:] }
                    state.stopped[part] = outcome
                }
            case .sent, .dead, .unknownToken, .otherApp: Self.allow(part, &state)
            case .failed, .busy, .unreached, .unclear: break
            }
            return false
        }
    }

    /// Allows a part if none of the devices tried first was rejected.
    func recordTried(_ part: Part) {
        state.withLock { state in
            if state.refusals[part] == nil, state.stopped[part] == nil { Self.allow(part, &state) }
        }
    }

    private static func allow(_ part: Part, _ state: inout State) {
        if state.good.count >= maxParts { state.good = [] }
        state.good.insert(part)
        state.refusals[part] = nil
        // The devices tried first were exceptions.
        state.stopped[part] = nil
    }
}
