/// Tracks the time that senders have used of a shared resource, so that the sender with the least goes next.
///
/// A new or returning sender starts at the level of the last admitted one, so no sender can save up time. Evicts the
/// senders recorded longest ago if there are too many.
package struct SpentTime {
    private var bySender = BoundedTable<Sender, Duration>(capacity: 4096)
    private var minTime = Duration.zero

    package init() {}

    package subscript(sender: Sender) -> Duration { max(bySender.peek(sender) ?? .zero, minTime) }

    package mutating func add(_ time: Duration, to sender: Sender) { bySender.set(self[sender] + time, for: sender) }

    /// Records the admission of the sender that had used the least time.
    package mutating func admit(_ sender: Sender) { minTime = self[sender] }
}
