/// Which requests the I/O thread wakes up for.
///
/// A request that nothing can be done about before an answer comes may lie until then: the answer wakes the thread, and it
/// finds all that came meanwhile. To wake a thread costs both sides more than to hand in a request.
struct Attention {
    /// Whether requests that only read can be sent.
    var reads = true
    /// Whether those that read one row can.
    var readsOfRows = true
    /// With how many more requests that change one row each these can be sent; `Int.max` when not before an answer comes.
    var changes = 1

    /// Whether to wake up, now that a command was handed in.
    mutating func isDrawn(by command: Mailbox.Command) -> Bool {
        guard case .submit(let request) = command else { return true }
        if request.isReadOnly { return request.effort == .row ? readsOfRows : reads }
        guard request.row != nil else { return true }
        changes -= 1
        return changes <= 0
    }
}
