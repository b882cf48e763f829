import Tasks

/// Slots for files that are being read from a bucket. Each has a connection to the store for as long as its client takes;
/// one sender leaves some to the others.
package struct DownloadSlots: Sendable {
    package static let count = 1024

    private let gate = Gate(capacity: count, leavesRoom: true)

    package init() {}

    /// Takes a slot, which is free again when it is let go; nil where none is free for the sender.
    package func take(of sender: Sender = .current) -> GatePlace? { GatePlace.take(in: gate, of: sender) }
}
