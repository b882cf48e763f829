/// The outcomes of devices, each with the index of its device.
package typealias PushOutcomes = [(index: Int, outcome: PushOutcome)]

/// The outcome of one attempt to send a notification to a device.
package enum PushOutcome: Sendable, Equatable {
    /// The service accepted the notification.
    case sent
    /// The token is invalid, or no longer valid.
    ///
    /// - Parameter since: The time at which the token became invalid, in milliseconds since 1970, or nil if unknown.
    case dead(String, since: Int64?)
    /// The service doesn't know the token: it is dead, or belongs to the other environment.
    case unknownToken(String)
    /// The token belongs to another app or project, or the sender's key to the other environment.
    case otherApp(String)
    /// The notification can't be delivered to this device, and retrying won't help.
    case failed(String)
    /// The message was rejected for a reason that concerns every device.
    case refused(String)
    /// The sender's credentials can't be used, or the service rejects them.
    case unusable(String)
    /// The service is temporarily unable to accept the notification.
    ///
    /// - Parameter after: The delay before the next attempt in seconds, or nil for the default.
    case busy(String, after: Double?)
    /// The request was not sent: the service or its token endpoint can't be reached or is paused, or the server is
    /// stopping.
    case unreached(String)
    /// The notification may or may not have been sent.
    case unclear(String)

    /// The maximum number of attempts per device and sender if each has this outcome.
    var maxTries: Int {
        // APNs returns this for a single device that gets too many notifications.
        if case .busy("TooManyRequests", _) = self { return 2 }
        return 3
    }

    /// The reason of the failure, or nil if the service accepted the notification.
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
