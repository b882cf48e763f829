import CloudCode

/// As whom cloud code reads and writes. There is no default: who does something is always said.
public enum Authority: Sendable {
    /// As the caller: with the rights of the user, with all rights where the master key was sent.
    case asCaller
    /// With all rights.
    case asMaster
    /// As the user of a session.
    case asUser(sessionToken: String)
    /// As nobody.
    case anonymous

    /// As whom the server carries a request out. With the read-only key, code that acts as its caller has no rights: it
    /// could write otherwise.
    func resolved(for call: CloudCall) -> InternalRequest.Authority {
        switch self {
        case .asMaster: .master
        case .asUser(let token): .session(token)
        case .anonymous: .nobody
        case .asCaller:
            if call.caller.isMaster, !call.caller.isReadOnly {
                .master
            } else if let token = call.caller.sessionToken ?? call.caller.user?["sessionToken"]?.stringValue {
                .session(token)
            } else {
                .nobody
            }
        }
    }
}
