import CloudCode
import JSON

/// A call around a save.
public struct SaveRequest<Object: Sendable>: CloudRequest {
    public var details: CallDetails
    /// The object as it is to be, or as it was saved. What is changed of it before the save is saved with it; what is
    /// set after it is not stored, but is in the answer.
    public var object: Object
    /// The object as it was; nil for a new one.
    public let original: Object?
    /// The names of the fields that the client sent.
    public let sentKeys: [String]
    /// After a save: what the client is answered instead of the usual; nil for the usual.
    public var answer: JSONValue?

    /// Whether the object is, or was, made by this save.
    public var isNew: Bool { original == nil }
}

/// A call around a deletion.
public struct DeleteRequest<Object: Sendable>: CloudRequest {
    public var details: CallDetails
    /// The object.
    public let object: Object
}

/// A call before a find, or a get.
public struct FindRequest: CloudRequest {
    public var details: CallDetails
    /// What is asked for. It may be changed.
    public var query: ParseQuery
    /// What is answered instead, without asking the database; nil for what is found.
    public var results: [ParseObject]?
    /// Whether one object is asked for by its id.
    public let isGet: Bool
    /// Whether the client wants to know how many there are.
    public let isCount: Bool
}

/// A call after a find, or a get.
public struct FoundRequest: CloudRequest {
    public var details: CallDetails
    /// What was asked for.
    public let query: ParseQuery
    /// What was found. It may be changed: the client gets what is left here.
    public var objects: [ParseObject]
    /// Whether one object was asked for by its id.
    public let isGet: Bool
}

/// A call around a log-in, a log-out or a forgotten password.
public struct LoginRequest: CloudRequest {
    public var details: CallDetails
    /// The user; after a log-out, the session that was ended.
    public let object: ParseObject
}

/// A call before a client of live queries is connected.
public struct ConnectRequest: CloudRequest {
    public var details: CallDetails
    /// What is known of the client: `installationId`, `clients`, `subscriptions`.
    public let members: JSONObject
}

/// A call before a client of live queries is subscribed.
public struct SubscribeRequest: CloudRequest {
    public var details: CallDetails
    /// What the client is subscribed to. It may be changed.
    public var query: ParseQuery
}

/// A call before a client of live queries is notified of a change.
public struct LiveEventRequest: CloudRequest {
    public var details: CallDetails
    /// What became of the object: `create`, `enter`, `update`, `leave` or `delete`.
    public let event: String
    /// The object, as the client gets it. It may be changed.
    public var object: ParseObject
    /// The object as it was before; nil where there is none. It may be changed.
    public var original: ParseObject?
    /// Whether the client is notified.
    public var isSent = true
}

/// A call around a change of the app's configuration.
public struct ConfigRequest: CloudRequest {
    public var details: CallDetails
    /// The parameters that are written.
    public let params: JSONObject
    /// All parameters as they were; nil for the first ones.
    public let original: JSONObject?
}

/// A call around the life of a file.
public struct FileRequest: CloudRequest {
    public var details: CallDetails
    /// The name: as the client gave it, then as it is stored.
    public var name: String
    /// Where it can be read. A file that is given one before it is stored is not stored.
    public var url: String?
    /// The type; nil where none was given.
    public var contentType: String?
    /// The bytes; nil where they are not at hand.
    public var bytes: [UInt8]?
    /// What the client sent beside it.
    public var metadata: JSONObject
    /// The same, to find it by.
    public var tags: JSONObject
    /// How many bytes it has; nil where that is not known.
    public let size: Int?
}
