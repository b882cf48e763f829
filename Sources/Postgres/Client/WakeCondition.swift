/// Which requests the I/O thread wakes up for.
///
/// A request that nothing can be done about before an answer comes may lie until then: the answer wakes the thread, and it
/// finds all that came meanwhile. To wake a thread costs both sides more than to hand in a request.
struct WakeCondition {
    /// Whether requests that only read can be sent.
    var reads = true
    /// Whether reads that may take long can be sent.
    var searches = true
    /// Whether requests that change one row each can be sent.
    var changes = true

    /// Whether to wake up, now that a command was handed in.
    func isMet(by command: CommandQueue.Command) -> Bool {
        guard case .submit(let request) = command else { return true }
        if request.isReadOnly { return request.isSearch ? searches : reads }
        return request.sharesTransaction ? changes : true
    }
}
