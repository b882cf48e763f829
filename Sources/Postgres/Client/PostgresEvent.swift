/// What a listening connection tells.
public enum PostgresEvent: Sendable {
    /// The connection stands and listens, for the first time or again, or more was announced than its listener took: what
    /// was announced in between is lost, so that caches must be dropped.
    case connected
    /// A notification came.
    case notification(channel: String, payload: String)
    /// The connection broke; it is being made anew.
    case disconnected
}
