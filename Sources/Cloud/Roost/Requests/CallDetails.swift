import CloudCode
import JSON
public import Logging

/// The caller, origin and context of a cloud-code call.
public struct CallDetails: Sendable {
    /// The logged-in user, or nil if the caller has none.
    public let user: ParseObject?
    /// Whether the caller has master-key permissions, including read-only ones. False in live-query triggers.
    public var isMaster: Bool { call.caller.isMaster }
    /// Whether the caller's master-key permissions are read-only.
    public var isReadOnly: Bool { call.caller.isReadOnly }
    /// The caller's installation id, or nil if it sent none. By default `cloud` for requests made by cloud code.
    public var installationId: String? { call.caller.installationId }
    /// The IP address of the client.
    public var ip: String { call.ip }
    /// The client's header fields by lower-case name, without server keys, passwords and cookies.
    public let headers: [String: String]
    /// The context passed from the caller to triggers. Changes made by a trigger reach the triggers that follow.
    public var context: JSONObject
    /// The server's log. Each line includes the request id, if there is one.
    public let log: Logger
    let call: CloudCall
    let services: CloudServices?

    init(_ call: CloudCall, _ services: CloudServices?, _ log: Logger) {
        user = call.caller.user.map { ParseObject("_User", json: $0) }
        headers = Dictionary(
            call.headers.compactMap { name, value in value.stringValue.map { (name.text, $0) } },
            uniquingKeysWith: { first, _ in first })
        context = call.context
        var log = log
        if !call.requestID.isEmpty { log[metadataKey: "id"] = "\(call.requestID)" }
        self.log = log
        self.call = call
        self.services = services
    }

    var changedContext: JSONObject? { context == call.context ? nil : context }
}

/// A request to a cloud function, trigger or job.
public protocol CloudRequest: Sendable {
    /// The caller, origin and context of the call.
    var details: CallDetails { get set }
}

extension CloudRequest {
    /// The logged-in user, or nil if the caller has none.
    public var user: ParseObject? { details.user }
    /// Whether the caller has master-key permissions, including read-only ones. False in live-query triggers.
    public var isMaster: Bool { details.isMaster }
    /// The server's log. Each line includes the request id, if there is one.
    public var log: Logger { details.log }
    /// The context passed from the caller to triggers. Changes made by a trigger reach the triggers that follow.
    public var context: JSONObject {
        get { details.context }
        set { details.context = newValue }
    }

    /// Returns access to the data with the rights of an authority. Each request is handled like a client's, including
    /// permissions and triggers.
    public func data(_ authority: Authority) -> Database { Database(authority, details) }
}
