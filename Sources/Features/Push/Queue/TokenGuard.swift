import Synchronization

/// Says whether a token that an entry does not know is dead. When the entry refuses most tokens, it is the entry that is wrong:
/// good tokens of Apple's test environment are refused by the other one, and the reverse.
final class TokenGuard: Sendable {
    private struct Window {
        var answers: [Bool] = []
        var next = 0
        var refusals = 0
        var hasWarned = false
    }

    private let windows = Mutex<[String: Window]>([:])
    private static let size = 1000

    func note(_ entry: String, isRefusal: Bool) {
        windows.withLock { windows in
            var window = windows.removeValue(forKey: entry) ?? Window()
            if window.answers.count < Self.size {
                window.answers.append(isRefusal)
            } else {
                if window.answers[window.next] { window.refusals -= 1 }
                window.answers[window.next] = isRefusal
                window.next = (window.next + 1) % Self.size
            }
            if isRefusal { window.refusals += 1 }
            windows[entry] = window
        }
    }

    /// Whether less than half of the last answers of an entry were refusals.
    func trusts(_ entry: String) -> Bool {
        windows.withLock { windows in
            guard let window = windows[entry] else { return false }
            return window.refusals * 2 < window.answers.count
        }
    }

    /// Whether the operator has yet to hear of an entry that refuses most tokens.
    func warnsNow(_ entry: String) -> Bool {
        windows.withLock { windows in
            guard windows[entry]?.hasWarned == false else { return false }
            windows[entry]?.hasWarned = true
            return true
        }
    }
}
