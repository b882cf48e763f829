import JSON
import OrderedCollections

/// A call of a transaction that makes, changes or removes one object.
public struct TransactionWrite: Sendable {
    /// What becomes of the object.
    public enum Kind: Sendable {
        /// It is made.
        case create
        /// It is changed.
        case update(objectId: String)
        /// It is removed.
        case delete(objectId: String)
    }

    /// What becomes of the object.
    public var kind: Kind
    /// The object's class.
    public var className: String
    /// What is sent of the object.
    public var body: JSONObject

    /// Makes a call from its parts.
    public init(_ kind: Kind, _ className: String, _ body: JSONObject = [:]) {
        self.kind = kind
        self.className = className
        self.body = body
    }

    /// Whether it makes an object.
    func makes(_ className: String, _ objectId: String) -> Bool {
        guard case .create = kind, className.hasSameBytes(as: self.className) else { return false }
        return objectId.hasSameBytes(as: body["objectId"]?.stringValue)
    }
}
