/// Whether notifications arrive on a listening connection: something is announced on a channel of its own, by the
/// connections that announce everything else.
///
/// Behind a pooler that lends sessions for single transactions, LISTEN succeeds and nothing ever arrives.
struct NotificationCheck {
    enum State {
        /// Nothing is asked.
        case idle
        /// Announced, and waited for.
        case asked(Request)
        /// The server has the announcement since then.
        case announced(MonotonicInstant)
        /// It did not come; asked again when it is due.
        case failed(due: MonotonicInstant)
    }

    private static let patience = Duration.seconds(1)
    /// Delay before the next check after a failed one.
    private static let pause = Duration.seconds(5)

    let channel = "roost.check." + String(UInt64.random(in: 0 ... .max), radix: 16)
    private(set) var state = State.idle

    /// When to look at the latest.
    var deadline: MonotonicInstant? {
        switch state {
        case .idle, .asked: nil
        case .announced(let instant): instant.after(Self.patience)
        case .failed(let due): due
        }
    }

    /// Announces something, by the connections that take writes.
    mutating func ask(_ context: LoopContext) {
        let statement = Statement("SELECT pg_notify($1, '')", [.text(channel)])
        guard let encoded = try? EncodedStatement(statement) else { return }
        let request = Request(.statements([encoded]))
        state = context.commandQueue.send(.submit(request)) ? .asked(request) : .idle
    }

    /// Forgets what is under way, when the connection breaks or the announcement came.
    mutating func end() { state = .idle }

    /// Does what is due; returns whether the announcement is known not to arrive.
    mutating func tick(_ context: LoopContext) -> Bool {
        switch state {
        case .idle: break
        case .asked(let request):
            guard request.promise.isFulfilled else { break }
            // What could not be announced says nothing about its arrival.
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
