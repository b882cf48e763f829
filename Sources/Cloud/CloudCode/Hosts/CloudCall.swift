public import JSON
public import Telemetry

/// One call of cloud code: everything that the code gets of the request. Values are in the encoding of the wire, with
/// `__type` and `__op`.
public struct CloudCall: Sendable {
    /// The target.
    public var target: CloudTarget
    /// What a function or a job was given; of live queries, the members besides.
    public var params: JSONObject = [:]
    /// Which parameters are files of a form: objects with `filename`, `contentType`, and `data` in base64.
    public var uploads: [Name] = []
    /// The object, with `className`. Before a save: the stored object with the changes in it, where fields that the
    /// client sent as operators are operators. For `@Config`: `{"className":"@Config","params":{…}}`.
    public var object: JSONObject?
    /// The object before the change, with `className`; nil for a new one.
    public var original: JSONObject?
    /// Before and after a save: what is to be written, by field, as a client sends it, operators included.
    public var changes: JSONObject = [:]
    /// After a find: the objects that were found, without `className`.
    public var objects: [JSONObject] = []
    /// Around finds: what is asked for (`where`, `include`, `keys`, `limit`, `skip`, `order`…).
    public var query: JSONObject?
    /// Around finds: whether one object is asked for by its id.
    public var isGet = false
    /// Around finds: whether the client wants to know how many there are.
    public var isCount = false
    /// Around the life of a file.
    public var file: CloudFile?
    /// The id of the job's run.
    public var jobId: String?
    /// Reports how far a job is: the text becomes the message of its row.
    public var message: (@Sendable (String) -> Void)?
    /// Who calls.
    public var caller: CloudCaller
    /// The IP address of the client.
    public var ip = ""
    /// The header fields of the client by their names in lower case, without keys that must not leave.
    public var headers: JSONObject = [:]
    /// What callers and triggers hand on to triggers.
    public var context: JSONObject = [:]
    /// The request's id in the log.
    public var requestID = ""
    /// The span of the request, or nil if it isn't recorded.
    var requestSpan: RequestSpan?
    /// The span of the call.
    public internal(set) var span: RequestSpan?
    /// The header field `traceparent` for servers that the call reaches; empty for none.
    public var traceparent: String { span?.traceparent ?? "" }
    /// How many calls of cloud code this one stands in; requests that the code makes carry it.
    public var depth = 1
    /// Whether it is known to stand in another call, which waits for it: it does not wait for the slots of those that
    /// do not.
    public var isNested = false
    /// About how many bytes it has as a message; measured before it is sent.
    package var size = 0
    /// When the call is given up; nil for never. The engine keeps the time; a host may pass it to the code.
    public var deadline: ContinuousClock.Instant?

    /// A call of a target.
    public init(_ target: CloudTarget, caller: CloudCaller = CloudCaller()) {
        self.target = target
        self.caller = caller
    }

    /// The class of a trigger; nil for functions and jobs.
    public var className: String? {
        if case .trigger(_, let name) = target { name.text } else { nil }
    }

    /// About how many bytes the call has as a message: what clients and their objects decide about it.
    package func measured() -> Int {
        let objects = [params, object, original, changes, query, caller.user, headers, context]
        return objects.reduce(self.objects.reduce(0) { $0 + $1.roughSize }) { $0 + ($1?.roughSize ?? 0) }
            // In base64.
            + (file?.bytes?.count ?? 0) * 4 / 3
    }
}

/// Who calls, as cloud code gets it.
public struct CloudCaller: Sendable {
    /// The user's record, with `objectId` and `sessionToken`, without `className`; nil without a user.
    public var user: JSONObject?
    /// The token of the user's session.
    public var sessionToken: String?
    /// The user's roles, inherited ones included, as `role:<name>`.
    public var roles: [Name] = []
    /// Whether a master key was sent, the read-only one included.
    public var isMaster = false
    /// Whether it's the read-only key.
    public var isReadOnly = false
    /// The installation that calls; `cloud` for calls of cloud code.
    public var installationId: String?

    /// An anonymous client.
    public init() {}
}

/// A file as its triggers see it.
public struct CloudFile: Sendable {
    /// The name, as the client gave it or as it is stored.
    public var name: String
    /// Where it can be read; nil before it is stored.
    public var url: String?
    /// Its type; nil where none was given.
    public var contentType: String?
    /// How many bytes it has; nil where that is not known.
    public var size: Int?
    /// Its bytes, before and after it is stored; nil otherwise. Webhooks do not get them.
    public var bytes: [UInt8]?
    /// What the client sent beside it.
    public var metadata: JSONObject = [:]
    public var tags: JSONObject = [:]

    /// A named file.
    public init(name: String, url: String? = nil) {
        self.name = name
        self.url = url
    }

    /// `{"__type":"File","name","url"?}`.
    public var json: JSONObject {
        var json: JSONObject = ["__type": "File", "name": .string(name)]
        if let url { json["url"] = .string(url) }
        return json
    }
}
