/// The time that senders took of something they share. The sender that took least comes next.
///
/// A new sender, or one that comes again after a while, begins at the level of the one admitted last: no sender saves time
/// up. The sender whose time was counted longest ago is forgotten first.
package struct SpentTime {
    private var bySender = BoundedTable<Sender, Duration>(capacity: 4096)
    private var least = Duration.zero

    package init() {}

    package subscript(sender: Sender) -> Duration { max(bySender.peek(sender) ?? .zero, least) }

    package mutating func add(_ time: Duration, to sender: Sender) { bySender.set(self[sender] + time, for: sender) }

    /// Records that a sender was admitted as the one that had taken least.
    package mutating func admit(_ sender: Sender) { least = self[sender] }
}
