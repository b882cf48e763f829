/// The time that senders took of something that they share, by which the next one is chosen: the one that took least.
///
/// Who comes anew, or again after a while, begins where the one stands that was let in last: no sender saves time up.
struct SpentTime {
    private var bySender: [Sender: Duration] = [:]
    private var least = Duration.zero

    /// How many senders are remembered before those are forgotten that took no more than any that comes.
    private static let mostRemembered = 1024

    subscript(sender: Sender) -> Duration { max(bySender[sender] ?? .zero, least) }

    /// Notes that a sender took time.
    mutating func add(_ time: Duration, to sender: Sender) {
        bySender[sender] = self[sender] + time
        guard bySender.count > Self.mostRemembered else { return }
        bySender = bySender.filter { [least] in $0.value > least }
    }

    /// Notes that a sender was let in, as the one that had taken least.
    mutating func admit(_ sender: Sender) { least = self[sender] }
}
