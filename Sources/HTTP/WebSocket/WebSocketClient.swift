import Synchronization
import Tasks

/// What is known of the other end of a WebSocket connection.
final class WebSocketClient: Sendable {
    /// The network of the client.
    let sender: Sender
    private let known: Atomic<Bool>
    private let heard = Atomic(true)

    init(sender: Sender, isKnown: Bool) {
        self.sender = sender
        known = Atomic(isKnown)
    }

    /// Whether the client has said who it is, where clients do.
    var isKnown: Bool { known.load(ordering: .relaxed) }

    func becomeKnown() { known.store(true, ordering: .relaxed) }

    /// Records that something came.
    func hear() { heard.store(true, ordering: .relaxed) }

    /// Whether something came since this was asked last.
    func wasHeard() -> Bool { heard.exchange(false, ordering: .relaxed) }
}
