import Synchronization

/// What is known of parts of pushes and of entries, so that nothing is sent again and again that is refused.
///
/// A service that refuses what is sent, or who sends it, refuses it for each device: after a few equal answers the rest is not
/// sent at all.
final class PushVerdicts: Sendable {
    /// Devices that one entry sends the same text to.
    struct Part: Hashable {
        var pushId: String
        var locale: String?
        var entry: String
    }

    /// Whether a part is sent.
    enum Verdict {
        /// Nothing is known: a few devices are tried first.
        case unknown
        case good
        /// It is refused, and why.
        case stopped(PushOutcome)
    }

    private struct State {
        var good: Set<Part> = []
        var refusals: [Part: [String: Int]] = [:]
        var stopped: [Part: PushOutcome] = [:]
        var unusable: [String: (outcome: PushOutcome, until: ContinuousClock.Instant)] = [:]
    }

    private let state = Mutex(State())

    /// How many equal refusals stop a part, and so how many devices are tried first.
    static let mostRefusals = 10
    /// How long an entry rests after its service rejects it.
    private static let pause = Duration.seconds(60)
    private static let mostParts = 10_000

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

    /// Notes an answer; returns whether the entry has become unusable by it.
    func note(_ part: Part, _ outcome: PushOutcome) -> Bool {
        state.withLock { state in
            switch outcome {
            case .unusable:
                defer { state.unusable[part.entry] = (outcome, .now + Self.pause) }
                return state.unusable[part.entry] == nil
            case .refused(let reason):
                guard !state.good.contains(part) else { return false }
                if state.refusals.count >= Self.mostParts { state.refusals = [:] }
                state.refusals[part, default: [:]][reason, default: 0] += 1
                if state.refusals[part]?[reason] ?? 0 >= Self.mostRefusals {
                    if state.stopped.count >= Self.mostParts { state.stopped = [:] }
                    state.stopped[part] = outcome
                }
            case .sent, .dead, .unknownToken, .otherApp: Self.allow(part, &state)
            case .failed, .busy, .unreached, .unclear: break
            }
            return false
        }
    }

    /// Notes that the devices that were tried first gave no reason to stop.
    func noteTried(_ part: Part) {
        state.withLock { state in
            if state.refusals[part] == nil, state.stopped[part] == nil { Self.allow(part, &state) }
        }
    }

    private static func allow(_ part: Part, _ state: inout State) {
        if state.good.count >= mostParts { state.good = [] }
        state.good.insert(part)
        state.refusals[part] = nil
        // Those that were asked first were wrong about the others.
        state.stopped[part] = nil
    }
}
