import Tasks

/// Slots for files that are being read from a bucket. Each has a connection to the store for as long as its client takes;
/// one sender leaves some to the others.
final class DownloadPlaces: Sendable {
    /// One place, which is free again when it is let go.
    final class Place: Sendable {
        private let gate: Gate
        private let sender: Sender

        fileprivate init(_ gate: Gate, _ sender: Sender) {
            self.gate = gate
            self.sender = sender
        }

        deinit { gate.leave(of: sender) }
    }

    /// How many there are.
    static let count = 1024

    private let gate = Gate(capacity: count, leavesRoom: true)

    /// Takes a place; nil where none is free for the sender.
    func take(of sender: Sender = .current) -> Place? { gate.tryEnter(of: sender) ? Place(gate, sender) : nil }
}
