public import JSON
public import Limits

/// A committed change of one object. File URLs don't depend on the URL that the caller used.
public struct Change: Sendable {
    /// The row size in bytes from which a change or an object counts as large.
    public static let largeSize = 1024 * 1024

    public let className: String
    public let objectId: String
    /// The object before the change, or nil if it was created.
    public let before: JSONObject?
    /// The object after the change, or nil if it was deleted.
    public let after: JSONObject?
    /// The change's sequence number in the database, or nil if changes are not numbered. Later changes of the same
    /// object have larger numbers.
    public let number: Int64?
    /// The approximate size in bytes of both rows.
    public let size: Int
    /// The memory reserved for the values of a large object, or nil for other objects.
    let place: GatePlace?

    /// The change's serial number within this process.
    public var serial = 0

    /// The last state reported to followers if it isn't the state before the change, or nil if it is.
    public var known: Known?

    /// The last state reported to followers.
    public enum Known: Sendable {
        /// A state older than ``before``. The changes in between arrive later or never.
        case earlier(JSONObject?)
        /// A state newer than ``after``.
        case later(JSONObject?)
    }

    public init(
        className: String, objectId: String, before: JSONObject?, after: JSONObject?, number: Int64? = nil,
        size: Int = 0, place: GatePlace? = nil
    ) {
        self.className = className
        self.objectId = objectId
        self.before = before
        self.after = after
        self.number = number
        self.size = size
        self.place = place
    }
}

/// Receives changes of objects, for example for live queries.
public protocol ChangeObserver: Sendable {
    /// Whether the observer may want changes of the class, now or later.
    func mayObserve(_ className: Name) -> Bool

    /// Whether the observer wants changes of the class now. If no observer does, the states aren't loaded.
    func observes(_ className: Name) -> Bool

    /// Receives a change. The response to the client waits, so it must return quickly.
    func observe(_ change: Change) async

    /// Notifies the observer that an object of the class may have changed in an unknown way.
    func missChange(of className: Name) async

    /// Notifies the observer of the start of a write whose changes it might not receive.
    ///
    /// - Returns: A token for ``endUnobserved(_:of:)``.
    func beginUnobserved() -> Int

    /// Notifies the observer of the end of an unobserved write.
    func endUnobserved(_ write: Int, of className: Name?)
}

extension ChangeObserver {
    public func mayObserve(_ className: Name) -> Bool { observes(className) }
    public func missChange(of className: Name) async {}
    public func beginUnobserved() -> Int { 0 }
    public func endUnobserved(_ write: Int, of className: Name?) {}
}
