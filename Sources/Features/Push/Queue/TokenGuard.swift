import Synchronization

/// Tracks how many tokens each configured push service rejects, to decide whether its rejections can be trusted. A
/// service that rejects most tokens is probably misconfigured: Apple's sandbox rejects production tokens, and vice
/// versa.
final class TokenGuard: Sendable {
    private struct Window {
        var answers: [Bool] = []
        var next = 0
        var refusals = 0
        var hasWarned = false
    }

    private let windows = Mutex<[String: Window]>([:])
    private static let size = 1000

    func record(_ entry: String, isRefusal: Bool) {
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

    /// Returns whether fewer than half of the sender's last 1,000 tokens were rejected. False without responses.
    func trusts(_ entry: String) -> Bool {
        windows.withLock { windows in
            guard let window = windows[entry] else { return false }
            return window.refusals * 2 < window.answers.count
        }
    }

    /// Returns true at the first call for a sender that has had responses, so that each sender is reported once.
    func warnsNow(_ entry: String) -> Bool {
        windows.withLock { windows in
            guard windows[entry]?.hasWarned == false else { return false }
            windows[entry]?.hasWarned = true
            return true
        }
    }
}
