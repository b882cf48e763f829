/// What became of a notification for one device.
package enum PushOutcome: Sendable, Equatable {
    /// The service took it.
    case sent
    /// The device is not reached under its token any more.
    ///
    /// - Parameter since: Since when, in milliseconds since 1970; nil where the service does not say.
    case dead(String, since: Int64?)
    /// The service does not know the token: it is dead, or of another environment than the entry.
    case unknownToken(String)
    /// The token is of another app or project than the entry.
    case otherApp(String)
    /// Nothing will help.
    case failed(String)
    /// The service refuses what is sent, whichever device it is for.
    case refused(String)
    /// The service refuses the sender.
    case unusable(String)
    /// The service could not do it now.
    ///
    /// - Parameter after: After how many seconds it wants to be asked again; nil where it does not say.
    case busy(String, after: Double?)
    /// The service was not reached, so it has not been sent.
    case unreached(String)
    /// It may have been sent, or not.
    case unclear(String)

    /// How often a device is tried that gets no other answer than this one.
    var mostTries: Int {
        // Apple's service says so of one device, to which too much was sent.
        if case .busy("TooManyRequests", _) = self { return 2 }
        return 3
    }

    /// Why it was not sent; nil when it was.
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
