/// Checks whether notifications arrive on a listening connection, by sending one to a random channel through the shared
/// connections.
///
/// Behind a transaction pooler, LISTEN succeeds but no notification ever arrives.
struct NotificationCheck {
    enum State {
        case idle
        /// The test notification was submitted.
        case asked(Request)
        /// The server accepted the notification at this time.
        case announced(MonotonicInstant)
        /// The notification could not be sent or did not arrive. The next check is due at this time.
        case failed(due: MonotonicInstant)
    }

    private static let patience = Duration.seconds(1)
    private static let pause = Duration.seconds(5)

    let channel = "roost.check." + String(UInt64.random(in: 0 ... .max), radix: 16)
    private(set) var state = State.idle

    /// The time by which ``tick(_:)`` must be called, or nil if nothing is due.
    var deadline: MonotonicInstant? {
        switch state {
        case .idle, .asked: nil
        case .announced(let instant): instant.after(Self.patience)
        case .failed(let due): due
        }
    }

    /// Sends the test notification through a shared connection.
    mutating func ask(_ context: LoopContext) {
        let statement = Statement("SELECT pg_notify($1, '')", [.text(channel)])
        guard let encoded = try? EncodedStatement(statement) else { return }
        let request = Request(.statements([encoded]))
        state = context.commandQueue.send(.submit(request)) ? .asked(request) : .idle
    }

    /// Ends the check, because the notification arrived or the connection broke.
    mutating func end() { state = .idle }

    /// Performs due work. Returns true if the notification did not arrive in time.
    mutating func tick(_ context: LoopContext) -> Bool {
        switch state {
        case .idle: break
        case .asked(let request):
            guard request.promise.isFulfilled else { break }
            // A failure to send says nothing about delivery.
            state =
                request.results.isEmpty
                ? .failed(due: context.now.after(Self.patience)) : .announced(context.now)
        case .announced(let instant):
            guard instant.after(Self.patience) <= context.now else { break }
            state = .failed(due: context.now.after(Self.pause))
            return true
        case .failed(let due): if due <= context.now { ask(context) }
        }
        return false
    }
}
