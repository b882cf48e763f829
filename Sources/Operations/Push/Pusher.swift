/// What sends notifications.
public protocol Pusher: Sendable {
    /// Says that a push was noted in the database, from where it is sent.
    func wake()

    /// Why what is to be sent cannot be sent to any device; nil when it can.
    func problem(with body: PushBody) -> String?
}
