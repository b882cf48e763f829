public import JSON

/// What cloud code is told of a request besides who calls. One object a request, made with it.
public protocol RequestFacts: AnyObject, Sendable {
    /// The header fields by their names in lower case, without keys that must not leave the server.
    var headerFields: JSONObject { get }
    /// What the caller hands to triggers.
    var cloudContext: JSONObject { get }
    /// The id of the request in the log.
    var logID: String { get }
    /// How many calls of cloud code the request stands in, as far as it says; 0 for a client's.
    var cloudDepth: Int { get }
    /// Whether it is believed that cloud code makes the request.
    var isOfCloudCode: Bool { get }
    /// Whether the caller takes `{"__op":"Delete"}` in the answer to a save, for a field that cloud code removed.
    var takesDeletions: Bool { get }
}
