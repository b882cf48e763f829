public import JSON
public import Rules

/// What became of one object, once it is committed. The addresses of its files are those of the public address of the server.
public struct Change: Sendable {
    /// The class of the object.
    public let className: String
    /// The id of the object.
    public let objectId: String
    /// The object as it was; nil for a new one.
    public let before: JSONObject?
    /// The object as it is; nil for one that was deleted.
    public let after: JSONObject?
    /// Who changed it.
    public let origin: Caller

    /// Notes a change.
    public init(className: String, objectId: String, before: JSONObject?, after: JSONObject?, origin: Caller) {
        self.className = className
        self.objectId = objectId
        self.before = before
        self.after = after
        self.origin = origin
    }
}

/// Who wants to know of changes, as live queries do. Several may.
public protocol ChangeObserver: Sendable {
    /// Whether changes of a class are wanted. Where nobody wants them, nothing is loaded for them.
    func observes(_ className: Name) -> Bool

    /// Takes a change. It delays the answer to the client, so it only takes note.
    func observe(_ change: Change) async

    /// Takes note that an object of a class changed, and that it cannot be told how.
    func missChange(of className: Name) async
}

extension ChangeObserver {
    /// Does nothing.
    public func missChange(of className: Name) async {}
}
