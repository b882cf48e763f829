import CloudCode
import JSON

/// The request of a `beforeSave` or `afterSave` trigger.
public struct SaveRequest<Object: Sendable>: CloudRequest {
    public var details: CallDetails
    /// The object to save, or the saved object. Changes made before the save are stored; changes made after it only
    /// appear in the response.
    public var object: Object
    /// The object before the save, as visible to the caller. Nil if it is new or too large to decode, and in the
    /// `afterSave` trigger of a log-in with an auth provider.
    public let original: Object?
    /// The names of the fields that the client sent (`beforeSave`) or that were written (`afterSave`).
    public let sentKeys: [String]
    /// The response of an `afterSave` trigger to the client, or nil for the default response.
    public var answer: JSONValue?

    /// Whether there is no ``original``, as for a new object.
    public var isNew: Bool { original == nil }
}

/// The request of a `beforeDelete` or `afterDelete` trigger.
public struct DeleteRequest<Object: Sendable>: CloudRequest {
    public var details: CallDetails
    /// The object as it was before the deletion.
    public let object: Object
}

/// The request of a `beforeFind` trigger.
public struct FindRequest: CloudRequest {
    public var details: CallDetails
    /// The query, which the trigger can change.
    public var query: ParseQuery
    /// Results to return without querying the database, or nil to run the query. Ignored for a delete trigger.
    public var results: [ParseObject]?
    /// Whether a single object is read by its id, also for `include` or a delete trigger.
    public let isGet: Bool
    /// Whether the client requests the number of matching objects.
    public let isCount: Bool
}

/// The request of an `afterFind` trigger.
public struct FoundRequest: CloudRequest {
    public var details: CallDetails
    /// The query that found the objects.
    public let query: ParseQuery
    /// The objects found, which the trigger can change before the client gets them.
    public var objects: [ParseObject]
    /// Whether a single object is read by its id, also for `include` or a delete trigger.
    public let isGet: Bool
}

/// The request of a trigger for log-ins, log-outs or password resets.
public struct LoginRequest: CloudRequest {
    public var details: CallDetails
    /// The user. In `afterLogout`, the deleted session.
    public let object: ParseObject
}

/// The request of a `beforeConnect` trigger.
public struct ConnectRequest: CloudRequest {
    public var details: CallDetails
    /// Properties such as the client's `installationId`, and the server's counts of `clients` and `subscriptions`.
    public let members: JSONObject
}

/// The request of a `beforeSubscribe` trigger.
public struct SubscribeRequest: CloudRequest {
    public var details: CallDetails
    /// The subscribed query, which the trigger can change.
    public var query: ParseQuery
}

/// The request of an `afterLiveQueryEvent` trigger.
public struct LiveEventRequest: CloudRequest {
    public var details: CallDetails
    /// The event name: `create`, `enter`, `update`, `leave` or `delete`.
    public let event: String
    /// The object sent to the client, which the trigger can change.
    public var object: ParseObject
    /// The object before the change, or nil if the event has none. The trigger can change it.
    public var original: ParseObject?
    /// Whether the client is notified. Set it to false to drop the event.
    public var isSent = true
}

/// The request of a `beforeSaveConfig` or `afterSaveConfig` trigger.
public struct ConfigRequest: CloudRequest {
    public var details: CallDetails
    /// The parameters being changed.
    public let params: JSONObject
    /// All parameters before the change, or nil if none were set.
    public let original: JSONObject?
}

/// The request of a file trigger.
public struct FileRequest: CloudRequest {
    public var details: CallDetails
    /// The file name: the client's before the upload, the stored name afterward.
    public var name: String
    /// The download URL. If a `beforeSaveFile` trigger sets it, the server doesn't store the file.
    public var url: String?
    /// The MIME type, or nil if unknown.
    public var contentType: String?
    /// The file's content, or nil in triggers other than `beforeSaveFile` and `afterSaveFile`.
    public var bytes: [UInt8]?
    /// Metadata sent by the client with an upload. Empty in triggers for reads and deletions.
    public var metadata: JSONObject
    /// Tags sent by the client with an upload. Empty in triggers for reads and deletions.
    public var tags: JSONObject
    /// The size in bytes, or nil if unknown.
    public let size: Int?
}
