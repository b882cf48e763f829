import Tasks

/// Slots for concurrent downloads from a bucket. Each holds a connection to the store until its client has finished. A
/// sender can't take all of them.
package struct DownloadSlots: Sendable {
    package static let count = 1024

    private let gate = Gate(capacity: count, leavesRoom: true)

    package init() {}

    /// Acquires a slot until the returned value is released, or returns nil if no slot is free for the sender.
    package func acquire(of sender: Sender = .current) -> GatePlace? { GatePlace.acquire(in: gate, of: sender) }
}
