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
    /// Its place among all changes of objects in the database, as far as it is known: of two changes of one object the later
    /// one has the greater number.
    public let number: Int64?
    /// About how many bytes the rows of both are.
    public let size: Int
    /// Who changed it.
    public let origin: Caller
    /// What it holds for as long as its values are kept.
    let place: ValuePlace?

    /// Identifies the change among those that this process hands on.
    public var serial = 0

    /// What followers know of the object, where that is another state than the one before the change, or a later
    /// one.
    public var known: Known?

    /// What followers know of an object.
    public enum Known: Sendable {
        /// They know an earlier state than the one before the change: changes between the two come later, or never.
        case earlier(JSONObject?)
        /// They know a later state than the one after the change.
        case later(JSONObject?)
    }

    public init(
        className: String, objectId: String, before: JSONObject?, after: JSONObject?, number: Int64? = nil,
        size: Int = 0, origin: Caller, place: ValuePlace? = nil
    ) {
        self.className = className
        self.objectId = objectId
        self.before = before
        self.after = after
        self.number = number
        self.size = size
        self.origin = origin
        self.place = place
    }
}

/// Who wants to know of changes, as live queries do. Several may.
public protocol ChangeObserver: Sendable {
    /// Whether changes of a class may be wanted at some time.
    func mayObserve(_ className: Name) -> Bool

    /// Whether changes of a class are wanted now. Where they are not, nothing is loaded for them.
    func observes(_ className: Name) -> Bool

    /// Takes a change. It delays the answer to the client, so it only takes note.
    func observe(_ change: Change) async

    /// Takes note that an object of a class changed, and that it is not known how.
    func missChange(of className: Name) async

    /// Takes note that a write begins of which it will not be notified.
    ///
    /// - Returns: What ``endUnobserved(_:of:)`` is given when it is over.
    func beginUnobserved() -> Int

    /// Takes note that such a write is over.
    func endUnobserved(_ write: Int, of className: Name?)
}

extension ChangeObserver {
    /// What is wanted now.
    public func mayObserve(_ className: Name) -> Bool { observes(className) }
    /// Does nothing.
    public func missChange(of className: Name) async {}
    /// Does nothing.
    public func beginUnobserved() -> Int { 0 }
    /// Does nothing.
    public func endUnobserved(_ write: Int, of className: Name?) {}
}
