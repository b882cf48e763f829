public import JSON
public import Operations
public import Telemetry

/// A call of cloud code with everything that the code can read of the request. Values are in Parse's JSON format, with
/// `__type` and `__op`.
public struct CloudCall: Sendable {
    /// The function, job or trigger to call.
    public var target: CloudTarget
    /// The parameters of a function or job. In live-query triggers, additional properties such as `clients`.
    public var params: JSONObject = [:]
    /// The names of parameters that are uploaded form files: objects with `filename`, `contentType`, and `data` in
    /// base64.
    public var uploads: [Name] = []
    /// The object, with `className`. Before a save it is the stored object with the changes applied, except that fields
    /// sent as operators contain the operators. For `@Config`: `{"className":"@Config","params":{…}}`.
    public var object: JSONObject?
    /// The object before the change, with `className`, or nil, for example if it is new.
    public var original: JSONObject?
    /// The changes of a save by field, operators included: as the client sent (`beforeSave`) or the server wrote them.
    public var changes: JSONObject = [:]
    /// The objects found, without `className`. Only for afterFind.
    public var objects: [JSONObject] = []
    /// The query (`where`, `include`, `keys`, `limit`, `skip`, `order`…) of a find or subscription.
    public var query: JSONObject?
    /// Whether a find requests a single object by its id.
    public var isGet = false
    /// Whether a find requests the number of matching objects.
    public var isCount = false
    /// The file of a file trigger.
    public var file: TriggerFile?
    /// The id of the job's run in `_JobStatus`, or nil outside jobs.
    public var jobId: String?
    /// The function that reports a job's progress, or nil outside jobs. The text becomes the `message` of the run's
    /// `_JobStatus` row.
    public var message: (@Sendable (String) -> Void)?
    public var caller: CloudCaller
    /// The IP address of the client.
    public var ip = ""
    /// The client's header fields by lower-case name, without server keys, passwords and cookies.
    public var headers: JSONObject = [:]
    /// The context passed from the caller to triggers.
    public var context: JSONObject = [:]
    /// The id of the request in the log, or empty outside requests.
    public var requestID = ""
    /// The span of the request, or nil if it isn't recorded.
    var requestSpan: RequestSpan?
    public internal(set) var span: RequestSpan?
    /// The header field `traceparent` for outgoing requests, or empty if the call isn't traced.
    public var traceparent: String { span?.traceparent ?? "" }
    /// The nesting depth of this call, 1 for a call from a client. Requests made by the code carry it.
    public var depth = 1
    /// Whether the call runs an adapter or option of the app, or was caused by a request from one.
    public var isOfAdapter = false
    /// Whether another call is known to wait for this one. Nested calls have separate slots, so they never wait for
    /// top-level calls.
    public var isNested = false
    /// The approximate size of the call's message in bytes, measured before it is sent.
    package var size = 0
    /// The engine's deadline for the call, or nil if it has none. Hosts may pass it to the code.
    public var deadline: ContinuousClock.Instant?

    public init(_ target: CloudTarget, caller: CloudCaller = CloudCaller()) {
        self.target = target
        self.caller = caller
    }

    /// The class of a trigger, or nil for functions and jobs.
    public var className: String? {
        if case .trigger(_, let name) = target { name.text } else { nil }
    }

    /// Returns the approximate size in bytes of the parts that clients and stored objects determine.
    package func measured() -> Int {
        let objects = [params, object, original, changes, query, caller.user, headers, context]
        return objects.reduce(self.objects.reduce(0) { $0 + $1.roughSize }) { $0 + ($1?.roughSize ?? 0) }
            + (file?.bytes?.count ?? 0) * 4 / 3
    }
}

/// The caller of cloud code, with the caller's permissions.
public struct CloudCaller: Sendable {
    /// The user's record with `objectId` and `sessionToken` but without `className`, or nil if nobody is logged in.
    public var user: JSONObject?
    public var sessionToken: String?
    /// The user's roles including inherited ones, as `role:<name>`.
    public var roles: [Name] = []
    /// Whether the caller has master-key permissions, including read-only ones.
    public var isMaster = false
    /// Whether the caller's master-key permissions are read-only.
    public var isReadOnly = false
    /// The caller's installation id, or nil if it sent none. By default `cloud` for requests made by cloud code.
    public var installationId: String?

    /// Creates a caller that isn't logged in.
    public init() {}
}
