import Limits
import Synchronization

package final class WebSocketClient: Sendable {
    let sender: Sender
    private let known: Atomic<Bool>
    private let heard = Atomic(true)

    package init(sender: Sender, isKnown: Bool) {
        self.sender = sender
        known = Atomic(isKnown)
    }

    /// Whether the client has authenticated or doesn't need to.
    var isKnown: Bool { known.load(ordering: .relaxed) }

    package func becomeKnown() { known.store(true, ordering: .relaxed) }

    /// Records a received frame.
    func hear() { heard.store(true, ordering: .relaxed) }

    /// Whether a frame was received since the last call. True for the first call.
    package func wasHeard() -> Bool { heard.exchange(false, ordering: .relaxed) }
}
