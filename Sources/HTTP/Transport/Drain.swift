import Synchronization

/// The time between the signal to end and the end, in which a balancer notices that the server is about to leave.
///
/// Requests are answered as always meanwhile, on new connections too, but each answer ends its connection.
final class Drain: Sendable {
    /// How long it lasts; zero for none.
    let time: Duration
    private let begun = Atomic(false)

    init(time: Duration) { self.time = time }

    /// Whether the server is about to end.
    var hasBegun: Bool { begun.load(ordering: .relaxed) }

    /// Notes that the server is about to end.
    func begin() { begun.store(true, ordering: .relaxed) }
}
