/// The server has more to do than it can: the client is to try again later. HTTP status 503 with `Retry-After`.
public struct ServiceUnavailable: Error, Sendable, Equatable {
    /// The exact text.
    public var message: String
    /// After how many seconds a further try makes sense.
    public var retryAfter: Int

    /// Makes an error with a text and the seconds to wait.
    public init(_ message: String, retryAfter: Int = 2) {
        self.message = message
        self.retryAfter = retryAfter
    }

    /// What SDKs read: too many requests at a time.
    public var code: Int { ParseError.requestLimitExceeded }
}
