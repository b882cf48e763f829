import HTTP
import Rules

/// Who sent a request, and how it came. The calls of a batch have one origin.
public final class RequestOrigin: Sendable {
    /// A short id under which the log speaks about the request.
    public let requestID: RequestID
    /// Who the caller says it is.
    public let credentials: Credentials
    /// What the caller's keys are worth.
    public let power: Caller.Power
    /// The client's IP address; the one that trusted proxies report, if there are such.
    public let address: String
    /// `scheme://host/mount`, for links to this server; `publicServerURL` if that is configured.
    public let mountURL: String

    /// Puts together what is known.
    public init(
        requestID: RequestID = RequestID(0), credentials: Credentials = Credentials(), power: Caller.Power = .client,
        address: String = "", mountURL: String = ""
    ) {
        self.requestID = requestID
        self.credentials = credentials
        self.power = power
        self.address = address
        self.mountURL = mountURL
    }
}
