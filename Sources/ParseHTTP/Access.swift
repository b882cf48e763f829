/// What the keys of a request are worth.
public enum Access: Sendable, Equatable {
    /// A client application; a session token may make it a user.
    case client
    /// The master key: everything.
    case master
    /// The read-only master key: sees everything, changes nothing.
    case readOnlyMaster
    /// The maintenance key: may write internal fields.
    case maintenance
}
