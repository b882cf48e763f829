/// The outcome of a notification for one device.
package enum PushOutcome: Sendable, Equatable {
    /// The service accepted the notification.
    case sent
    /// The token is no longer valid.
    ///
    /// - Parameter since: The time at which the token became invalid, in milliseconds since 1970, or nil if unknown.
    case dead(String, since: Int64?)
    /// The service doesn't know the token: it is dead, or belongs to the other environment.
    case unknownToken(String)
    /// The token belongs to another app or project.
    case otherApp(String)
    /// The notification can't be delivered to this device, and retrying won't help.
    case failed(String)
    /// The service rejects the message for every device.
    case refused(String)
    /// The service rejects the sender's credentials.
    case unusable(String)
    /// The service is temporarily unable to accept the notification.
    ///
    /// - Parameter after: The requested delay in seconds, or nil if the service doesn't say.
    case busy(String, after: Double?)
    /// The service couldn't be reached, so the notification was not sent.
    case unreached(String)
    /// The notification may or may not have been sent.
    case unclear(String)

    /// The maximum number of attempts per device if each has this outcome.
    var maxTries: Int {
        // APNs returns this for a single device that gets too many notifications.
        if case .busy("TooManyRequests", _) = self { return 2 }
        return 3
    }

    /// The reason why the notification was not sent, or nil if it was.
    var reason: String? {
        switch self {
        case .sent: nil
        case .dead(let reason, _), .unknownToken(let reason), .otherApp(let reason), .failed(let reason),
            .refused(let reason), .unusable(let reason), .busy(let reason, _), .unreached(let reason),
            .unclear(let reason):
            reason
        }
    }
}
